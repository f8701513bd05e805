"""A site cannot send the crawler into a private network, however it writes the address.

The sites are on a network that is allowed, the canary on one that is not. Each set of tricks is
also crawled with the canary's network allowed: there every one of them arrives, so none of them is
harmless for another reason.
"""

from collections.abc import Iterable
from pathlib import Path

import pytest
from support.crawls import run_crawl
from support.doors import ANYWHERE, PRIVATE, WAYS, networks, spelled, start_page, ways
from support.fetching import ALLOWED, FORBIDDEN, SITE
from support.origin import Origin, canary, origin, page, redirect, reply
from support.records import read_catalog

pytestmark = pytest.mark.e2e

BOTH = (ALLOWED, f"{FORBIDDEN}/32")


def names(urls: Iterable[str]) -> set[str]:
    """What URLs end in: which trick it was."""
    return {url.rpartition("/")[2] for url in urls}


def dropped(folder: Path) -> set[str]:
    """URLs that were left alone for their address."""
    records = read_catalog(folder / "data")
    return {record["url"] for record in records if record["error"] == "forbidden_address"}


class Anything(dict):  # type: ignore[type-arg]
    """Routes of a server that has every page."""

    def get(self, path: str, default: object = None) -> object:
        return super().get(path, default) or page()


def inside() -> Origin:
    """What is to be protected, for crawls that may see it."""
    server = Origin({}, FORBIDDEN)
    server.routes = Anything()
    return server


@pytest.mark.parametrize("robots", ["obey", "ignore"])
def test_no_spelling_and_no_way_leads_there(tmp_path: Path, robots: str) -> None:
    with canary(FORBIDDEN) as (port, touched), origin({}, SITE) as server:
        server.routes = {"/": start_page(port)} | ways(port)
        arguments = (*ANYWHERE, "--robots", robots)
        done = run_crawl(tmp_path, f"{server.url}/", *arguments, env=networks())
        assert done.code == 0, done.err
        assert not touched()
    assert names(dropped(tmp_path)) == spelled(port).keys() | WAYS


def test_where_the_network_is_allowed_every_one_of_them_does(tmp_path: Path) -> None:
    with inside() as door, origin({}, SITE) as server:
        server.routes = {"/": start_page(door.port)} | ways(door.port)
        done = run_crawl(tmp_path, f"{server.url}/", *ANYWHERE, env=networks(*BOTH))
        assert done.code == 0, done.err
        assert names(door.paths()) == spelled(door.port).keys() | WAYS
    assert dropped(tmp_path) == set()


def test_whatever_is_not_the_public_internet_is_left_alone(tmp_path: Path) -> None:
    # Whoever dials 0.0.0.0 or localhost arrives here.
    with canary("127.0.0.1") as (port, touched), origin({}, SITE) as server:
        urls = [f"http://{host}:{port}/" for host in PRIVATE]
        server.routes["/"] = page(*urls)
        done = run_crawl(tmp_path, f"{server.url}/", *ANYWHERE, env=networks())
        assert done.code == 0, done.err
        assert not touched()
    assert done.summary["dropped"] == {"forbidden_address": len(urls)}
    assert done.summary["pages"] == 1


@pytest.mark.parametrize("allowed", [False, True])
def test_robots_txt_cannot_redirect_there(tmp_path: Path, allowed: bool) -> None:
    with inside() as door, origin({"/": page()}, SITE) as server:
        server.routes["/robots.txt"] = redirect("/robots.txt?2")
        server.routes["/robots.txt?2"] = redirect(f"{door.url}/robots.txt?3")
        env = networks(*(BOTH if allowed else ()))
        done = run_crawl(tmp_path, f"{server.url}/", *ANYWHERE, env=env)
        assert done.code == 0, done.err
        assert door.paths() == (["/robots.txt?3"] if allowed else [])
    # What the site allows is not known then.
    assert dropped(tmp_path) == (set() if allowed else {f"{server.url}/"})


@pytest.mark.parametrize("allowed", [False, True])
def test_sitemaps_cannot_lead_there(tmp_path: Path, allowed: bool) -> None:
    with inside() as door, origin({"/": page()}, SITE) as server:
        lines = [f"{door.url}/line.xml", f"{server.url}/moved.xml", f"{server.url}/index.xml"]
        text = "\n".join(f"Sitemap: {url}" for url in [*lines, f"{server.url}/pages.xml"])
        index = f"<sitemapindex><sitemap><loc>{door.url}/index</loc></sitemap></sitemapindex>"
        pages = f"<urlset><url><loc>{door.url}/page</loc></url></urlset>"
        server.routes |= {
            "/robots.txt": reply(text, kind="text/plain"),
            "/moved.xml": redirect(f"{door.url}/moved.xml"),
            "/index.xml": reply(index, kind="application/xml"),
            "/pages.xml": reply(pages, kind="application/xml"),
        }
        env = networks(*(BOTH if allowed else ()))
        done = run_crawl(tmp_path, f"{server.url}/", *ANYWHERE, "--sitemaps", env=env)
        assert done.code == 0, done.err
        expected = {"/line.xml", "/moved.xml", "/index", "/page"}
        assert set(door.paths()) == (expected if allowed else set())
    missed = {url.removeprefix(door.url) for url in dropped(tmp_path)}
    assert missed == (set() if allowed else expected)


def test_headers_that_name_other_servers_are_not_followed(tmp_path: Path) -> None:
    with canary(FORBIDDEN) as (port, touched), origin({}, SITE) as server:
        door = f"http://{FORBIDDEN}:{port}/"
        named = {
            "Alt_Svc": f'http/1.1="{FORBIDDEN}:{port}"; ma=60',
            "Link": f"<{door}>; rel=preload",
            "Refresh": f"0; url={door}",
            "Content_Location": door,
        }
        server.routes |= {"/": reply('<a href="/2">', **named), "/2": page()}
        done = run_crawl(tmp_path, f"{server.url}/", *ANYWHERE, env=networks())
        assert done.code == 0, done.err
        assert not touched()
    assert done.summary["pages"] == 2


def test_nothing_but_http_is_spoken(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("do-not-read-me")
    with canary(FORBIDDEN) as (port, touched), origin({}, SITE) as server:
        place = f"{FORBIDDEN}:{port}"
        urls = [f"file://{tmp_path}/secret.txt", f"ftp://{place}/", f"gopher://{place}/_x"]
        urls += [f"dict://{place}/d", f"ldap://{place}/", "data:text/html,x", "javascript:0"]
        server.routes = {f"/{n}": redirect(url) for n, url in enumerate(urls)}
        server.routes["/"] = page(*server.routes, *urls)
        server.routes["/robots.txt"] = redirect(urls[0])
        done = run_crawl(tmp_path, f"{server.url}/", *ANYWHERE, env=networks())
        assert done.code == 0, done.err
        assert not touched()
    assert (done.summary["pages"], done.summary["redirected"]) == (1, len(urls))
    assert {record["url"] for record in read_catalog(tmp_path / "data")} == {
        f"{server.url}{path}" for path in server.paths()
    }
