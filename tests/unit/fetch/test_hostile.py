"""Servers that want to fill memory or waste time: every limit holds, and says so."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from support.fetching import SITE, fetch_of, fetcher
from support.origin import Asked, Reply, origin, reply

from skitter.fetch.base import FetchResult, fetch_once
from skitter.fetch.curl import CurlOptions
from skitter.models import ErrorCode

MIB = 1024 * 1024
CAP = 2 * MIB
#: Interpreter, event loops, buffers of the server in this process.
SLACK = MIB

#: 11,000,000 zero bytes in 27.
BROTLI_BOMB = bytes.fromhex("cbffff3ff82700e2b14020f7fe2f7fb14ff04f00c46111801ef409")


def zeros(length: int, pack: Callable[[bytes], bytes], layers: int = 1) -> bytes:
    body = bytes(length)
    for _ in range(layers):
        body = pack(body)
    return body


async def get(route: Reply, *, cap: int = CAP, **options: object) -> FetchResult:
    timeout_s = options.pop("timeout_s", 10.0)
    with origin({"/": route}, SITE) as server:
        async with fetcher(options=CurlOptions(**options)) as curl:  # type: ignore[arg-type]
            fetch = fetch_of(f"{server.url}/", max_body_bytes=cap, timeout_s=timeout_s)
            return await fetch_once(curl, fetch)


async def endless_body(_asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b"z" * 100_000)
        await writer.drain()


async def endless_chunks(_asked: Asked, writer: asyncio.StreamWriter) -> None:
    """A body in pieces of one byte: cheap to send, dear to keep as objects."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"1\r\nz\r\n" * 10_000)
        await writer.drain()


BOMBS: dict[str, Reply] = {
    "brotli": reply(BROTLI_BOMB, Content_Encoding="br"),
    "gzip": reply(zeros(30 * MIB, gzip.compress), Content_Encoding="gzip"),
    "deflate": reply(zeros(30 * MIB, zlib.compress), Content_Encoding="deflate"),
    "nested": reply(zeros(30 * MIB, gzip.compress, 3), Content_Encoding="gzip, gzip, gzip"),
    "endless": endless_body,
}


@pytest.mark.parametrize("name", BOMBS)
async def test_a_bomb_is_cut_at_the_limit_and_memory_stays_within_twice_of_it(name: str) -> None:
    tracemalloc.start()
    try:
        result = await get(BOMBS[name])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (result.status_code, result.truncated, result.error) == (200, "length", None)
    assert len(result.body) == CAP
    assert peak <= 2 * CAP + SLACK


async def test_a_body_in_single_bytes_costs_no_more_memory_than_another() -> None:
    cap = 100_000
    tracemalloc.start()
    try:
        result = await get(endless_chunks, cap=cap)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(result.body), result.truncated) == (cap, "length")
    assert peak <= 2 * cap + SLACK


async def test_a_body_in_too_many_pieces_is_cut() -> None:
    result = await get(endless_chunks, cap=10 * MIB, timeout_s=60.0)
    assert (result.truncated, result.error) == ("length", None)
    assert len(result.body) < MIB


async def test_encodings_are_not_nested_without_end() -> None:
    bomb = zeros(1000, gzip.compress, 30)
    result = await get(reply(bomb, Content_Encoding=", ".join(["gzip"] * 30)))
    assert result.error is ErrorCode.DECODE
    assert result.body == b""


def heads(*pieces: bytes) -> Reply:
    async def answer(_asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            for piece in pieces:
                writer.write(piece)
            await writer.drain()

    return answer


async def interim(_asked: Asked, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        await writer.drain()


async def trailers(_asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nz\r\n0\r\n")
    while True:
        writer.write(b"X-More: " + b"y" * 1000 + b"\r\n")
        await writer.drain()


@pytest.mark.parametrize(
    "route",
    [
        heads(b"X-More: " + b"y" * 1000 + b"\r\n"),
        heads(b"a:\r\n"),
        heads(b"y" * 1000),
        interim,
        trailers,
    ],
    ids=["long", "many", "one-line", "interim", "trailers"],
)
async def test_endless_headers_end_the_fetch(route: Reply) -> None:
    result = await get(route, max_header_bytes=64 * 1024)
    assert result.error is ErrorCode.HEADERS_TOO_LARGE
    assert len(result.head) <= 1_000


async def test_many_headers_that_are_not_too_many_are_kept() -> None:
    names = {f"X-{number}": "y" for number in range(500)}
    result = await get(reply(b"", **names))
    assert (result.status_code, result.error) == (200, None)
    assert len(result.head) > 500


def drip(first: bytes, piece: bytes) -> Reply:
    async def answer(_asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.1)

    return answer


async def never(_asked: Asked, _writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("route", "error"),
    [
        (drip(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"."), ErrorCode.TOO_SLOW),
        (drip(b"HTTP/1.1 200 OK\r\n", b"X"), ErrorCode.TOO_SLOW),
        (never, ErrorCode.TIMEOUT),
    ],
    ids=["body", "headers", "nothing"],
)
async def test_a_server_that_is_too_slow_is_left(route: Reply, error: ErrorCode) -> None:
    result = await get(route, min_rate_bytes_s=100, min_rate_window_s=1)
    assert result.error is error
    assert result.elapsed_s < 10


async def test_time_is_limited_for_a_server_that_is_just_fast_enough() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
    result = await get(drip(head, b"." * 50), timeout_s=0.5)
    assert (result.error, result.status_code) == (ErrorCode.TOO_SLOW, 200)
