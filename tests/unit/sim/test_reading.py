"""What a reader of the web finds is what the web says of itself.

The crawler here is as plain as can be and shares no rule with the manifest.
"""

import asyncio
import codecs
import gzip
import hashlib
import http.client
import zlib
from collections import deque
from urllib.parse import urlsplit

import ada_url
import pytest
from msgspec import Struct
from msgspec.structs import replace
from protego import Protego
from selectolax.lexbor import LexborHTMLParser

from skitter.sim import EVERYTHING, Crawl, PageKind, SimOptions, SimPage, SimServer, SimWeb, truth
from skitter.sim.site import canonical_target

SMALL = replace(EVERYTHING, hosts=3, pages=60)


def canonical(url: str) -> str:
    parts = urlsplit(ada_url.URL(url).href)
    target = canonical_target(parts.path + (f"?{parts.query}" if parts.query else ""))
    return f"{parts.scheme}://{parts.netloc}{target}"


def links_of(body: bytes, url: str) -> list[str]:
    if body.startswith(codecs.BOM_UTF16_LE):
        body = body.decode("utf-16").encode()
    hrefs = (a.attributes["href"] or "" for a in LexborHTMLParser(body).css("a[href]"))
    return [canonical(ada_url.join_url(url, href.strip())) for href in hrefs]


def entries_of(body: bytes) -> list[str]:
    xml = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
    found = xml.decode().split("<loc>")[1:]
    return [entry.partition("<")[0].replace("&amp;", "&") for entry in found]


class Visit(Struct, frozen=True):
    url: str
    depth: int = 0
    hops: int = 0
    is_sitemap: bool = False


class Response(Struct, frozen=True):
    """Status 0: the connection was reset."""

    status: int
    location: str | None = None
    body: bytes = b""


class Reader:
    """`newest_first` visits in an order that no sensible crawl would choose."""

    def __init__(self, web: SimWeb, port: int, *, depth: int, newest_first: bool) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._web = web
        self._depth = depth
        self._newest_first = newest_first
        self._robots: dict[str, Protego] = {}
        self.seen: dict[str, tuple[str, int | None, str | None]] = {}

    def run(self) -> None:
        queue = deque(Visit(seed) for seed in self._web.seeds)
        for host, seed in zip(self._web.hosts, self._web.seeds, strict=True):
            robots = Protego.parse(self._ask(host, "/robots.txt").body.decode())
            self._robots[host] = robots
            named = [seed + "sitemap.xml", *robots.sitemaps]
            queue.extend(Visit(url, is_sitemap=True) for url in named)
        while queue:
            visit = queue.pop() if self._newest_first else queue.popleft()
            if visit.url not in self.seen and visit.depth <= self._depth:
                queue.extend(self._visit(visit))
        self._connection.close()

    def _visit(self, visit: Visit) -> list[Visit]:
        parts = urlsplit(visit.url)
        host = parts.hostname or ""
        if visit.hops > 10 or not self._robots[host].can_fetch(visit.url, "skitter"):
            self.seen[visit.url] = ("dropped", None, None)
            return []
        response = self._fetch(host, visit.url.removeprefix(f"http://{parts.netloc}"))
        digest = f"sha256:{hashlib.sha256(response.body).hexdigest()}"
        if not response.status:
            self.seen[visit.url] = ("failed", None, None)
            return []
        if response.location:
            self.seen[visit.url] = ("redirected", response.status, digest)
            there = canonical(ada_url.join_url(visit.url, response.location))
            return [Visit(there, visit.depth, visit.hops + 1)]
        outcome = "failed" if response.status >= 500 else "done"
        self.seen[visit.url] = (outcome, response.status, digest)
        return self._found(visit, response.body)

    def _found(self, visit: Visit, body: bytes) -> list[Visit]:
        if visit.is_sitemap:
            index = visit.url.endswith("/sitemap.xml")
            return [Visit(url, is_sitemap=index) for url in entries_of(body)]
        return [Visit(url, visit.depth + 1) for url in links_of(body, visit.url)]

    def _fetch(self, host: str, target: str) -> Response:
        tries = 0
        while True:
            response = self._ask(host, target)
            tries += response.status not in {429, 503}
            if response.status not in {0, 429, 500, 502, 503, 504} or tries == 4:
                return response

    def _ask(self, host: str, target: str) -> Response:
        headers = {"Host": host, "Accept-Encoding": "gzip"}
        try:
            self._connection.request("GET", target, headers=headers)
            answer = self._connection.getresponse()
        except ConnectionResetError:
            self._connection.close()
            return Response(0)
        body = answer.read()
        if answer.headers["Content-Encoding"] == "gzip":
            body = zlib.decompress(body, 31)
        return Response(answer.status, answer.headers["Location"], body)


@pytest.fixture(scope="module")
def pages() -> dict[str, SimPage]:
    web = SimWeb(SMALL, port=80)
    urls = (line.url for line in truth(web, Crawl(sitemaps=True)))
    return {url: web.page(url.split("/")[2], "/" + url.split("/", 3)[3]) for url in urls}


def test_links_in_the_html_are_the_links(pages: dict[str, SimPage]) -> None:
    checked = 0
    for url, page in pages.items():
        if page.title and page.status == 200:
            assert set(links_of(page.body, url)) == set(page.links), url
            checked += len(page.links)
    assert checked > 500


def test_sitemaps_list_what_they_say(pages: dict[str, SimPage]) -> None:
    sitemaps = [page for page in pages.values() if page.kind is PageKind.SITEMAP]
    assert len(sitemaps) == 3 * 4
    assert all(entries_of(page.body) == list(page.links) for page in sitemaps)


@pytest.mark.parametrize(
    ("options", "depth", "newest_first"),
    [
        (SMALL, 10, False),
        (replace(SMALL, trap_fanout=0), 10_000, True),
    ],
)
def test_manifest_is_what_a_crawl_sees(
    options: SimOptions, depth: int, *, newest_first: bool
) -> None:
    async def crawl() -> tuple[SimServer, Reader]:
        async with SimServer(options) as server:
            reader = Reader(server.web, server.port, depth=depth, newest_first=newest_first)
            await asyncio.to_thread(reader.run)
            return server, reader

    server, reader = asyncio.run(crawl())
    lines = list(truth(server.web, Crawl(depth=depth, sitemaps=True)))
    told = {line.url: (line.outcome.value, line.status_code, line.digest) for line in lines}
    assert reader.seen == told
    assert server.log is not None
    asked = sum(entry.path != "/robots.txt" for entry in server.log.entries)
    assert asked == sum(line.requests for line in lines)
