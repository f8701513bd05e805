"""A page cannot make the crawler knock on doors that the operator did not name."""

from pathlib import Path

import pytest
from support.crawls import run_crawl
from support.origin import canary, origin, page, redirect, reply
from support.records import read_catalog

pytestmark = pytest.mark.e2e

ARGUMENTS = ("--scope", "any", "--delay", "0", "--json", "--data", "data")


def test_links_and_redirects_to_private_addresses_are_dropped(tmp_path: Path) -> None:
    with canary() as (port, touched), origin({}) as server:
        doors = [
            f"http://127.0.0.2:{port}/literal",
            f"http://2130706434:{port}/number",
            f"http://0x7f.2:{port}/hex",
            f"http://0177.0.0.2:{port}/octal",
            f"http://[::ffff:127.0.0.2]:{port}/mapped",
            f"http://user:password@127.0.0.2:{port}/userinfo",
            f"http:\\\\127.0.0.2:{port}\\backslash",
            f"http://localhost:{server.port}/name",
        ]
        server.routes["/"] = page("/moved", "/fine", *doors)
        server.routes["/moved"] = redirect(f"http://127.0.0.2:{port}/target")
        done = run_crawl(tmp_path, server.url, *ARGUMENTS)
        assert done.code == 0, done.err
        assert not touched()
        assert set(server.paths()) == {"/", "/moved", "/fine"}
    assert done.summary["dropped"] == {"forbidden_address": len(doors) + 1}
    dropped = [r for r in read_catalog(tmp_path / "data") if r["outcome"] == "dropped"]
    assert {record["error"] for record in dropped} == {"forbidden_address"}
    assert {record["status_code"] for record in dropped} == {None}


@pytest.mark.parametrize("robots", ["obey", "ignore"])
def test_a_seed_that_redirects_there_is_dropped_too(tmp_path: Path, robots: str) -> None:
    with canary() as (port, touched), origin({}) as server:
        server.routes["/"] = redirect(f"http://127.0.0.2:{port}/")
        done = run_crawl(tmp_path, server.url, *ARGUMENTS, "--robots", robots)
        assert not touched()
    assert done.summary["dropped"] == {"forbidden_address": 1}
    assert done.summary["redirected"] == 1


def test_robots_txt_cannot_lead_there(tmp_path: Path) -> None:
    with canary() as (port, touched), origin({"/": page()}) as server:
        server.routes["/robots.txt"] = redirect(f"http://127.0.0.2:{port}/robots.txt")
        done = run_crawl(tmp_path, server.url, *ARGUMENTS)
        assert done.code == 0, done.err
        assert not touched()
        assert server.paths() == []
    assert done.summary["dropped"] == {"forbidden_address": 1}


def test_sitemaps_cannot_lead_there(tmp_path: Path) -> None:
    with canary() as (port, touched), origin({"/": page()}) as server:
        door = f"http://127.0.0.2:{port}"
        index = f"<sitemapindex><sitemap><loc>{door}/deep.xml</loc></sitemap></sitemapindex>"
        listed = f"<urlset><url><loc>{door}/page</loc></url></urlset>"
        server.routes["/robots.txt"] = reply(
            f"Sitemap: {door}/named.xml\nSitemap: {server.url}/index.xml\n"
            f"Sitemap: {server.url}/sitemap.xml\n",
            kind="text/plain",
        )
        server.routes["/index.xml"] = reply(index, kind="application/xml")
        server.routes["/sitemap.xml"] = reply(listed, kind="application/xml")
        done = run_crawl(tmp_path, server.url, *ARGUMENTS, "--sitemaps")
        assert done.code == 0, done.err
        assert not touched()
    assert done.summary["dropped"] == {"forbidden_address": 3}


def test_an_allowed_network_may_be_reached(tmp_path: Path) -> None:
    with origin({"/": page()}, "127.0.0.2") as inside, origin({}) as server:
        server.routes["/"] = page(f"{inside.url}/")
        env = {"SKITTER_SECURITY__ALLOW_NETWORKS": '["127.0.0.2/32"]'}
        done = run_crawl(tmp_path, server.url, *ARGUMENTS, env=env)
        assert done.code == 0, done.err
        assert inside.paths() == ["/"]
    assert done.summary["pages"] == 2


def test_proxies_of_the_environment_are_ignored(tmp_path: Path) -> None:
    with canary() as (port, touched), origin({"/": page()}) as server:
        proxy = f"http://127.0.0.2:{port}"
        env = {"http_proxy": proxy, "HTTP_PROXY": proxy, "all_proxy": proxy, "ALL_PROXY": proxy}
        done = run_crawl(tmp_path, server.url, *ARGUMENTS, env=env)
        assert not touched()
    assert done.summary["pages"] == 1
