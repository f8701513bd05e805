"""What robots.txt and its relatives say, and what a crawl makes of it."""

import asyncio
from pathlib import Path

import pytest
from support.crawls import QUICK_ROBOTS, Finished, run_crawl
from support.origin import Asked, Origin, Reply, origin, page, redirect, reply
from support.records import by_path, read_catalog

pytestmark = pytest.mark.e2e

ARGUMENTS = ("--delay", "0", "--json", "--data", "data")


def crawl(folder: Path, server: Origin, *arguments: str, **settings: str) -> Finished:
    env = QUICK_ROBOTS | {f"SKITTER_{name}": value for name, value in settings.items()}
    done = run_crawl(folder, server.url, *ARGUMENTS, *arguments, env=env)
    assert done.code == 0, done.err
    return done


def text(body: str) -> bytes:
    return reply(body, kind="text/plain")


def test_five_redirects_are_followed_and_no_sixth(tmp_path: Path) -> None:
    hops: dict[str, Reply] = {f"/{n}": redirect(f"/{n + 1}") for n in range(1, 5)}
    routes: dict[str, Reply] = {
        "/": page("/a"),
        "/a": page(),
        "/robots.txt": redirect("/1"),
        **hops,
    }
    with origin(routes | {"/5": text("User-agent: *\nDisallow: /a")}) as server:
        done = crawl(tmp_path, server)
        assert done.summary["dropped"] == {"robots": 1}
    (tmp_path / "more").mkdir()
    with origin(
        routes | {"/5": redirect("/6"), "/6": text("User-agent: *\nDisallow: /")}
    ) as server:
        done = crawl(tmp_path / "more", server)
        assert (done.summary["pages"], done.summary["dropped"]) == (2, {})
        assert "/6" not in server.paths()


def test_a_file_that_is_too_long_is_read_to_its_last_whole_line(tmp_path: Path) -> None:
    robots = "User-agent: *\nDisallow: /b\nDisallow: /abc\n"
    with origin({"/": page("/a", "/b"), "/a": page(), "/robots.txt": text(robots)}) as server:
        # Cut here, the last line would forbid all that begins with /a.
        limit = str(robots.index("bc\n"))
        done = crawl(tmp_path, server, ROBOTS__MAX_BYTES=limit)
        assert set(server.paths()) == {"/", "/a"}
    assert done.summary["dropped"] == {"robots": 1}


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_old_copy_is_used_when_there_is_no_new_one(tmp_path: Path, workers: str) -> None:
    answers = [text("User-agent: *\nDisallow: /secret"), reply("", "500 Oops")]

    async def robots(_asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answers[0] if len(answers) == 1 else answers.pop(0))

    routes: dict[str, Reply] = {
        "/robots.txt": robots, "/": page("/1"), "/1": page("/2", "/secret"), "/2": page()
    }  # fmt: skip
    with origin(routes) as server:
        done = crawl(tmp_path, server, "--workers", workers, ROBOTS__TTL_S="0")
        asked = [asked.path for asked in server.asked]
        assert asked.count("/robots.txt") >= 2
        assert set(server.paths()) == {"/", "/1", "/2"}
    assert (done.summary["failed"], done.summary["dropped"]) == (0, {"robots": 1})


def test_a_crawl_delay_beyond_what_is_accepted_drops_the_host(tmp_path: Path) -> None:
    slow = text("User-agent: *\nCrawl-delay: 1000")
    with origin({"/": page("/a", "/b")}) as server:
        server.routes["slow.site.test/robots.txt"] = slow
        server.routes["/"] = page(
            "/a", *(f"http://slow.site.test:{server.port}/{n}" for n in range(3))
        )
        server.routes["/a"] = page()
        seed = f"http://quick.site.test:{server.port}/"
        arguments = (seed, "--scope", "domain", "--resolve", f"*:{server.port}:127.0.0.1")
        limit = ("--max-crawl-delay", "60", *ARGUMENTS)
        done = run_crawl(tmp_path, *arguments, *limit)
        assert done.code == 0, done.err
        assert server.paths("slow.site.test") == []
        assert set(server.paths("quick.site.test")) == {"/", "/a"}
    assert done.summary["dropped"] == {"crawl_delay": 3}
    records = read_catalog(tmp_path / "data")
    assert {r["error"] for r in records if r["outcome"] == "dropped"} == {"crawl_delay"}


def test_what_pages_ask_of_robots_is_kept_and_nofollow_obeyed(tmp_path: Path) -> None:
    linked = '<a href="/hidden">x</a>'
    routes: dict[str, Reply] = {
        "/": page("/header", "/named", "/others", "/meta", "/plain"),
        "/header": reply(linked, X_Robots_Tag="noindex, nofollow"),
        "/named": reply("words", X_Robots_Tag="Skitter: none, other: all", kind="text/plain"),
        "/others": reply("<p>", X_Robots_Tag="otherbot: noindex, nofollow"),
        "/meta": reply(f"<meta name=robots content=nofollow>{linked}"),
        "/plain": page(),
    }
    with origin(routes) as server:
        crawl(tmp_path, server)
        assert "/hidden" not in server.paths()
    records = by_path(read_catalog(tmp_path / "data"))
    assert {path: record["attrs"] for path, record in records.items()} == {
        "/": None,
        "/header": {"robots": ["noindex", "nofollow"]},
        "/named": {"robots": ["noindex", "nofollow"]},
        "/others": None,
        "/meta": {"robots": ["nofollow"]},
        "/plain": None,
    }
    assert {record["outcome"] for record in records.values()} == {"done"}
