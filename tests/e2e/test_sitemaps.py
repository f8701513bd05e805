"""Sitemaps as a crawl meets them."""

import gzip
import itertools
from pathlib import Path

import pytest
from support.crawls import Finished, run_crawl
from support.origin import Origin, canary, origin, page, reply
from support.records import by_path, read_catalog

pytestmark = pytest.mark.e2e


def crawl(folder: Path, server: Origin, *arguments: str) -> Finished:
    done = run_crawl(
        folder, server.url, "--sitemaps", "--delay", "0", "--json", "--data", "data", *arguments
    )
    assert done.code == 0, done.err
    return done


def urlset(*urls: str) -> bytes:
    items = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f"<?xml version='1.0'?><urlset>{items}</urlset>".encode()


def robots(*sitemaps: str) -> bytes:
    return reply("".join(f"Sitemap: {url}\n" for url in sitemaps), kind="text/plain")


def test_robots_txt_says_where_they_are(tmp_path: Path) -> None:
    with origin({"/": page(), "/one": page(), "/two": page(), "/three": page()}) as server:
        base = server.url
        server.routes["/robots.txt"] = robots(
            f"{base}/maps/index.xml", "/maps/list.txt", "ftp://x/"
        )
        index = f"<sitemapindex><sitemap><loc>{base}/maps/a.xml.gz</loc></sitemap></sitemapindex>"
        server.routes["/maps/index.xml"] = reply(index, kind="application/xml")
        packed = gzip.compress(urlset(f"{base}/one", "http://elsewhere.test/"))
        server.routes["/maps/a.xml.gz"] = reply(packed, kind="application/x-gzip")
        server.routes["/maps/list.txt"] = reply(f"{base}/two\n/three\n", kind="text/plain")
        done = crawl(tmp_path, server, "--depth", "0")
        assert set(server.paths()) == {
            "/", "/one", "/two", "/maps/index.xml", "/maps/a.xml.gz", "/maps/list.txt"
        }  # fmt: skip
    assert (done.summary["failed"], done.summary["dropped"]) == (0, {})


def test_without_such_a_line_there_is_a_usual_place(tmp_path: Path) -> None:
    with origin({"/": page(), "/one": page()}) as server:
        server.routes["/robots.txt"] = robots()
        server.routes["/sitemap.xml"] = reply(urlset(f"{server.url}/one"), kind="text/xml")
        crawl(tmp_path, server, "--depth", "0")
        assert set(server.paths()) == {"/", "/sitemap.xml", "/one"}


def test_that_it_is_not_there_is_no_failure(tmp_path: Path) -> None:
    with origin({"/": page()}) as server:
        done = crawl(tmp_path, server)
        assert set(server.paths()) == {"/", "/sitemap.xml"}
    assert (done.summary["failed"], done.summary["dropped"]) == (0, {})
    record = by_path(read_catalog(tmp_path / "data"))["/sitemap.xml"]
    assert (record["outcome"], record["status_code"], record["error"]) == ("done", 404, None)


def test_an_index_cannot_lead_on_for_ever(tmp_path: Path) -> None:
    with origin({"/": page()}) as server:
        for level in range(8):
            loc = f"{server.url}/{level + 1}.xml"
            index = f"<sitemapindex><sitemap><loc>{loc}</loc></sitemap></sitemapindex>"
            server.routes[f"/{level}.xml"] = reply(index, kind="text/xml")
        server.routes["/robots.txt"] = robots("/0.xml", "/0.xml")
        crawl(tmp_path, server)
        assert server.paths().count("/0.xml") == 1
        assert "/3.xml" in server.paths()
        assert "/4.xml" not in server.paths()


def test_entities_reach_nobody(tmp_path: Path) -> None:
    with canary() as (port, touched), origin({"/": page()}) as server:
        outside = f"http://127.0.0.2:{port}/x.dtd"
        server.routes["/sitemap.xml"] = reply(
            f'<!DOCTYPE x SYSTEM "{outside}" [<!ENTITY e SYSTEM "{outside}">'
            f'<!ENTITY % p SYSTEM "{outside}"> %p;]><urlset><url><loc>&e;</loc></url></urlset>',
            kind="text/xml",
        )
        done = crawl(tmp_path, server)
        assert not touched()
    assert done.summary["pages"] == 2


def test_sitemaps_pay_the_delay(tmp_path: Path) -> None:
    with origin({"/": page(), "/one": page()}) as server:
        server.routes["/sitemap.xml"] = reply(urlset(f"{server.url}/one"), kind="text/xml")
        crawl(tmp_path, server, "--delay", "0.3")
        sent = [asked.at_s for asked in server.asked if asked.path != "/robots.txt"]
    assert len(sent) == 3
    assert all(after - before > 0.28 for before, after in itertools.pairwise(sent))
