"""Sites that want to fill the crawler's memory: what they send is cut, and the crawl goes on.

The memory is that of the whole process, bodies that wait to be written included.
"""

import asyncio
import gzip
import zlib
from pathlib import Path

import pytest
from support.doors import networks
from support.fetching import SITE
from support.memory import crawl_measured
from support.origin import Asked, Reply, reply
from support.records import by_path, read_catalog

pytestmark = pytest.mark.e2e

MIB = 1024 * 1024
CAP = 2 * MIB
#: What is kept of all bombs, were none of it written yet, and as much again for the work on it.
#: Unpacked they have 3,000 MiB, and some have no end.
ROOM = 128 * MIB
#: Fifty times the limit, in a few kilobytes.
UNPACKED = bytes(50 * CAP)
#: 11,000,000 zero bytes in 27.
BROTLI_BOMB = bytes.fromhex("cbffff3ff82700e2b14020f7fe2f7fb14ff04f00c46111801ef409")


async def endless(_asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while True:
        writer.write(b"<a href=x>" * 10_000)
        await writer.drain()


def bombs() -> dict[str, Reply]:
    packed = gzip.compress(UNPACKED)
    return {
        "/gzip": reply(packed, Content_Encoding="gzip"),
        "/deflate": reply(zlib.compress(UNPACKED), Content_Encoding="deflate"),
        "/twice": reply(gzip.compress(packed), Content_Encoding="gzip, gzip"),
        "/brotli": reply(BROTLI_BOMB, Content_Encoding="br"),
        "/endless": endless,
    }


def test_bombs_and_endless_bodies_are_cut_before_they_fill_memory(tmp_path: Path) -> None:
    routes = {f"{path}?{n}": route for path, route in bombs().items() for n in range(6)}
    env = networks() | {"SKITTER_FETCH__MAX_BODY_BYTES": str(CAP)}
    arguments = ("--delay", "0", "--data", "data")
    done, grew = crawl_measured(tmp_path, routes, *arguments, address=SITE, env=env)
    assert done.code == 0, done.err
    records = by_path(read_catalog(tmp_path / "data"))
    for path in routes:
        record = records[path]
        assert (record["outcome"], record["truncated"]) == ("done", "length"), path
        assert record["length"] == CAP
    assert grew <= ROOM


HOSTILE_HTML = {
    "/nested": b"<div>" * 100_000,
    "/attributes": b"<p " + b" ".join(b"a%d=1" % n for n in range(1_000_000)) + b">",
    "/unclosed": b"<a href='" * 500_000,
    "/comments": b"<!--" * 1_000_000,
    "/tables": b"<table><b><a>" * 100_000,
    "/references": b"<title>" + b"&amp" * 1_000_000,
    "/links": b"".join(b"<a href=//%d.test/>" % n for n in range(200_000)),
    "/base": b"<base href="
    + b"a/" * 100_000
    + b">"
    + b"".join(b"<a href=%d>" % n for n in range(10_000)),
}


def test_hostile_pages_are_read_or_fail_alone(tmp_path: Path) -> None:
    routes: dict[str, Reply] = {path: reply(body) for path, body in HOSTILE_HTML.items()}
    # Seeds and what they link to, no further: some have ten thousand links.
    arguments = ("--delay", "0", "--data", "data", "--depth", "2", "--max-pages", "11")
    done, grew = crawl_measured(tmp_path, routes, *arguments, address=SITE, env=networks())
    assert done.code == 0, done.err
    records = by_path(read_catalog(tmp_path / "data"))
    assert {records[path]["status_code"] for path in routes} == {200}
    assert records["/after"]["outcome"] == "done"
    assert grew <= ROOM
