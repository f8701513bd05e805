"""`skitter audit`: clean after a real crawl with a kill in it, and blind to no broken promise."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from support.crawls import Finished, kill, run_crawl, start_crawl, wait_until
from support.simulation import Simulation, simulated_web

from skitter.cli.main import main

pytestmark = [pytest.mark.e2e, pytest.mark.sim]

WEB = (
    *("--hosts", "3", "--pages", "40", "--latency-ms", "3", "--robots-rate", "0.1"),
    *("--throttle-rate", "0.05", "--redirect-rate", "0.1", "--crawl-delay", "0.04"),
)
OUTPUTS = ("-o", "out.jsonl", "-o", "out.csv", "--json")

(OUTCOMES, COUNTERS, RECORDS, ONCE, OUTPUT, STORED, DELAY, CRAWL_DELAY, CONCURRENCY, HOLDS) = range(
    10
)
ROBOTS, READABLE = 10, 11


def audit(data: Path, *flags: str) -> Result:
    return CliRunner().invoke(main, ["audit", "--data", str(data), *flags])


def checks_of(result: Result) -> list[dict[str, Any]]:
    checks: list[dict[str, Any]] = json.loads(result.stdout)["checks"]
    return checks


def broken(result: Result) -> set[int]:
    return {number for number, check in enumerate(checks_of(result)) if check["found"]}


def crawl(sim: Simulation, folder: Path, *, killed_after: int) -> Finished:
    """Crawl, with a kill after so many requests."""
    arguments = (*sim.crawl_arguments, "--delay", "0.02", "--data", "data", *OUTPUTS)
    process = start_crawl(folder, *arguments, stdin=sim.stdin)
    assert wait_until(process, lambda: sim.asked() >= killed_after)
    assert kill(process)
    return run_crawl(folder, *arguments, stdin=sim.stdin)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished crawl that was killed once; not to be changed."""
    folder = tmp_path_factory.mktemp("crawled")
    with simulated_web(folder, *WEB) as sim:
        done = crawl(sim, folder, killed_after=40)
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def data(crawled: Path, tmp_path: Path) -> Path:
    """A copy of its data folder that names copies of its outputs, to be spoilt."""
    copy = Path(shutil.copytree(crawled, tmp_path / "copy")) / "data"
    with closing(sqlite3.connect(copy / "catalog.sqlite")) as catalog, catalog:
        for name in ("out.jsonl", "out.csv"):
            catalog.execute(
                "UPDATE output SET path = ? WHERE path LIKE ?",
                (str(copy.parent / name), f"%/{name}"),
            )
    return copy


def test_a_crawl_that_was_killed_and_resumed_is_clean(data: Path) -> None:
    result = audit(data, "--deep", "--json")
    assert result.exit_code == 0, result.stdout
    checks = checks_of(result)
    assert [check["name"] for check in checks if not check["checked"]] == []
    # Two processes wrote it, one of them was killed.
    assert len(list((data / "log").iterdir())) >= 2


def test_a_crawl_in_the_middle_is_clean_and_says_what_is_left(tmp_path: Path) -> None:
    with simulated_web(tmp_path, *WEB) as sim:
        arguments = (*sim.crawl_arguments, "--delay", "0.05", "--data", "data", *OUTPUTS)
        process = start_crawl(tmp_path, *arguments, stdin=sim.stdin)
        assert wait_until(process, lambda: sim.asked() >= 40)
        running = audit(tmp_path / "data", "--deep", "--json")
        assert kill(process)
        killed = audit(tmp_path / "data", "--deep", "--json")
    for result in (running, killed):
        assert result.exit_code == 0, result.stdout
        assert "queued" in checks_of(result)[OUTCOMES]["note"]


def test_the_table_has_a_line_per_check_and_those_that_offend(data: Path) -> None:
    clean = audit(data)
    assert clean.exit_code == 0
    assert "✓  every accepted request has one outcome" in clean.stdout
    assert "(not read without --deep)" in clean.stdout
    change(data, "frontier", "UPDATE job SET done = done + 1")
    spoilt = audit(data)
    assert spoilt.exit_code == 1
    assert "✗  counters agree with the requests" in spoilt.stdout
    assert ", but there are " in spoilt.stdout


def test_a_folder_that_is_none_is_a_usage_error(tmp_path: Path) -> None:
    assert audit(tmp_path).exit_code == 2
    assert audit(tmp_path / "nowhere").exit_code == 2


def test_a_job_that_is_not_there_is_a_usage_error(data: Path) -> None:
    assert audit(data, "--job", "other").exit_code == 2


def change(data: Path, name: str, *statements: str) -> None:
    with closing(sqlite3.connect(data / f"{name}.sqlite")) as database, database:
        for statement in statements:
            database.execute(statement)


#: One that ended, any.
REQUEST = "(SELECT id FROM request WHERE state = 2 LIMIT 1)"
REDIRECT = "(SELECT id FROM page WHERE outcome = 'redirected' LIMIT 1)"
FIELDS = "job, domain, fingerprint, state, priority, depth, url"
COLUMNS = (
    "job, record_id, outcome, status_code, error, url, timestamp, depth, length, segment, offset,"
    " size, record"
)


@pytest.mark.parametrize(
    ("database", "statements", "rules"),
    [
        ("frontier", [f"DELETE FROM request WHERE id = {REQUEST}"], {COUNTERS, RECORDS}),
        ("frontier", [f"UPDATE request SET state = 0 WHERE id = {REQUEST}"], {OUTCOMES, COUNTERS}),
        ("frontier", [f"UPDATE request SET state = 4 WHERE id = {REQUEST}"], {COUNTERS, RECORDS}),
        ("frontier", [f"UPDATE request SET state = 9 WHERE id = {REQUEST}"], {OUTCOMES, COUNTERS}),
        ("frontier", ["UPDATE request SET reason = NULL WHERE state = 5"], {OUTCOMES, COUNTERS}),
        (
            "frontier",
            [f"INSERT INTO lease (request, worker, since_s) VALUES ({REQUEST}, 'w', 0)"],
            {OUTCOMES},
        ),
        (
            "frontier",
            ["INSERT INTO lease (request, worker, since_s) VALUES (999999, 'w', 0)"],
            {OUTCOMES},
        ),
        (
            "frontier",
            [f"INSERT INTO request ({FIELDS}) SELECT {FIELDS} FROM request WHERE id = {REQUEST}"],
            {OUTCOMES, COUNTERS, RECORDS},
        ),
        ("frontier", ["UPDATE job SET redirected = 0"], {COUNTERS}),
        ("catalog", ["DELETE FROM page WHERE outcome = 'redirected'"], {RECORDS}),
        ("catalog", ["UPDATE page SET segment = NULL WHERE id = 3"], {RECORDS}),
        (
            "catalog",
            [
                "DROP INDEX page_id",
                f"INSERT INTO page ({COLUMNS}) SELECT {COLUMNS} FROM page WHERE id = {REDIRECT}",
            ],
            {ONCE},
        ),
        ("catalog", ["UPDATE page SET offset = offset + 1 WHERE id = 3"], {STORED}),
        ("catalog", ["UPDATE page SET segment = 'x/1.warc.gz' WHERE id = 3"], {STORED}),
    ],
)
def test_rows_that_disagree_are_found(
    data: Path, database: str, statements: list[str], rules: set[int]
) -> None:
    change(data, database, *statements)
    result = audit(data, "--deep", "--json")
    assert result.exit_code == 1
    assert broken(result) == rules


def test_a_changed_segment_is_found(data: Path) -> None:
    for segment in data.glob("segments/*/*.warc.gz"):
        content = bytearray(segment.read_bytes())
        content[len(content) // 2] ^= 0xFF
        segment.write_bytes(content)
    assert broken(audit(data, "--deep", "--json")) == {STORED}
    assert audit(data).exit_code == 0


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv"])
def test_a_line_that_is_there_twice_or_missing_is_found(data: Path, name: str) -> None:
    path = data.parent / name
    lines = path.read_bytes().splitlines(keepends=True)
    for spoilt in ([*lines, lines[-1]], lines[:-1], [*lines, b"{}\r\n"]):
        content = b"".join(spoilt)
        path.write_bytes(content)
        change(
            data, "catalog", f"UPDATE output SET length = {len(content)} WHERE path LIKE '%{name}'"
        )
        assert broken(audit(data, "--json")) == {OUTPUT}
    path.write_bytes(b"".join(lines[:-2]))
    assert broken(audit(data, "--json")) == {OUTPUT}
    path.unlink()
    assert audit(data).exit_code == 0


Line = dict[str, Any]


def spoil_log(data: Path, spoil: Callable[[list[Line]], None]) -> None:
    """Change the log of the longest run; the last line of one that was killed may be torn."""
    path = max((data / "log").iterdir(), key=lambda file: file.stat().st_size)
    whole = path.read_text().rpartition("\n")[0]
    lines = [json.loads(line) for line in whole.splitlines()]
    spoil(lines)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def pages(lines: list[Line]) -> list[Line]:
    return [line for line in lines if line["event"] == "fetch" and line.get("kind") != "robots"]


def send_early(lines: list[Line]) -> None:
    first = pages(lines)[0]
    lines.append(first | {"sent": first["ended"] + 0.005, "ended": first["ended"] + 0.006})


def obey_a_shorter_delay(lines: list[Line]) -> None:
    for line in lines:
        if line["event"] == "robots":
            line["body"] = line["body"].replace("0.04", "0.4")


def overlap(lines: list[Line]) -> None:
    first = pages(lines)[0]
    first["ended"] += 3600


def forget_a_hold(lines: list[Line]) -> None:
    first, last = pages(lines)[0], pages(lines)[-1]
    wait_s = last["sent"] - first["ended"] + 60
    hold = {"event": "hold", "at": first["ended"], "wait_s": wait_s, "reason": "http_429"}
    lines.insert(1, hold | {"domain": last["domain"]})


def trespass(lines: list[Line]) -> None:
    last = pages(lines)[-1]
    last["url"] = "/".join([*last["url"].split("/")[:3], "private", "x"])


def skip_robots(lines: list[Line]) -> None:
    lines[:] = [line for line in lines if line["event"] != "robots"]


def write_nonsense(lines: list[Line]) -> None:
    lines.insert(3, {"event": "nonsense"})


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (send_early, CRAWL_DELAY),
        (obey_a_shorter_delay, CRAWL_DELAY),
        (overlap, CONCURRENCY),
        (forget_a_hold, HOLDS),
        (trespass, ROBOTS),
        (skip_robots, ROBOTS),
        (write_nonsense, READABLE),
    ],
)
def test_bad_manners_are_found(data: Path, spoil: Callable[[list[Line]], None], rule: int) -> None:
    spoil_log(data, spoil)
    result = audit(data, "--json")
    assert result.exit_code == 1
    assert rule in broken(result)
    finding = checks_of(result)[rule]["findings"][0]
    assert finding["where"].startswith("log/worker-")


def test_a_broken_delay_is_found_and_a_wider_tolerance_forgives_it(data: Path) -> None:
    def spoil(lines: list[Line]) -> None:
        for line in pages(lines):
            line["gap_s"] += 60

    spoil_log(data, spoil)
    assert broken(audit(data, "--json")) == {DELAY}
    assert audit(data, "--tolerance-ms", "61000").exit_code == 0
