"""Servers that answer in every way there is, and in some there should not be."""

import asyncio
import gzip
import hashlib
import zlib
from pathlib import Path

import pytest
from support.crawls import QUICK_RETRIES, run_crawl
from support.origin import Asked, Reply, origin, page, reply
from support.records import Record, by_path, error_code, read_jsonl

pytestmark = pytest.mark.e2e

TEXT = "<!doctype html><title>Grüße</title>" + "<p>So it goes.</p>" * 200
BODY = TEXT.encode()


def crawl(folder: Path, routes: dict[str, Reply], **settings: str) -> dict[str, Record]:
    """The records of every route, all of them seeds, by path."""
    env = QUICK_RETRIES | {f"SKITTER_{name}": value for name, value in settings.items()}
    with origin(routes) as server:
        seeds = "\n".join(server.url + path for path in routes)
        arguments = ("-", "--delay", "0", "--concurrency", "8", "--scope", "page")
        done = run_crawl(folder, *arguments, "-o", "out.jsonl", "--body", stdin=seeds, env=env)
    assert done.code == 0, done.err
    return by_path(read_jsonl(folder / "out.jsonl"))


def chunked(body: bytes) -> bytes:
    chunks = [body[start : start + 1000] for start in range(0, len(body), 1000)]
    coded = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head.encode() + coded


def test_bodies_are_decoded_whatever_their_coding(tmp_path: Path) -> None:
    routes: dict[str, Reply] = {
        "/plain": reply(BODY),
        "/gzip": reply(gzip.compress(BODY), Content_Encoding="gzip"),
        "/deflate": reply(zlib.compress(BODY), Content_Encoding="deflate"),
        "/brotli": reply(stored_brotli(BODY), Content_Encoding="br"),
        "/chunked": chunked(BODY),
        "/until-close": until_close(BODY),
    }
    records = crawl(tmp_path, routes)
    digest = f"sha256:{hashlib.sha256(BODY).hexdigest()}"
    for path in routes:
        record = records[path]
        assert (path, record["digest"], record["length"]) == (path, digest, len(BODY))
        assert record["body"] == TEXT
        assert record["title"] == "Grüße"


def stored_brotli(body: bytes) -> bytes:
    """The body as one uncompressed metablock (RFC 7932, 9.2) and an empty last one."""
    length = len(body) - 1
    assert length < 1 << 16
    # Window of 16 bits (1 bit: 0), not last (0), four nibbles (00), length, uncompressed (1).
    head = length << 4 | 1 << 20
    return head.to_bytes(3, "little") + body + b"\x03"


def until_close(body: bytes) -> Reply:
    async def answer(_asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    return answer


def test_a_body_over_the_limit_is_cut_and_marked(tmp_path: Path) -> None:
    bomb = gzip.compress(b"x" * 5_000_000)
    routes: dict[str, Reply] = {
        "/large": reply(b"x" * 5000, kind="text/plain"),
        "/bomb": reply(bomb, kind="text/plain", Content_Encoding="gzip"),
        "/fits": reply(b"x" * 1000, kind="text/plain"),
    }
    records = crawl(tmp_path, routes, FETCH__MAX_BODY_BYTES="1000")
    kept = f"sha256:{hashlib.sha256(b'x' * 1000).hexdigest()}"
    for path, mark in (("/large", "length"), ("/bomb", "length"), ("/fits", None)):
        record = records[path]
        assert (record["outcome"], record["truncated"]) == ("done", mark)
        assert (record["length"], record["digest"], record["error"]) == (1000, kept, None)


async def endless_headers(_asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: " + b"y" * 1000 + b"\r\n")
        await writer.drain()


async def endless_body(_asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"z" * 10_000)
        await writer.drain()


async def drip(_asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n")
    while True:
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.2)


async def never(_asked: Asked, _writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def reset(_asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def breaks_off(_asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\nhalf")
    await writer.drain()
    writer.close()


def test_hostile_servers_fail_alone_and_by_name(tmp_path: Path) -> None:
    routes: dict[str, Reply] = {
        "/fine": page(),
        "/headers": endless_headers,
        "/endless": endless_body,
        "/drip": drip,
        "/never": never,
        "/reset": reset,
        "/breaks-off": breaks_off,
        "/nonsense": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "/bad-gzip": reply(b"not gzip", Content_Encoding="gzip"),
        "/unavailable": reply("no", "502 Bad Gateway"),
        "/missing": reply("no", "404 Not Found"),
        "/teapot": reply("no", "418 I'm a teapot"),
    }
    records = crawl(
        tmp_path,
        routes,
        FETCH__TIMEOUT_S="2",
        FETCH__MIN_RATE_BYTES_S="50",
        FETCH__MIN_RATE_WINDOW_S="1",
        FETCH__MAX_BODY_BYTES="100000",
        RETRY__DELAYS_S="[]",
    )
    found = {
        path: (record["outcome"], record["status_code"], error_code(record), record["truncated"])
        for path, record in records.items()
    }
    assert found == {
        "/fine": ("done", 200, None, None),
        "/headers": ("failed", 200, "headers_too_large", None),
        "/endless": ("done", 200, None, "length"),
        "/drip": ("failed", 200, "too_slow", None),
        "/never": ("failed", None, "timeout", None),
        "/reset": ("failed", None, "reset", None),
        "/breaks-off": ("failed", 200, "reset", None),
        "/nonsense": ("failed", None, "protocol", None),
        "/bad-gzip": ("failed", 200, "decode", None),
        "/unavailable": ("failed", 502, "http_502", None),
        "/missing": ("done", 404, None, None),
        "/teapot": ("done", 418, None, None),
    }


def test_a_page_that_works_in_the_end_was_worth_the_tries(tmp_path: Path) -> None:
    tries: list[str] = []

    async def third_time(asked: Asked, writer: asyncio.StreamWriter) -> None:
        tries.append(asked.path)
        writer.write(reply("oops", "500 Oops") if len(tries) < 3 else page())

    records = crawl(tmp_path, {"/flaky": third_time})
    assert (records["/flaky"]["outcome"], records["/flaky"]["status_code"]) == ("done", 200)
    assert len(tries) == 3


def test_a_page_that_never_works_is_tried_four_times(tmp_path: Path) -> None:
    tries: list[str] = []

    async def broken(asked: Asked, writer: asyncio.StreamWriter) -> None:
        tries.append(asked.path)
        writer.write(reply("oops", "500 Oops"))

    records = crawl(tmp_path, {"/broken": broken})
    assert records["/broken"]["error"] == "http_500"
    assert len(tries) == 4
