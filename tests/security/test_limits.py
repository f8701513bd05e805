"""What one site can make one job cost has an end: links, URLs, hops, depth, pages."""

import asyncio
from pathlib import Path

import pytest
from support.crawls import Finished, run_crawl
from support.doors import networks
from support.fetching import SITE
from support.origin import Asked, Origin, origin, page, redirect
from support.records import read_catalog

pytestmark = pytest.mark.e2e


def crawl(folder: Path, server: Origin, *arguments: str, **limits: int) -> Finished:
    env = networks() | {f"SKITTER_{name.upper()}": str(value) for name, value in limits.items()}
    fixed = ("--delay", "0", "--workers", "1", "--json", "--data", "data")
    done = run_crawl(folder, f"{server.url}/", *fixed, *arguments, env=env)
    assert done.code == 0, done.err
    return done


def test_links_beyond_the_limit_are_not_read(tmp_path: Path) -> None:
    with origin({"/": page(*(f"/{n}" for n in range(5_000)))}, SITE) as server:
        done = crawl(tmp_path, server, limits__max_links_per_page=20)
    assert done.summary["accepted"] == 21


def test_a_url_beyond_the_limit_is_dropped_and_not_sent(tmp_path: Path) -> None:
    with origin({}, SITE) as server:
        room = 200 - len(server.url)
        fits, too_long = "/".ljust(room, "a"), "/".ljust(room + 1, "b")
        server.routes |= {"/": page(fits, too_long, "/moved"), "/moved": redirect(too_long + "c")}
        done = crawl(tmp_path, server, limits__max_url_length=200)
        assert set(server.paths()) == {"/", fits, "/moved"}
    assert done.summary["dropped"] == {"url_too_long": 2}


def test_redirects_end(tmp_path: Path) -> None:
    routes = {f"/{n}": redirect(f"/{n + 1}") for n in range(30)}
    with origin({"/": page("/0"), **routes}, SITE) as server:
        done = crawl(tmp_path, server, limits__max_redirects=4)
        assert len(server.paths()) == 1 + 5
    assert done.summary["dropped"] == {"too_many_redirects": 1}


class Maze(dict):  # type: ignore[type-arg]
    """Routes of a site on which every page leads to two new ones."""

    def get(self, path: str, default: object = None) -> object:
        async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
            level = asked.path.count("/")
            writer.write(page(f"{asked.path}a{level}/", f"{asked.path}b{level}/"))
            await writer.drain()

        return answer if path.startswith("/") and path != "/robots.txt" else default


def test_a_site_without_end_ends(tmp_path: Path) -> None:
    with origin({}, SITE) as server:
        server.routes = Maze()
        by_depth = crawl(tmp_path, server, "--depth", "3", "--job", "depth")
        by_pages = crawl(tmp_path, server, "--max-pages", "5", "--job", "pages")
        by_domain = crawl(tmp_path, server, "--job", "domain", traps__domain_pages=7)
    assert by_depth.summary["pages"] == 1 + 2 + 4 + 8
    assert by_pages.summary["pages"] == 5
    assert by_domain.summary["pages"] == 7
    jobs = [record["crawlid"] for record in read_catalog(tmp_path / "data")]
    assert jobs.count("pages") == 5
