"""Real proxies on loopback, HTTP and SOCKS5, with and without a password."""

import asyncio
import base64
import re
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
#: What ends a connection that a test does not care about any more.
_GONE = (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, OSError)


class Proxy:
    """Remembers in `targets` whom it was asked for, as `host:port`.

    `hosts` are names that only it can resolve. `dying`: it drops connections when it is asked for
    something; `mute`: it takes them and says nothing.
    """

    scheme = ""

    def __init__(
        self,
        address: str = "127.0.0.1",
        *,
        login: tuple[str, str] | None = None,
        hosts: dict[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.targets: list[str] = []
        self.heads: list[bytes] = []
        #: The ports it came from.
        self.dialled: set[int] = set()
        self.refused = 0
        self.login = login
        self.dying = False
        self.mute = False
        self._hosts = hosts or {}
        self._tls = tls
        self._listener = socket.create_server((address, 0), backlog=511)
        self.port: int = self._listener.getsockname()[1]
        self.place = f"{address}:{self.port}"
        who = f"{login[0]}:{login[1]}@" if login else ""
        self.url = f"{self.scheme}://{who}{self.place}"
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    async def _main(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._accept, sock=self._listener, ssl=self._tls)
        self._ready.set()
        await self._stopped.wait()
        server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(*_GONE):
            if self.mute:
                await reader.read()
            elif not self.dying:
                await self.serve((reader, writer))
        writer.close()

    async def serve(self, client: Streams) -> None:
        raise NotImplementedError

    async def dial(self, host: str, port: int) -> Streams:
        """A connection to a target."""
        self.targets.append(f"{host}:{port}")
        streams = await asyncio.open_connection(self._hosts.get(host, host), port)
        self.dialled.add(streams[1].get_extra_info("sockname")[1])
        return streams


class HttpProxy(Proxy):
    """Tunnels (CONNECT), and requests with the whole URL in their first line."""

    scheme = "http"

    async def serve(self, client: Streams) -> None:
        reader, writer = client
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if self.dying:
                return
            self.heads.append(head)
            if self.login is not None and not self._knows(head):
                self.refused += 1
                writer.write(
                    b"HTTP/1.1 407 Who Are You\r\nProxy-Authenticate: Basic realm=x\r\n"
                    b"Content-Length: 0\r\n\r\n"
                )
                continue
            method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
            if method == "CONNECT":
                await self._tunnel(client, target)
                return
            await self._forward(client, target, head)

    def _knows(self, head: bytes) -> bool:
        assert self.login is not None
        expected = base64.b64encode(":".join(self.login).encode())
        return b"proxy-authorization: basic " + expected.lower() in head.lower()

    async def _tunnel(self, client: Streams, target: str) -> None:
        host, _, port = target.rpartition(":")
        try:
            server = await self.dial(host.strip("[]"), int(port))
        except OSError:
            client[1].write(b"HTTP/1.1 502 Nobody There\r\nContent-Length: 0\r\n\r\n")
            return
        client[1].write(b"HTTP/1.1 200 Go Ahead\r\nX-Proxy: yes\r\n\r\n")
        await joined(client, server)

    async def _forward(self, client: Streams, target: str, head: bytes) -> None:
        """One request without a body, on a connection of its own to the server."""
        netloc, slash, path = target.removeprefix("http://").partition("/")
        host, _, port = netloc.partition(":")
        first, rest = head.split(b"\r\n", 1)
        kept = b"\r\n".join(
            line for line in rest.split(b"\r\n") if not line.lower().startswith(b"proxy-")
        )
        server = await self.dial(host, int(port or 80))
        line = first.replace(target.encode(), (slash + path).encode())
        server[1].write(line + b"\r\n" + kept)
        answer = await server[0].readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", answer)
        body = await server[0].readexactly(int(length[1])) if length else await server[0].read()
        server[1].close()
        client[1].write(answer + body)
        await client[1].drain()


class SocksProxy(Proxy):
    """SOCKS5 (RFC 1928, 1929): connects only."""

    scheme = "socks5"

    async def serve(self, client: Streams) -> None:
        reader, writer = client
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        wanted = 2 if self.login else 0
        writer.write(bytes((5, wanted if wanted in methods else 0xFF)))
        if wanted not in methods or not await self._admit(client):
            self.refused += 1
            return
        _, _, _, kind = await reader.readexactly(4)
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            packed = await reader.readexactly(4 if kind == 1 else 16)
            host = socket.inet_ntop(socket.AF_INET if kind == 1 else socket.AF_INET6, packed)
        (port,) = struct.unpack("!H", await reader.readexactly(2))
        try:
            server = await self.dial(host, port)
        except OSError:
            writer.write(b"\x05\x05\x00\x01" + bytes(6))  # connection refused
            return
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        await joined(client, server)

    async def _admit(self, client: Streams) -> bool:
        if self.login is None:
            return True
        reader, writer = client
        await reader.readexactly(1)
        said = [await reader.readexactly((await reader.readexactly(1))[0]) for _ in range(2)]
        good = said == [word.encode() for word in self.login]
        writer.write(b"\x01\x00" if good else b"\x01\x01")
        return good


async def joined(client: Streams, server: Streams) -> None:
    """Pass bytes both ways until one side ends."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(*_GONE):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()

    ways = [
        asyncio.ensure_future(pump(client[0], server[1])),
        asyncio.ensure_future(pump(server[0], client[1])),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        server[1].close()
        client[1].close()


@contextmanager
def dead_port(address: str = "127.0.0.1") -> Iterator[int]:
    """A port at which nobody listens, and nobody else will while the block lasts."""
    with socket.socket() as taken:
        taken.bind((address, 0))
        yield taken.getsockname()[1]
