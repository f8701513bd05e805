"""Hosts that are traps: without end, the same for the same URL, apart from the real sites."""

from collections import deque

import pytest

from skitter.extract.gist import gist
from skitter.sim.mazes import MAZES
from skitter.sim.options import SimOptions
from skitter.sim.page import PageKind
from skitter.sim.site import SimWeb
from skitter.sim.truth import Crawl, truth

OPTIONS = SimOptions(hosts=1, pages=3, trap_hosts=len(MAZES), trap_links=20)
WEB = SimWeb(OPTIONS, port=8080)
HOSTS = {kind: url.split("/")[2].partition(":")[0] for url, kind in WEB.trap_seeds.items()}
#: Redirects have no pages to walk through.
ENDLESS = [kind for kind in MAZES if kind != "redirects"]


def walk(kind: str) -> list[str]:
    """The first few hundred URLs, nearest first."""
    found = {"/": None}
    waiting = deque(found)
    while len(found) < 300:
        assert waiting, f"{kind} ends"
        new = [path for path in paths(HOSTS[kind], waiting.popleft()) if path not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return list(found)


def paths(host: str, target: str) -> list[str]:
    return ["/" + url.split("/", 3)[3] for url in WEB.page(host, target).links]


def test_every_kind_has_its_host() -> None:
    assert sorted(WEB.trap_seeds.values()) == sorted(MAZES)


@pytest.mark.parametrize("kind", ENDLESS)
def test_it_never_ends_and_hardly_says_anything(kind: str) -> None:
    pages = [WEB.page(HOSTS[kind], target) for target in walk(kind)]
    assert {page.kind for page in pages} == {PageKind.TRAP}
    assert len({gist(page.body) for page in pages}) <= 12


@pytest.mark.parametrize("kind", ENDLESS)
def test_the_same_url_has_the_same_page(kind: str) -> None:
    again = SimWeb(OPTIONS, port=8080)
    for target in walk(kind)[:50]:
        assert again.page(HOSTS[kind], target) == WEB.page(HOSTS[kind], target)


def test_redirects_go_round_and_on() -> None:
    host = HOSTS["redirects"]
    assert WEB.page(host, "/ring/a").location == "/ring/b"
    assert WEB.page(host, "/ring/b").location == "/ring/a"
    assert WEB.page(host, "/way/7").location == "/way/8"


def test_real_sites_know_nothing_of_them() -> None:
    assert not [line.url for line in truth(WEB, Crawl()) if "trap" in line.url]
    assert not set(WEB.seeds) & set(WEB.trap_seeds)
