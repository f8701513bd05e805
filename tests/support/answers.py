"""The real fetcher against a server that sends given bytes and nothing else."""

import asyncio
import socket
import struct
from contextlib import suppress

from support.fetching import SITE, fetch_of, fetcher

from skitter.fetch.base import FetchResult, fetch_once
from skitter.fetch.curl import CurlOptions

#: Small, so that inputs can be.
MAX_BODY_BYTES = 10_000
MAX_HEADER_BYTES = 16 * 1024
TIMEOUT_S = 1.0


async def fetch_bytes(answer: bytes, *, then: str = "close") -> FetchResult:
    """What fetching gives when a server answers so; `then` it does `close`, `reset` or `hold`."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            if then == "hold":
                await reader.read()
            elif then == "reset":
                _reset_on_close(writer)
        writer.close()

    server = await asyncio.start_server(serve, SITE, 0)
    port = server.sockets[0].getsockname()[1]
    fetch = fetch_of(f"http://{SITE}:{port}/", max_body_bytes=MAX_BODY_BYTES, timeout_s=TIMEOUT_S)
    async with fetcher(options=CurlOptions(max_header_bytes=MAX_HEADER_BYTES)) as client:
        result = await fetch_once(client, fetch)
    server.close()
    await server.wait_closed()
    return result


def _reset_on_close(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
