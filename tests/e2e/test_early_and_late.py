"""Signals at the edges of a run: while it still loads, and while it writes its last files."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import parquet
from support.crawls import (
    SKITTER,
    environment,
    finish,
    kill,
    run_crawl,
    start_crawl,
    wait_until,
)
from support.origin import origin, page
from support.simulation import Simulation, simulated_web
from warcio.archiveiterator import ArchiveIterator

pytestmark = pytest.mark.e2e

PAGES = 150
ARGUMENTS = ("--delay", "0", "--concurrency", "8", "--data", "data")
OUTPUTS = ("-o", "out.parquet", "-o", "out.warc.gz", "-o", "out.jsonl")


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[Simulation]:
    with simulated_web(tmp_path, "--hosts", "1", "--pages", str(PAGES)) as running:
        yield running


# Each is the last line of many that a start writes when it tells what it loads.
@pytest.mark.parametrize("loaded", ["click", "msgspec", "skitter.engine.crawl"])
def test_a_signal_while_the_program_loads_is_no_traceback(tmp_path: Path, loaded: str) -> None:
    links = [f"/{number}" for number in range(20)]
    with origin({"/": page(*links)}) as server:
        process = subprocess.Popen(
            [sys.executable, "-X", "importtime", "-m", "skitter", "crawl", server.url],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        for line in process.stderr:
            if line.rpartition("|")[2].strip() == loaded:
                break
        process.send_signal(signal.SIGINT)
        done = finish(process)
    said = [line for line in done.err.splitlines() if not line.startswith("import time:")]
    assert done.code == 3, said
    assert "Traceback" not in done.err
    assert "skitter: interrupted" in said or any("in flight" in line for line in said)


def check_files(folder: Path) -> None:
    """All there, all whole, and nothing beside them."""
    assert parquet.read_table(folder / "out.parquet").num_rows == PAGES
    assert len((folder / "out.jsonl").read_text().splitlines()) == PAGES
    with (folder / "out.warc.gz").open("rb") as file:
        kinds = [record.rec_type for record in ArchiveIterator(file)]
    assert kinds.count("response") == PAGES
    assert list(folder.glob(".*.partial")) == []


def test_a_crawl_killed_while_it_writes_its_last_files_has_them_whole_the_next_time(
    sim: Simulation, tmp_path: Path
) -> None:
    partial = tmp_path / ".out.parquet.partial"
    arguments = (*sim.crawl_arguments, *ARGUMENTS, *OUTPUTS)
    process = start_crawl(tmp_path, *arguments, stdin=sim.stdin)
    assert wait_until(process, partial.exists)
    assert kill(process), "it had ended before"
    assert partial.exists()
    assert not (tmp_path / "out.parquet").exists()
    done = run_crawl(tmp_path, *arguments, stdin=sim.stdin)
    assert done.code == 0, done.err
    assert "is finished; nothing was fetched" in done.out
    check_files(tmp_path)
    asked = sim.pages_asked()
    assert len(asked) == len(set(asked)) == PAGES


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_export_early_and_leaves_no_part_of_a_file(
    sim: Simulation, tmp_path: Path, number: signal.Signals
) -> None:
    run_crawl(tmp_path, *sim.crawl_arguments, *ARGUMENTS, *OUTPUTS, stdin=sim.stdin)
    check_files(tmp_path)
    partial = tmp_path / ".more.parquet.partial"
    process = subprocess.Popen(
        [SKITTER, "export", "more.parquet", "--data", "data"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert wait_until(process, partial.exists)
    process.send_signal(number)
    done = finish(process)
    assert (done.code, done.out, done.err.strip()) == (3, "", "skitter: interrupted")
    assert not partial.exists()
    assert not (tmp_path / "more.parquet").exists()
