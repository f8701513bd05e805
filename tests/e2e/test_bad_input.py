"""Whatever is typed wrong: one clear line, exit 2, nothing on standard output, no traceback."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from support.crawls import (
    QUICK_RETRIES,
    QUICK_ROBOTS,
    Finished,
    finish,
    kill,
    run_crawl,
    start_crawl,
    wait_until,
)
from support.origin import origin, page
from support.records import read_jsonl
from support.simulation import simulated_web

pytestmark = pytest.mark.e2e

URL = "http://127.0.0.1:9/"


def check_refused(done: Finished, pattern: str, code: int = 2) -> None:
    assert done.code == code, done.err
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert line.startswith("skitter: error: ")
    assert re.search(pattern, line), line
    assert "internal error" not in line


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (["http://"], r"http://"),
        (["http://exa mple.com/"], r"exa mple"),
        (["http://[::1/"], r"::1"),
        (["http://1.2.3.256/"], r"1\.2\.3\.256"),
        (["ftp://example.com/"], r"ftp"),
        (["file:///etc/passwd"], r"file"),
        (["javascript:alert(1)"], r"javascript"),
        (["@missing.txt"], r"missing\.txt.*[Nn]o such file"),
        (["@bad.txt"], r"bad\.txt, line 4: "),
        (["@binary.txt"], r"binary\.txt .*UTF-8"),
        (["@empty.txt"], r"no URL"),
        ([URL, "--allow", "("], r"--allow"),
        ([URL, "--deny", "a(?=b)"], r"--deny"),
        ([URL, "-o", "out.xml"], r"out\.xml.*\.jsonl"),
        ([URL, "-o", "nowhere/out.jsonl"], r"nowhere"),
        ([URL, "--workers", "0"], r"--workers"),
        ([URL, "--priority", "high"], r"--priority.*'high' is not a whole number"),
        ([URL, "--max-crawl-delay", "inf"], r"--max-crawl-delay.*'inf' is not a number of sec"),
        ([URL, "--resolve", "example.com"], r"--resolve"),
        ([URL, "--resolve", "example.com:80:elsewhere"], r"--resolve"),
        ([URL, "--resolve", "example.com:99999:127.0.0.1"], r"--resolve"),
        ([URL, "--header", "no colon"], r"--header"),
        ([URL, "--header", "X: a\r\nY: b"], r"--header"),
        ([URL, "--cookie", "a=b\nc"], r"--cookie"),
        ([URL, "--user-agent", "a\r\nb"], r"--user-agent"),
        ([URL, "--depth", "-1"], r"--depth"),
        ([URL, "--delay", "soon"], r"--delay"),
        ([URL, "--max-pages", "0"], r"--max-pages"),
        ([URL, "--scope", "world"], r"--scope"),
        ([URL, "--no-such-flag"], r"--no-such-flag"),
        ([], r"URL"),
        (["http://a.test/" + "x" * 3000], r"max_url_length"),
    ],
)
def test_what_is_typed_wrong(tmp_path: Path, arguments: list[str], pattern: str) -> None:
    (tmp_path / "bad.txt").write_text("# seeds\nhttp://a.test/\n\nhttp://\n")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty.txt").write_text("# nothing\n\n")
    before = sorted(tmp_path.iterdir())
    check_refused(run_crawl(tmp_path, *arguments), pattern)
    assert sorted(tmp_path.iterdir()) == before


def test_a_bad_line_of_standard_input_is_named(tmp_path: Path) -> None:
    done = run_crawl(tmp_path, "-", stdin="http://a.test/\nmailto:me@a.test\n")
    check_refused(done, r"standard input, line 2: ")


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("[fetch]\nspeed = 9\n", r"fetch\.speed"),
        ("[fetch]\ntimeout_s = 'long'\n", r"fetch\.timeout_s"),
        ("[fetch\n", r"skitter\.toml"),
    ],
)
def test_a_wrong_configuration_file(tmp_path: Path, text: str, pattern: str) -> None:
    (tmp_path / "skitter.toml").write_text(text)
    check_refused(run_crawl(tmp_path, URL), pattern)
    assert not (tmp_path / "skitter-data").exists()


def test_a_wrong_variable(tmp_path: Path) -> None:
    done = run_crawl(tmp_path, URL, env={"SKITTER_FETCH__SPEED": "9"})
    check_refused(done, "SKITTER_FETCH__SPEED|fetch.speed")


@pytest.mark.parametrize(
    ("changed", "pattern"),
    [
        (["--depth", "3"], r"--depth 2.* 3"),
        (["--scope", "any"], r"--scope host.* any"),
        (["--robots", "ignore"], r"--robots obey.* ignore"),
        (["--sitemaps"], r"--sitemaps "),
        (["--allow", "x"], r"--allow none.* x"),
        (["--deny", "y"], r"--deny none.* y"),
        (["--header", "X-A: b"], r"--header none.* X-A: b"),
        (["--cookie", "a=b"], r"--cookie none.* a=b"),
        (["--user-agent", "me/1"], r"--user-agent none.* me/1"),
        (["http://127.0.0.1:10/"], r"URLs? .*:10/"),
    ],
)
def test_a_job_with_other_settings_names_flag_and_values(
    finished_job: Path, changed: list[str], pattern: str
) -> None:
    url = (finished_job / "url").read_text()
    depth = [] if "--depth" in changed else ["--depth", "2"]
    done = run_crawl(finished_job, url, "--job", "mine", *depth, *changed)
    check_refused(done, pattern)


@pytest.fixture(scope="module")
def finished_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    with origin({"/": page()}) as server:
        done = run_crawl(folder, server.url, "--job", "mine", "--depth", "2", "--delay", "0")
        assert done.code == 0, done.err
        (folder / "url").write_text(server.url)
    return folder


@pytest.mark.parametrize(
    ("name", "content", "pattern"),
    [
        ("frontier.sqlite", b"garbage" * 1000, r"frontier\.sqlite is damaged"),
        ("catalog.sqlite", b"garbage" * 1000, r"catalog\.sqlite is damaged"),
        ("skitter.json", b"garbage", r"skitter\.json cannot be read"),
        ("skitter.json", b'{"format": 99}', r"format 99.*upgrade"),
    ],
)
def test_a_damaged_or_newer_folder(
    finished_job: Path, tmp_path: Path, name: str, content: bytes, pattern: str
) -> None:
    shutil.copytree(finished_job / "skitter-data", tmp_path / "data")
    (tmp_path / "data" / name).write_bytes(content)
    done = run_crawl(tmp_path, URL, "--data", "data")
    check_refused(done, pattern)
    assert (tmp_path / "data" / name).read_bytes() == content


@pytest.mark.parametrize("name", ["frontier.sqlite", "catalog.sqlite"])
def test_a_database_damaged_in_its_middle(finished_job: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(finished_job / "skitter-data", tmp_path / "data")
    with (tmp_path / "data" / name).open("r+b") as file:
        file.seek(200)
        file.write(os.urandom(4096 * 4))
    done = run_crawl(tmp_path, URL, "--data", "data")
    check_refused(done, r"is damaged")


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    check_refused(run_crawl(tmp_path, URL, "--data", "data"), r"data folder data")
    assert (tmp_path / "data").read_text() == "mine"


def test_a_folder_that_another_crawl_uses(tmp_path: Path) -> None:
    with simulated_web(tmp_path, "--hosts", "1", "--pages", "500", "--latency-ms", "20") as sim:
        arguments = (*sim.crawl_arguments, "--delay", "0", "--data", "data")
        first = start_crawl(tmp_path, *arguments, stdin=sim.stdin)
        assert wait_until(first, lambda: sim.asked() > 3)
        second = run_crawl(tmp_path, *arguments, stdin=sim.stdin)
        check_refused(second, rf"in use by process {first.pid}\b")
        assert kill(first)
        # A dead holder is none.
        third = start_crawl(tmp_path, *arguments, stdin=sim.stdin)
        asked = sim.asked()
        assert wait_until(third, lambda: sim.asked() > asked + 3)
        kill(third)


@pytest.mark.parametrize(
    ("url", "detail"),
    [("http://no-such-host.invalid/", "resolve"), ("http://127.0.0.1:1/", "connect")],
)
def test_what_the_network_says_is_a_record(tmp_path: Path, url: str, detail: str) -> None:
    env = QUICK_RETRIES | QUICK_ROBOTS
    done = run_crawl(tmp_path, url, "-o", "out.jsonl", env=env)
    assert done.code == 0, done.err
    (line,) = done.err.splitlines()
    assert "every request failed" in line
    (record,) = read_jsonl(tmp_path / "out.jsonl")
    assert (record["outcome"], record["status_code"]) == ("failed", None)
    assert record["error"].startswith("robots_unreachable: ")
    assert detail in record["error"].lower()


@pytest.mark.parametrize(
    ("url", "code"),
    [("http://no-such-host.invalid/", "dns"), ("http://127.0.0.1:1/", "connect")],
)
def test_without_robots_txt_the_error_is_the_page_s_own(
    tmp_path: Path, url: str, code: str
) -> None:
    arguments = ("--robots", "ignore", "--delay", "0", "-o", "out.jsonl", "--json")
    done = run_crawl(tmp_path, url, *arguments, env=QUICK_RETRIES)
    assert done.code == 0, done.err
    assert json.loads(done.out)["failed"] == 1
    assert "every request failed" in done.err
    (record,) = read_jsonl(tmp_path / "out.jsonl")
    assert record["error"].partition(":")[0] == code


def test_an_output_that_nobody_may_write_is_refused_before_anything_is_fetched(
    tmp_path: Path,
) -> None:
    (tmp_path / "out.jsonl").mkdir()
    with origin({"/": page()}) as server:
        check_refused(run_crawl(tmp_path, server.url, "-o", "out.jsonl"), r"out\.jsonl")
        assert server.asked == []


def test_nothing_prompts_and_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    with origin({"/": page()}) as server:
        process = start_crawl(tmp_path, server.url, "--delay", "0")
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        done = finish(process)
    assert "Traceback" not in (done.err or "")
