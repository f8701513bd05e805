"""`skitter why` tells the story of any URL: known or not, while the crawl runs and after."""

import asyncio
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.crawls import (
    QUICK_RETRIES,
    SKITTER,
    environment,
    finish,
    run_crawl,
    start_crawl,
    wait_until,
)
from support.origin import Asked, Origin, origin, page, redirect, reply

pytestmark = pytest.mark.e2e

ROBOTS = "User-agent: *\nAllow: /\n\nDisallow: /private/\nCrawl-delay: 0\n"
LINKS = (
    *("/list", "/old", "/private/x", "/no/deny", "/x/x/x/x", "/broken"),
    *("/q?b=2&a=1", "/page;jsessionid=123456", "http://elsewhere.test/"),
)


def why(folder: Path, *arguments: str) -> tuple[int, str]:
    command = [SKITTER, "why", *arguments, "--data", str(folder / "data")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


class Crawled:
    """A finished crawl of a site that has one of everything."""

    def __init__(self, server: Origin, folder: Path) -> None:
        self.server = server
        self.folder = folder

    def story(self, path: str, code: int = 0) -> dict[str, Any]:
        exit_code, out = why(self.folder, self.server.url + path, "--json")
        assert exit_code == code
        told: dict[str, Any] = json.loads(out)
        return told


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    folder = tmp_path_factory.mktemp("why")
    routes = {
        "/": page(*LINKS),
        "/robots.txt": reply(ROBOTS, kind="text/plain"),
        "/list": page("/item"),
        "/item": page("/too-deep"),
        "/old": redirect("/new"),
        "/new": page(),
        "/broken": reply("no", "500 Internal Server Error"),
        "/q?b=2&a=1": page(),
        "/page;jsessionid=123456": page(),
    }
    with origin(routes) as server:
        flags = ("--delay", "0", "--depth", "2", "--deny", "/no/", "--workers", "1")
        done = run_crawl(folder, server.url, *flags, "--data", "data", "--json", env=QUICK_RETRIES)
        assert done.code == 0, done.err
        yield Crawled(server, folder)


def test_a_page_that_was_fetched(crawled: Crawled) -> None:
    told = crawled.story("/item")
    assert told["fate"] == "done"
    assert told["why"] == "It was fetched with status 200."
    assert (told["depth"], told["max_depth"]) == (2, 2)
    assert told["scope"] == {"inside": True, "rule": f"--scope host of {crawled.server.url}/"}
    assert [one["status"] for one in told["tries"]] == [200]
    assert told["record"]["segment"]
    assert [step["url"] for step in told["found_on"]] == [
        f"{crawled.server.url}/list",
        f"{crawled.server.url}/",
    ]


def test_what_robots_forbids_is_told_with_its_line(crawled: Crawled) -> None:
    told = crawled.story("/private/x")
    assert (told["fate"], told["reason"]) == ("dropped", "robots")
    assert told["why"] == "Dropped: robots.txt forbids it in line 4, 'Disallow: /private/'."
    assert told["robots"]["agent"] == "*"
    assert told["tries"] == []


def test_a_trap_is_told_with_its_rule(crawled: Crawled) -> None:
    told = crawled.story("/x/x/x/x")
    assert (told["fate"], told["reason"], told["trap"]) == ("dropped", "trap", "repeated_path")
    assert "traps.max_repeats" in told["why"]


def test_redirects_are_told_from_both_ends(crawled: Crawled) -> None:
    url = crawled.server.url
    old, new = crawled.story("/old"), crawled.story("/new")
    assert (old["fate"], old["redirects_to"]) == ("redirected", f"{url}/new")
    assert new["fate"] == "done"
    assert [(step["url"], step["by"]) for step in new["found_on"]] == [
        (f"{url}/old", "redirect"),
        (f"{url}/", "link"),
    ]


def test_every_try_of_a_failure_is_told(crawled: Crawled) -> None:
    told = crawled.story("/broken")
    assert told["fate"] == "failed"
    assert "http_500" in told["why"]
    assert [one["status"] for one in told["tries"]] == [500] * 4


def test_the_same_request_under_another_name(crawled: Crawled) -> None:
    url = crawled.server.url
    assert crawled.story("/q?a=1&b=2")["same_as"] == f"{url}/q?b=2&a=1"
    assert crawled.story("/page;jsessionid=999")["same_as"] == f"{url}/page;jsessionid=123456"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/no/deny", "--deny '/no/' matches it"),
        ("/too-deep", "no page with links that were followed leads to it"),
        ("/private/never", "robots.txt would forbid it in line 4"),
        ("/y/y/y/y", "would drop it: segments of its path repeat"),
    ],
)
def test_what_the_job_does_not_know_is_judged_by_its_rules(
    crawled: Crawled, path: str, expected: str
) -> None:
    told = crawled.story(path, code=1)
    assert told["fate"] == "unknown"
    assert expected in told["why"]


def test_another_host_is_out_of_scope(crawled: Crawled) -> None:
    code, out = why(crawled.folder, "http://elsewhere.test/")
    assert code == 1
    assert "outside: --scope host: it is not in that of any seed" in out


def test_text_for_people(crawled: Crawled) -> None:
    code, out = why(crawled.folder, crawled.server.url + "/item")
    labels = [line[:13].strip() for line in out.splitlines()]
    assert code == 0
    assert labels == [
        *("url", "job", "done", "scope", "depth", "trap", "robots.txt", "budget", "tries"),
        *("record", "stored", "found on", ""),
    ]


def test_bad_input_is_one_line() -> None:
    for arguments in (["http://"], ["http://a.test/", "--data", "/no/such/folder"]):
        command = [SKITTER, "why", *arguments]
        done = subprocess.run(
            command, env=environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1


def test_a_crawl_that_runs_and_one_that_rests(tmp_path: Path) -> None:
    async def never(_asked: Asked, _writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(600)

    with origin({"/": page("/slow", "/next"), "/slow": never, "/next": page()}) as server:
        flags = ("--data", "data", "--delay", "0", "--workers", "1", "--json")
        process = start_crawl(tmp_path, server.url, *flags)
        assert wait_until(process, lambda: "/slow" in server.paths())
        leased = json.loads(why(tmp_path, server.url + "/slow", "--json")[1])
        queued = json.loads(why(tmp_path, server.url + "/next", "--json")[1])
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        assert finish(process).code == 3
        rests = json.loads(why(tmp_path, server.url + "/next", "--json")[1])
    assert (leased["fate"], leased["why"]) == ("leased", "A worker has it in hand.")
    assert queued["fate"] == "queued"
    assert "waits for its turn at 127.0.0.1" in queued["why"]
    assert rests["why"] == "It waits: the job is paused, and the same command takes it up again."
