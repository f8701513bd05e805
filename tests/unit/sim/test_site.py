"""The generated web: the same for everyone, and what it was ordered to be."""

import codecs
import hashlib
import os
import re
import subprocess
import sys

import pytest
from msgspec.structs import replace
from protego import Protego
from selectolax.lexbor import LexborHTMLParser

from skitter.errors import UsageError
from skitter.sim import EVERYTHING, Crawl, PageKind, SimOptions, SimPage, SimWeb, truth

SMALL = replace(EVERYTHING, hosts=3, pages=60)

DIGEST_ALL = """
import hashlib
from skitter.sim import EVERYTHING, SimWeb
web = SimWeb(EVERYTHING, port=8080)
targets = ["/", "/sitemap.xml", "/robots.txt", "/maps/orphans.xml.gz", "/calendar/7"]
targets += list(dict.fromkeys(u.split("8080", 1)[1] for u in web.page(web.hosts[0], "/").links))
pages = [web.page(host, target) for host in web.hosts for target in targets]
print(hashlib.sha256(repr(pages).encode()).hexdigest())
"""


def pages_of(web: SimWeb, crawl: Crawl) -> dict[str, SimPage]:
    found = {}
    for line in truth(web, crawl):
        _, _, host, target = line.url.split("/", 3)
        found[line.url] = web.page(host.partition(":")[0], "/" + target)
    return found


@pytest.fixture(scope="module")
def pages() -> dict[str, SimPage]:
    return pages_of(SimWeb(SMALL, port=8080), Crawl(sitemaps=True))


def test_same_in_every_process() -> None:
    def run(hash_seed: str) -> bytes:
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        return subprocess.run(
            [sys.executable, "-c", DIGEST_ALL], env=env, check=True, capture_output=True
        ).stdout

    assert run("1") == run("2")


def test_same_in_any_order(pages: dict[str, SimPage]) -> None:
    other = SimWeb(SMALL, port=8080)
    for url, page in reversed(pages.items()):
        _, _, host, target = url.split("/", 3)
        assert other.page(host.partition(":")[0], "/" + target) == page


def test_another_seed_is_another_web() -> None:
    one = SimWeb(SMALL, port=8080).page("site0001.test", "/")
    two = SimWeb(replace(SMALL, seed=2), port=8080).page("site0001.test", "/")
    assert one.body != two.body


def test_query_order_does_not_matter() -> None:
    web = SimWeb(SMALL, port=8080)
    url = next(u for p in pages_of(web, Crawl()).values() for u in p.links if "view=full" in u)
    _, _, host, target = url.split("/", 3)
    path, _, query = target.partition("?")
    turned = "&".join(reversed(query.split("&")))
    name = host.partition(":")[0]
    assert turned != query
    assert web.page(name, f"/{path}?{turned}") == web.page(name, f"/{target}")


def declared(page: SimPage) -> str:
    for bom, name in ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16")):
        if page.body.startswith(bom):
            return name
    found = re.search(r"charset=([\w-]+)", page.content_type) or re.search(
        r'charset="?([\w-]+)', page.body[:200].decode("latin-1")
    )
    return found[1] if found else "utf-8"


def test_titles_are_readable_as_declared(pages: dict[str, SimPage]) -> None:
    encodings = set()
    for page in pages.values():
        if page.title:
            encoding = declared(page)
            tree = LexborHTMLParser(page.body.decode(encoding))
            title = tree.css_first("title")
            assert title is not None
            assert title.text() == page.title
            encodings.add(codecs.lookup(encoding).name)
    assert len(encodings) > 8


def test_robots_txt_forbids_what_it_says(pages: dict[str, SimPage]) -> None:
    body = SimWeb(SMALL, port=8080).page("site0001.test", "/robots.txt").body
    robots = Protego.parse(body.decode())
    for url, page in pages.items():
        assert robots.can_fetch(url, "skitter") is not page.disallowed
    private = [page.disallowed for page in pages.values() if page.kind is PageKind.PRIVATE]
    assert len(set(private)) == 2


def test_sizes_are_to_order() -> None:
    options = SimOptions(hosts=1, pages=300, body_bytes=20_000, body_spread=0.5)
    sizes = [len(page.body) for page in pages_of(SimWeb(options, port=80), Crawl()).values()]
    assert 9_900 <= min(sizes) < max(sizes) <= 30_100
    assert 18_000 < sum(sizes) / len(sizes) < 22_000


def test_unknown_urls_are_missing() -> None:
    web = SimWeb(SMALL, port=8080)
    for target in ("/nothing", "/s1/p0001.html", "/s9/p1.html", "/go/1", "/error/x", "/?a=1", "*"):
        assert web.page("site0001.test", target).kind is PageKind.MISSING, target
    assert web.page("elsewhere.test", "/").status == 404


def test_pages_have_equal_bytes_for_the_same_port_only() -> None:
    digests = {
        hashlib.sha256(SimWeb(SMALL, port=port).page("site0001.test", "/sitemap.xml").body).digest()
        for port in (80, 8080, 8080)
    }
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("field", "value"), [("error_rate", 1.5), ("hosts", 0), ("latency_ms", -1), ("pages", -3)]
)
def test_bad_orders_are_refused(field: str, value: float) -> None:
    with pytest.raises(UsageError, match=field):
        SimOptions(**{field: value})
