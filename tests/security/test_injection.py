"""Line breaks, escape codes and formulas in what a site sends stay text, wherever they arrive."""

import csv
import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
from support.crawls import SKITTER, environment, run_crawl
from support.doors import networks
from support.fetching import SITE
from support.origin import Asked, origin, page, reply
from support.records import read_catalog, read_jsonl
from warcio.archiveiterator import ArchiveIterator

pytestmark = pytest.mark.e2e

ARGUMENTS = ("--delay", "0", "--workers", "1", "--json", "--data", "data", "--job", "mine")

#: Sets a terminal's title, clears it, writes over a line, turns text around, begins a line.
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\rfake\u202egnp\u2028next\nINFO forged=true"
FORGED = "INFO forged=true"
#: Colours and the cursor are ours; anything else that drives a terminal is not.
OURS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\[\?25[lh]|[\r\n]")


def on_a_terminal(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> str:
    """What a command makes a terminal receive, output and errors together."""
    ours, theirs = pty.openpty()
    wide = {"TERM": "xterm-256color", "COLUMNS": "200", "LINES": "100"}
    process = subprocess.Popen(
        [SKITTER, *arguments],
        cwd=folder,
        env=environment(wide | (env or {})),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:
        pass  # how Linux says that the other side of a terminal is gone
    os.close(ours)
    process.wait()
    return shown.decode()


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A crawl of a page whose title, link text, headers and URLs are all evil, and its URL."""
    folder = tmp_path_factory.mktemp("evil")
    escaped = EVIL.encode().replace(b"\n", b"&#10;").replace(b"\r", b"&#13;")
    body = b"<title>=1+1 " + escaped + b'</title><a href="/a&#10;b&#13;c\x1b[2J">' + escaped
    head = b"HTTP/1.1 200 \x1b[2JOK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n"
    head += b"X-Evil: \x1b]0;owned\x07 \x9b31m\x0bWARC-Type: forged\r\n"
    with origin({"/": head % len(body) + b"\r\n" + body}, SITE) as server:
        outputs = ("-o", "out.jsonl", "-o", "out.csv", "-o", "out.warc.gz", "-vv")
        done = run_crawl(folder, f"{server.url}/", *ARGUMENTS, *outputs, env=networks())
        assert done.code == 0, done.err
    (folder / "log").write_text(done.err)
    return folder, f"{server.url}/"


def test_the_evil_is_in_the_record(crawled: tuple[Path, str]) -> None:
    folder, url = crawled
    (record,) = [r for r in read_jsonl(folder / "out.jsonl") if r["url"] == url]
    assert "\x1b]0;owned" in record["title"]
    assert "\u202e" in record["links"][0]["text"]
    assert "\x1b]0;owned" in record["response_headers"]["X-Evil"][0]


COMMANDS = [
    ("show", "URL"),
    ("show", "URL", "--headers"),
    ("show", "URL", "--json"),
    ("why", "URL"),
    ("why", "URL", "--json"),
    ("jobs", "list"),
    ("jobs", "show"),
    ("domains", "list"),
    ("audit",),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_lets_it_drive_the_terminal(
    crawled: tuple[Path, str], words: tuple[str, ...]
) -> None:
    folder, url = crawled
    named = [url if word == "URL" else word for word in words]
    shown = on_a_terminal(folder, *named, "--data", "data")
    assert "Traceback" not in shown
    check_harmless(shown)


def test_neither_does_the_live_view(tmp_path: Path, crawled: tuple[Path, str]) -> None:
    folder, _ = crawled
    (record,) = [r for r in read_jsonl(folder / "out.jsonl") if r["depth"] == 0]
    routes = {"/": reply(f"<title>{EVIL}</title><a href='/{EVIL}'>{record['title']}</a>")}
    with origin(routes, SITE) as server:
        arguments = ("--delay", "0.5", "--workers", "1", "-vv")
        shown = on_a_terminal(tmp_path, "crawl", f"{server.url}/", *arguments, env=networks())
    assert "2 pages" in shown
    check_harmless(shown)


def check_harmless(shown: str) -> None:
    text = OURS.sub("", shown)
    driving = {char for char in text if not char.isprintable()}
    assert driving == set(), shown
    assert not any(line.startswith(FORGED) for line in shown.splitlines())


def test_a_log_line_stays_one_line(crawled: tuple[Path, str]) -> None:
    folder, _ = crawled
    lines = (folder / "log").read_text().split("\n")
    events = [json.loads(line) for line in lines if line.startswith("{")]
    assert not any(FORGED in line for line in lines if not line.startswith("{"))
    assert all("\x1b" not in line for line in lines)
    for file in (folder / "data" / "log").iterdir():
        events += [json.loads(line) for line in file.read_bytes().split(b"\n") if line]
    assert events


def test_no_header_makes_a_warc_record_or_field(crawled: tuple[Path, str]) -> None:
    folder, url = crawled
    with (folder / "out.warc.gz").open("rb") as file:
        records = [
            (record.rec_type, record.rec_headers.get_header("WARC-Target-URI"))
            for record in ArchiveIterator(file, check_digests="raise")
        ]
    pages = {record["url"] for record in read_catalog(folder / "data")}
    assert sorted(uri for kind, uri in records if kind == "response") == sorted(pages)
    assert {kind for kind, _ in records} == {"warcinfo", "response"}
    assert url in pages


def test_a_header_with_a_line_break_of_old_fails_alone(tmp_path: Path) -> None:
    forged = b"HTTP/1.1 200 OK\r\nX-Break: 1\rX-Forged: 2\r\rWARC/1.1\r\nContent-Length: 0\r\n\r\n"
    with origin(
        {"/": page("/forged", "/fine"), "/forged": forged, "/fine": page()}, SITE
    ) as server:
        outputs = ("-o", "out.warc.gz")
        done = run_crawl(tmp_path, f"{server.url}/", *ARGUMENTS, *outputs, env=networks())
        assert done.code == 0, done.err
    assert (done.summary["pages"], done.summary["failed"]) == (2, 1)
    with (tmp_path / "out.warc.gz").open("rb") as file:
        kinds = sorted(record.rec_type for record in ArchiveIterator(file))
    assert kinds == ["metadata", "response", "response", "warcinfo"]


def test_no_cell_is_a_formula_or_another_row(crawled: tuple[Path, str]) -> None:
    folder, _ = crawled
    with (folder / "out.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert len(rows) == len(read_catalog(folder / "data"))
    assert {len(row) for row in rows} == {len(header)}
    titles = [row[header.index("title")] for row in rows if row[header.index("depth")] == "0"]
    assert titles[0].startswith("'=1+1")
    starts = {cell[0] for row in rows for cell in row if cell}
    assert not starts & set("=+-@\t\r\n")


def test_line_breaks_in_urls_start_no_header_and_no_request(tmp_path: Path) -> None:
    tricks = ["/a\r\nX-Evil: 1", "/b%0d%0aX-Evil:%201", "/c HTTP/1.1\r\nX-Evil: 1\r\n\r\nGET /d"]
    tricks += ["/e?\r\nX-Evil: 1", "/f\0g", "http:\r\n//127.0.1.1\n:PORT/h", "/i#\r\nX-Evil: 1"]
    seen: list[Asked] = []
    with origin({}, SITE) as server:
        links = [trick.replace("PORT", str(server.port)) for trick in tricks]
        server.routes["/"] = page(*links, "/moved")
        server.routes["/moved"] = reply("", "302 Found", Location="/j%0d%0aX-Evil: 1\x0bX-Evil: 2")
        done = run_crawl(tmp_path, f"{server.url}/", *ARGUMENTS, env=networks())
        assert done.code == 0, done.err
        seen += server.asked
    assert {asked.headers.get("x-evil") for asked in seen} == {None}
    assert all(asked.path.isprintable() and " " not in asked.path for asked in seen)
    assert "/d" not in {asked.path for asked in seen}
    assert len(seen) == 1 + 1 + len(links) + 2


@pytest.mark.parametrize(
    ("arguments", "env"),
    [
        (["--user-agent", "a\r\nX-Evil: 1"], {}),
        (["--user-agent", "a\x1b[2J"], {}),
        (["--header", "X: a\r\nX-Evil: 1"], {}),
        (["--header", "X\r\nX-Evil: 1"], {}),
        (["--header", "X-\x00: 1".replace("\x00", "\x01")], {}),
        (["--cookie", "a=b\r\nX-Evil: 1"], {}),
        (["--job", "a\x1b[2J"], {}),
        (["--job", "a\x9b2J"], {}),
        (["--job", "a\nb"], {}),
        (["--job", "a\u202eb"], {}),
        ([], {"SKITTER_FETCH__USER_AGENT": "a\r\nX-Evil: 1"}),
        ([], {"SKITTER_FETCH__CONTACT": "a\r\nX-Evil: 1"}),
        ([], {"SKITTER_ROBOTS__USER_AGENT_TOKEN": "a\nb"}),
    ],
)
def test_what_an_operator_types_is_refused_with_control_characters(
    tmp_path: Path, arguments: list[str], env: dict[str, str]
) -> None:
    with origin({"/": page()}, SITE) as server:
        done = run_crawl(tmp_path, f"{server.url}/", *arguments, env=networks() | env)
        assert server.asked == []
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.isprintable()
    assert "internal error" not in line


def test_nul_in_a_file_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "skitter.toml").write_text('[fetch]\nuser_agent = "a\\u0000b"\n')
    (tmp_path / "seeds.txt").write_bytes(b"http://127.0.1.1:1/\n\x00\n")
    for words in (["http://127.0.1.1:1/"], ["@seeds.txt"]):
        done = run_crawl(tmp_path, *words)
        assert (done.code, done.out) == (2, "")
        (line,) = done.err.splitlines()
        assert line.isprintable()
