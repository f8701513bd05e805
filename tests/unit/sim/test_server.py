"""The server: HTTP as clients expect it, faults on order, and a log of it all."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from skitter.sim import Access, Crawl, SimOptions, SimServer, truth
from skitter.sim.accesslog import CUT_OFF

HOST = "site0001.test"


class Response(Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def decoded(self) -> bytes:
        packed = self.headers.get("content-encoding") == "gzip"
        return zlib.decompress(self.body, 31) if packed else self.body


class Client:
    """One connection; a reset is status 0 and a new connection."""

    def __init__(self, server: SimServer) -> None:
        self._server = server

    async def connect(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self._server.port)

    async def ask(self, host: str, path: str, *lines: str, method: str = "GET") -> Response:
        head = "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *lines, "", ""])
        self.writer.write(head.encode())
        try:
            return await self.read(with_body=method != "HEAD")
        except ConnectionResetError:
            self.writer.close()
            await self.connect()
            return Response(0, {}, b"")

    async def read(self, *, with_body: bool = True) -> Response:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        length = int(headers["content-length"]) if with_body else 0
        return Response(int(first.split()[1]), headers, await self.reader.readexactly(length))


def serve(
    options: SimOptions,
    talk: Callable[[SimServer, Client], Awaitable[None]],
    log_path: Path | None = None,
) -> SimServer:
    async def run() -> SimServer:
        async with SimServer(options, log_path=log_path) as server:
            client = Client(server)
            await client.connect()
            await talk(server, client)
            client.writer.close()
            return server

    return asyncio.run(run())


def first_with_fault(server: SimServer, *statuses: int) -> str:
    for line in truth(server.web, Crawl()):
        target = "/" + line.url.split("/", 3)[3]
        faults = server.web.page(HOST, target).faults
        if faults and faults[0] in statuses:
            return target
    raise AssertionError(statuses)


def test_keeps_the_connection_and_answers_pipelined_requests_in_order() -> None:
    async def talk(server: SimServer, client: Client) -> None:
        assert (await client.ask(HOST, "/")).body == server.web.page(HOST, "/").body
        request = f"GET %s HTTP/1.1\r\nHOST: {HOST.upper()}:{server.port}\r\n\r\n"
        client.writer.write((request % "/" + request % "/none" + request % "/robots.txt").encode())
        assert [(await client.read()).status for _ in range(3)] == [200, 404, 200]

    serve(SimOptions(hosts=1, pages=3, latency_ms=1), talk)


def test_head_has_the_headers_only() -> None:
    async def talk(_server: SimServer, client: Client) -> None:
        got = await client.ask(HOST, "/")
        head = await client.ask(HOST, "/", method="HEAD")
        assert (head.status, head.headers, head.body) == (200, got.headers, b"")
        assert (await client.ask(HOST, "/")).body == got.body

    serve(SimOptions(hosts=1, pages=3), talk)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nAccept: */*\r\n\r\n", b"400"),
        (b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", b"400"),
        (b"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", b"405"),
        (b"GET / HTTP/1.0\r\nHost: site0001.test\r\n\r\n", b"200"),
        (b"GET / HTTP/1.1\r\nHost: site0001.test\r\nConnection: close\r\n\r\n", b"200"),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000, b"431"),
    ],
)
def test_ends_the_connection(sent: bytes, status: bytes) -> None:
    async def talk(_server: SimServer, client: Client) -> None:
        client.writer.write(sent)
        answer = await client.reader.read()
        assert answer.startswith(b"HTTP/1.1 " + status)

    serve(SimOptions(hosts=1, pages=3), talk)


def test_throttled_pages_say_when_to_come_back_and_then_work() -> None:
    async def talk(server: SimServer, client: Client) -> None:
        target = first_with_fault(server, 429, 503)
        page = server.web.page(HOST, target)
        assert (await client.ask(HOST, target, method="HEAD")).status == 200
        for status in page.faults:
            answer = await client.ask(HOST, target)
            assert (answer.status, answer.headers["retry-after"]) == (status, "1")
        assert (await client.ask(HOST, target)).body == page.body

    serve(SimOptions(hosts=1, pages=20, throttle_rate=0.5), talk)


def test_flaky_pages_reset_and_then_work() -> None:
    async def talk(server: SimServer, client: Client) -> None:
        target = first_with_fault(server, 0)
        faults = server.web.page(HOST, target).faults
        answers = [(await client.ask(HOST, target)).status for _ in range(len(faults) + 2)]
        assert answers == [*faults, 200, 200]

    serve(SimOptions(hosts=1, pages=40, flaky_rate=0.5), talk)


def test_compresses_for_those_who_can_read_it() -> None:
    async def talk(server: SimServer, client: Client) -> None:
        packed = await client.ask(HOST, "/", "Accept-Encoding: br, gzip")
        plain = await client.ask(HOST, "/")
        assert packed.headers["content-encoding"] == "gzip"
        assert len(packed.body) < len(plain.body)
        assert packed.decoded == plain.body == server.web.page(HOST, "/").body

    serve(SimOptions(hosts=1, pages=3, gzip_rate=1.0), talk)


def test_log_tells_what_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "access.jsonl"

    async def talk(_server: SimServer, client: Client) -> None:
        await client.ask(HOST, "/")
        await client.ask(HOST, "/none?a=1", method="HEAD")

    serve(SimOptions(hosts=1, pages=3), talk, path)
    log = msgspec.json.Decoder(Access).decode_lines(path.read_bytes())
    seen = [(e.method, e.host, e.path, e.status, e.concurrent) for e in log]
    assert seen == [("GET", HOST, "/", 200, 1), ("HEAD", HOST, "/none?a=1", 404, 1)]
    assert log[0].start_monotonic_s <= log[0].end_monotonic_s <= log[1].start_monotonic_s


def test_log_counts_what_is_under_way_and_who_left() -> None:
    async def talk(server: SimServer, client: Client) -> None:
        other = Client(server)
        await other.connect()
        request = f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
        client.writer.write(request)
        other.writer.write(request)
        # Refused at once, by a server that reads its sockets in order: both are under way now.
        third = Client(server)
        await third.connect()
        third.writer.write(b"nonsense\r\n\r\n")
        await third.reader.read()
        third.writer.close()
        other.writer.close()

    server = serve(SimOptions(hosts=1, pages=3, latency_ms=3_600_000), talk)
    assert server.log is not None
    seen = sorted((entry.concurrent, entry.status) for entry in server.log.entries)
    assert seen == [(1, CUT_OFF), (2, CUT_OFF)]
