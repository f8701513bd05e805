"""Which links are followed, what is sent along, and where redirects lead."""

from pathlib import Path

import pytest
from support.crawls import Finished, run_crawl
from support.origin import Origin, Reply, origin, page, redirect, reply
from support.records import by_path, read_catalog, read_jsonl

pytestmark = pytest.mark.e2e


def crawl(server: Origin, folder: Path, *arguments: str, host: str = "a.sim.test") -> Finished:
    """Crawl the server under a name, quickly, from its root unless a URL is given."""
    urls = [word for word in arguments if word.startswith("http")]
    done = run_crawl(
        folder,
        *([] if urls else [f"http://{host}:{server.port}/"]),
        *arguments,
        *("--resolve", f"*:{server.port}:127.0.0.1", "--delay", "0", "--json"),
        *("--data", "data", "-o", "out.jsonl"),
    )
    assert done.code == 0, done.err
    return done


def names(server: Origin) -> set[str]:
    """`a/path` of everything asked for, robots.txt aside."""
    return {
        asked.host.removesuffix(".sim.test") + asked.path
        for asked in server.asked
        if asked.path != "/robots.txt"
    }


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("page", {"a/docs/index.html"}),
        ("prefix", {"a/docs/index.html", "a/docs/x"}),
        ("host", {"a/docs/index.html", "a/docs/x", "a/y"}),
        ("domain", {"a/docs/index.html", "a/docs/x", "a/y", "b/z"}),
        ("any", {"a/docs/index.html", "a/docs/x", "a/y", "b/z", "other.test/w"}),
    ],
)
def test_scope(tmp_path: Path, scope: str, expected: set[str]) -> None:
    with origin({}) as server:
        port = server.port
        links = ("x", "/y", f"http://b.sim.test:{port}/z", f"http://other.test:{port}/w")
        server.routes["/docs/index.html"] = page(*links)
        url = f"http://a.sim.test:{port}/docs/index.html"
        crawl(server, tmp_path, url, "--scope", scope)
        assert names(server) == expected


def test_another_port_is_another_host(tmp_path: Path) -> None:
    with origin({"/": page()}) as other, origin({}) as server:
        server.routes["/"] = page(f"{other.url}/")
        run_crawl(tmp_path, server.url, "--delay", "0")
        assert other.asked == []


def test_allow_and_deny_are_for_links_and_deny_wins(tmp_path: Path) -> None:
    routes: dict[str, Reply] = {"/": page("/a/1", "/a/2", "/b/1"), "/a/1": redirect("/b/2")}
    with origin(routes) as server:
        crawl(server, tmp_path, "--allow", "/a/", "--deny", "2$")
        assert names(server) == {"a/", "a/a/1"}
    root = by_path(read_jsonl(tmp_path / "out.jsonl"))["/"]
    assert [link["url"][-4:] for link in root["links"]] == ["/a/1"]


def test_depth_counts_links_from_the_seed(tmp_path: Path) -> None:
    routes: dict[str, Reply] = {"/": page("/1"), "/1": page("/2"), "/2": page("/3")}
    with origin(routes) as server:
        crawl(server, tmp_path, "--depth", "2")
        assert names(server) == {"a/", "a/1", "a/2"}
    records = by_path(read_jsonl(tmp_path / "out.jsonl"))
    assert [records[path]["depth"] for path in ("/", "/1", "/2")] == [0, 1, 2]
    assert records["/2"]["links"] == []


def test_seeds_come_from_files_and_standard_input(tmp_path: Path) -> None:
    with origin({}) as server:
        (tmp_path / "seeds.txt").write_text(f"# two\n\n{server.url}/a\n{server.url}/b\n")
        arguments = ("@seeds.txt", "-", "--delay", "0", "--scope", "page")
        done = run_crawl(tmp_path, *arguments, stdin=f"127.0.0.1:{server.port}/c\n")
        assert done.code == 0, done.err
        assert sorted(server.paths()) == ["/a", "/b", "/c"]


def test_credentials_go_to_the_seeds_origins_and_nowhere_else(tmp_path: Path) -> None:
    with origin({}) as server:
        elsewhere = f"http://b.sim.test:{server.port}"
        server.routes["a.sim.test/"] = page("/moved", f"{elsewhere}/direct")
        server.routes["a.sim.test/moved"] = redirect(f"{elsewhere}/target")
        secrets = ("--header", "Authorization: Bearer x", "--cookie", "session=y")
        public = ("--header", "X-Trace: 7", "--user-agent", "me/1.0")
        crawl(server, tmp_path, "--scope", "domain", *secrets, *public)
        assert names(server) == {"a/", "a/moved", "b/direct", "b/target"}
    for asked in server.asked:
        assert asked.headers["x-trace"] == "7"
        assert asked.headers["user-agent"] == "me/1.0"
        mine = asked.host == "a.sim.test"
        assert asked.headers.get("authorization") == ("Bearer x" if mine else None)
        assert asked.headers.get("cookie") == ("session=y" if mine else None)


def test_credentials_do_not_follow_a_seed_or_robots_txt_to_another_host(tmp_path: Path) -> None:
    with origin({}) as server:
        elsewhere = f"http://b.other.test:{server.port}"
        server.routes["a.sim.test/"] = redirect(f"{elsewhere}/")
        server.routes["a.sim.test/robots.txt"] = redirect(f"{elsewhere}/robots.txt")
        server.routes["b.other.test/"] = page("/more")
        crawl(server, tmp_path, "--cookie", "session=y", "--header", "Authorization: Bearer x")
        assert names(server) == {"a/", "b.other.test/", "b.other.test/more"}
    leaked = [a for a in server.asked if a.host != "a.sim.test" and "cookie" in a.headers]
    assert leaked == []
    assert not any("authorization" in a.headers for a in server.asked if a.host != "a.sim.test")


def test_a_seeds_redirect_takes_the_scope_with_it(tmp_path: Path) -> None:
    with origin({}) as server:
        www = f"http://www.elsewhere.test:{server.port}"
        server.routes["a.sim.test/"] = redirect(f"{www}/home", "301 Moved Permanently")
        server.routes["www.elsewhere.test/home"] = page("/inside")
        done = crawl(server, tmp_path)
        assert names(server) == {"a/", "www.elsewhere.test/home", "www.elsewhere.test/inside"}
    assert (done.summary["pages"], done.summary["redirected"]) == (2, 1)
    records = by_path(read_catalog(tmp_path / "data"))
    assert records["/home"]["redirected_from"] == f"http://a.sim.test:{server.port}/"
    assert records["/home"]["depth"] == 0
    assert (records["/"]["outcome"], records["/"]["status_code"]) == ("redirected", 301)


def test_the_redirect_of_a_link_out_of_scope_is_not_followed(tmp_path: Path) -> None:
    with origin({}) as server:
        server.routes["/"] = page("/out")
        server.routes["/out"] = redirect(f"http://b.other.test:{server.port}/")
        done = crawl(server, tmp_path)
        assert names(server) == {"a/", "a/out"}
    assert done.summary["redirected"] == 1


def test_redirect_loops_and_endless_redirects_end(tmp_path: Path) -> None:
    routes: dict[str, Reply] = {
        "/": page("/loop1", "/self", "/chain0"),
        "/loop1": redirect("/loop2"),
        "/loop2": redirect("/loop1"),
        "/self": redirect("/self"),
    }
    routes |= {f"/chain{n}": redirect(f"/chain{n + 1}") for n in range(20)}
    with origin(routes) as server:
        done = crawl(server, tmp_path)
        assert len(server.paths()) == len(set(server.paths()))
    assert done.summary["dropped"] == {"too_many_redirects": 1}
    assert done.summary["redirected"] == 3 + 11
    assert done.summary["pages"] == 1


def test_robots_are_asked_once_per_origin_and_their_absence_allows(tmp_path: Path) -> None:
    with origin({"/": page("/a", "/b")}) as server:
        crawl(server, tmp_path)
        assert [asked.path for asked in server.asked].count("/robots.txt") == 1
        assert names(server) == {"a/", "a/a", "a/b"}


def test_a_robots_txt_that_fails_stops_its_host(tmp_path: Path) -> None:
    routes: dict[str, Reply] = {"/robots.txt": reply("", "500 Oops"), "/": page()}
    with origin(routes) as server:
        env = {"SKITTER_ROBOTS__RETRIES": "0"}
        done = run_crawl(tmp_path, server.url, "-o", "out.jsonl", "--json", env=env)
        assert server.paths() == []
    assert done.summary["failed"] == 1
    (record,) = read_jsonl(tmp_path / "out.jsonl")
    assert record["error"].startswith("robots_unreachable")
