"""Sessions and credentials: who gets them back, and who must never see them."""

from asyncio import StreamWriter
from pathlib import Path

import pytest
from support.crawls import Finished, run_crawl
from support.origin import Asked, Origin, Reply, origin, page, redirect, reply
from support.records import by_path, read_catalog

pytestmark = pytest.mark.e2e

#: A cookie beyond ASCII, and how its bytes look to who reads headers as RFC 9110 says.
ODD = "id=\u00fc7"
BACK = ODD.encode().decode("latin-1")


def crawl(server: Origin, folder: Path, *arguments: str, host: str = "a.sim.test") -> Finished:
    """Crawl the server under a name, one page after the other."""
    done = run_crawl(
        folder,
        f"http://{host}:{server.port}/",
        *("--resolve", f"*:{server.port}:127.0.0.1", "--delay", "0", "--workers", "1"),
        *("--json", "--data", "data", *arguments),
    )
    assert done.code == 0, done.err
    return done


def cookies(server: Origin) -> dict[str, str | None]:
    """`host/path` -> the Cookie line it was asked with."""
    return {
        asked.host.removesuffix(".sim.test") + asked.path: asked.headers.get("cookie")
        for asked in server.asked
    }


def setting(*links: str, cookie: str) -> bytes:
    anchors = "".join(f'<a href="{link}">x</a>' for link in links)
    return reply(f"<title>x</title>{anchors}", Set_Cookie=cookie)


def test_a_session_goes_on_and_records_tell_what_was_sent(tmp_path: Path) -> None:
    with origin({"/a": page("/b"), "/b": page()}) as server:
        server.routes["/"] = setting("/a", cookie=f"{ODD}; Path=/; HttpOnly")
        server.routes["/a"] = setting("/b", cookie="id=8; Path=/")
        crawl(server, tmp_path)
    assert cookies(server) == {
        "a/robots.txt": None,
        "a/": None,
        "a/a": BACK,
        "a/b": "id=8",
    }
    records = by_path(read_catalog(tmp_path / "data"))
    sent = {path: record["request_headers"].get("Cookie") for path, record in records.items()}
    assert sent == {"/": None, "/a": [BACK], "/b": ["id=8"]}


def test_cookies_off_sends_back_nothing(tmp_path: Path) -> None:
    with origin({"/a": page()}) as server:
        server.routes["/"] = setting("/a", cookie="id=7")
        crawl(server, tmp_path, "--cookies", "off", "--cookie", "mine=1")
    assert cookies(server)["a/a"] == "mine=1"


def test_a_login_is_what_a_session_begins_with(tmp_path: Path) -> None:
    with origin({"/b": page()}) as server:
        server.routes["/"] = setting("/a", cookie="session=second")
        server.routes["/a"] = setting("/b", cookie="extra=1")
        crawl(server, tmp_path, "--cookie", "session=first; lang=en")
    assert cookies(server) == {
        "a/robots.txt": "session=first; lang=en",
        "a/": "session=first; lang=en",
        "a/a": "lang=en; session=second",
        "a/b": "lang=en; session=second; extra=1",
    }


def test_a_redirect_can_log_in(tmp_path: Path) -> None:
    with origin({"/home": page()}) as server:
        server.routes["/"] = reply("", "302 Found", Location="/home", Set_Cookie="in=1")
        crawl(server, tmp_path)
    assert cookies(server)["a/home"] == "in=1"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_page_that_wants_its_cookie_back_is_asked_again(tmp_path: Path, workers: str) -> None:
    async def answer(asked: Asked, writer: StreamWriter) -> None:
        wall = reply("", "302 Found", Location=asked.path, Set_Cookie="seen=1; Path=/")
        writer.write(page("/b") if "cookie" in asked.headers else wall)
        await writer.drain()

    with origin({"/": answer, "/b": answer}) as server:
        done = crawl(server, tmp_path, "--workers", workers)
        assert (done.summary["pages"], done.summary["redirected"]) == (2, 0)
        server.asked.clear()
        # Who does not remember is sent away; once is enough.
        done = crawl(server, tmp_path, "--cookies", "off", "--job", "forgetful")
        assert server.paths() == ["/"]
    assert (done.summary["pages"], done.summary["redirected"]) == (0, 1)


def test_no_other_host_ever_sees_them(tmp_path: Path) -> None:
    """Links, redirects, robots.txt and sitemaps that lead away carry nothing along."""
    with origin({}) as server:
        away = f"http://b.other.test:{server.port}"
        listed = f"<urlset><url><loc>{away}/listed</loc></url></urlset>"
        server.routes |= {
            "a.sim.test/": setting("/moved", f"{away}/link", cookie="id=7; Path=/"),
            "a.sim.test/moved": redirect(f"{away}/moved"),
            "a.sim.test/robots.txt": redirect(f"{away}/robots.txt"),
            "a.sim.test/sitemap.xml": redirect(f"{away}/sitemap.xml"),
            "b.other.test/sitemap.xml": reply(listed, kind="application/xml"),
            "b.other.test/link": setting(
                f"http://a.sim.test:{server.port}/back", cookie="evil=1; Domain=sim.test"
            ),
        }
        secrets = ("--cookie", "session=y", "--header", "Authorization: Bearer x")
        crawl(server, tmp_path, "--scope", "any", "--sitemaps", *secrets)
    away_paths = {asked.path for asked in server.asked if asked.host == "b.other.test"}
    assert away_paths == {"/link", "/moved", "/robots.txt", "/sitemap.xml", "/listed"}
    for asked in server.asked:
        if asked.host == "b.other.test":
            assert not {"cookie", "authorization"} & asked.headers.keys(), asked.path
        else:
            assert asked.headers["authorization"] == "Bearer x"
            assert "evil" not in asked.headers["cookie"]
    assert cookies(server)["a/back"] == "session=y; id=7"


def test_jobs_never_share_cookies(tmp_path: Path) -> None:
    with origin({"/a": page()}) as server:
        server.routes["/"] = setting("/a", cookie="id=7; Path=/; Max-Age=1000")
        crawl(server, tmp_path, "--job", "one", "--cookie", "login=one")
        assert cookies(server)["a/a"] == "login=one; id=7"
        server.asked.clear()
        crawl(server, tmp_path, "--job", "two", "--scope", "page")
        crawl(server, tmp_path, "--job", "three", "--depth", "1")
    lines = [(asked.path, asked.headers.get("cookie")) for asked in server.asked]
    assert lines == [
        *(("/robots.txt", None), ("/", None)),
        *(("/robots.txt", None), ("/", None), ("/a", "id=7")),
    ]


def test_what_a_site_sees_after_it_has_blocked_us(tmp_path: Path) -> None:
    def blocked(asked: Asked) -> bool:
        return asked.headers["user-agent"] != "second/1"

    wall = reply("no", "403 Forbidden", cf_mitigated="challenge", Set_Cookie="wall=1")

    async def answer(asked: Asked, writer: StreamWriter) -> None:
        writer.write(wall if blocked(asked) else page())
        await writer.drain()

    routes: dict[str, Reply] = {"/": answer}
    env = {
        "SKITTER_FETCH__USER_AGENTS": '["second/1", "third/1"]',
        "SKITTER_BLOCKING__CHALLENGES": "2",
        "SKITTER_BLOCKING__REST_S": "0.1",
        "SKITTER_RETRY__DELAYS_S": "[0.05, 0.05, 0.05]",
    }
    with origin(routes) as server:
        done = run_crawl(
            tmp_path,
            f"{server.url}/",
            *("--delay", "0", "--workers", "1", "--json", "--user-agent", "first/1"),
            env=env,
        )
    asked = [a for a in server.asked if a.path == "/"]
    agents = [a.headers["user-agent"] for a in asked]
    assert agents == ["first/1", "first/1", "second/1"]
    assert [a.headers.get("cookie") for a in asked] == [None, "wall=1", None]
    assert (done.summary["pages"], done.summary["failed"]) == (1, 0)
