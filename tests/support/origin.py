"""An HTTP server that says exactly what a test tells it to, and remembers what it was asked."""

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Self

from msgspec import Struct

#: Bytes to send as they are, or somebody who writes them in their own time.
Reply = bytes | Callable[["Asked", asyncio.StreamWriter], Awaitable[None]]


class Asked(Struct, frozen=True, kw_only=True):
    """One request as it arrived. Header names are in lower case."""

    at_s: float
    host: str
    path: str
    headers: dict[str, str]


def reply(
    body: bytes | str = b"",
    status: str = "200 OK",
    *,
    kind: str = "text/html; charset=utf-8",
    **headers: str,
) -> bytes:
    """A whole response. Underscores in header names stand for dashes."""
    content = body.encode() if isinstance(body, str) else body
    lines = {"Content-Type": kind, "Content-Length": str(len(content))}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + content


def page(*links: str, title: str = "A page") -> bytes:
    """An HTML page with these links."""
    anchors = "".join(f'<a href="{link}">{link}</a>\n' for link in links)
    return reply(f"<!doctype html><title>{title}</title><body>{anchors}</body>")


def redirect(target: str, status: str = "302 Found") -> bytes:
    """A redirect without a body."""
    return reply(b"", status, Location=target)


class Origin:
    """Serves `routes`: a path with its query, or `host/path` for one host only. Else 404."""

    def __init__(
        self,
        routes: Mapping[str, Reply],
        address: str,
        *,
        listener: socket.socket | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.routes = dict(routes)
        self.asked: list[Asked] = []
        #: The ports of whoever connected.
        self.callers: set[int] = set()
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = listener or socket.create_server((address, 0), family=family, backlog=511)
        self.port: int = self._listener.getsockname()[1]
        self._tls = tls
        self.url = f"{'https' if tls else 'http'}://{address}:{self.port}"
        #: Closed ones too: closing waits for whoever does not read.
        self._writers: set[asyncio.StreamWriter] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def paths(self, host: str | None = None) -> list[str]:
        """What was asked for, robots.txt aside, in order."""
        return [
            asked.path
            for asked in self.asked
            if asked.path != "/robots.txt" and host in {None, asked.host}
        ]

    async def _main(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, sock=self._listener, ssl=self._tls)
        self._ready.set()
        await self._stopped.wait()
        # Who connected a moment ago is served a few rounds of the loop later, and a connection
        # that is closed is let go of as late.
        await _rounds(5)
        server.close()
        for writer in self._writers:
            writer.transport.abort()
        await _rounds(5)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self.callers.add(writer.get_extra_info("peername")[1])
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                asked = _parse(await reader.readuntil(b"\r\n\r\n"))
                self.asked.append(asked)
                answer = self.routes.get(asked.host + asked.path, self.routes.get(asked.path))
                if callable(answer):
                    await answer(asked, writer)
                else:
                    writer.write(reply(b"not here", "404 Not Found") if answer is None else answer)
                    await writer.drain()
                if writer.is_closing():
                    break
        writer.close()


@contextmanager
def origin(routes: Mapping[str, Reply], address: str = "127.0.0.1") -> Iterator[Origin]:
    """An `Origin` until the block ends."""
    with Origin(routes, address) as server:
        yield server


@contextmanager
def canary(address: str = "127.0.0.2") -> Iterator[tuple[int, Callable[[], bool]]]:
    """A port that nobody may connect to, and whether somebody did."""
    with socket.create_server((address, 0)) as listener:
        listener.setblocking(False)

        def touched() -> bool:
            # The kernel accepts on our behalf, so whoever came waits here.
            try:
                listener.accept()[0].close()
            except BlockingIOError:
                return False
            return True

        yield listener.getsockname()[1], touched


async def _rounds(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


def _parse(head: bytes) -> Asked:
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {}
    for line in filter(None, lines):
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    host = headers.get("host", "").partition(":")[0]
    return Asked(at_s=time.monotonic(), host=host, path=first.split(" ")[1], headers=headers)
