"""Ctrl+C, SIGTERM, and what a finished crawl says."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.crawls import Finished, finish, run_crawl, start_crawl, wait_until
from support.records import differences, frontier_states, read_catalog, read_jsonl, twice
from support.simulation import Simulation, simulated_web

from skitter.sim.accesslog import CUT_OFF

pytestmark = [pytest.mark.e2e, pytest.mark.sim]

ARGUMENTS = ("--delay", "0", "--concurrency", "4", "--data", "data", "-o", "out.jsonl")


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[Simulation]:
    with simulated_web(tmp_path, "--hosts", "2", "--pages", "60", "--latency-ms", "30") as running:
        yield running


def start(sim: Simulation, folder: Path) -> subprocess.Popen[str]:
    """A crawl that has begun to fetch pages."""
    process = start_crawl(folder, *sim.crawl_arguments, *ARGUMENTS, stdin=sim.stdin)
    assert wait_until(process, lambda: sim.asked() >= 12), "the crawl was over too soon"
    return process


def resume(sim: Simulation, folder: Path) -> Finished:
    done = run_crawl(folder, *sim.crawl_arguments, *ARGUMENTS, stdin=sim.stdin)
    assert done.code == 0, done.err
    assert differences(sim.truth(), read_catalog(folder / "data")) == []
    assert twice(record["id"] for record in read_jsonl(folder / "out.jsonl")) == []
    return done


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_finishes_what_is_in_flight_and_says_how_to_go_on(
    sim: Simulation, tmp_path: Path, number: signal.Signals
) -> None:
    process = start(sim, tmp_path)
    process.send_signal(number)
    done = finish(process)
    assert done.code == 3
    assert "Finishing what is in flight" in done.err
    assert f"To go on: skitter crawl - --resolve '{sim.resolve}'" in done.out
    assert "still queued" in done.out
    states = frontier_states(tmp_path / "data")
    assert 0 < states["done"] < 120
    assert len(read_jsonl(tmp_path / "out.jsonl")) == states["done"]
    resume(sim, tmp_path)
    log = sim.log()
    assert twice((access.host, access.path) for access in log if access.path != "/robots.txt") == []
    assert CUT_OFF not in {access.status for access in log}


def test_a_second_signal_stops_at_once_and_still_loses_nothing(tmp_path: Path) -> None:
    # Slower than the time a drain is given: only the second signal can end this run early.
    with simulated_web(tmp_path, "--hosts", "1", "--pages", "4", "--latency-ms", "1500") as sim:
        process = start_crawl(tmp_path, *sim.crawl_arguments, *ARGUMENTS, stdin=sim.stdin)
        assert wait_until(process, lambda: sim.asked() >= 2)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert "once more to stop at once" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        done = finish(process)
        assert done.code == 3
        assert "To go on: skitter crawl" in done.out
        resume(sim, tmp_path)
        statuses = [access.status for access in sim.log()]
    assert CUT_OFF in statuses


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_exporting_leaves_no_half_of_a_file(
    tmp_path: Path, number: signal.Signals
) -> None:
    output, partial = tmp_path / "out.warc.gz", tmp_path / ".out.warc.gz.partial"
    with simulated_web(tmp_path, "--hosts", "2", "--pages", "300") as sim:
        arguments = (*sim.crawl_arguments, *ARGUMENTS, "-o", output.name)
        run_crawl(tmp_path, *arguments, stdin=sim.stdin)
        output.unlink()
        process = start_crawl(tmp_path, *arguments, stdin=sim.stdin)
        wait_until(process, partial.exists)
        process.send_signal(number)
        done = finish(process)
        # 0: the export was quicker than the signal.
        assert done.code in {0, 3}, done.err
        assert not partial.exists()
        resume(sim, tmp_path)


def test_an_interrupted_crawl_with_json_says_paused(sim: Simulation, tmp_path: Path) -> None:
    process = start_crawl(tmp_path, *sim.crawl_arguments, *ARGUMENTS, "--json", stdin=sim.stdin)
    wait_until(process, lambda: sim.asked() >= 12)
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.code == 3
    assert done.summary["state"] == "paused"
    assert done.summary["queued"] > 0


def test_a_finished_crawl_says_so_fetches_nothing_and_writes_what_is_missing(
    sim: Simulation, tmp_path: Path
) -> None:
    arguments = (*sim.crawl_arguments, *ARGUMENTS)
    run_crawl(tmp_path, *arguments, stdin=sim.stdin)
    before = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "out.jsonl").unlink()
    done = run_crawl(tmp_path, *arguments, "-o", "more.csv", stdin=sim.stdin)
    assert done.code == 0
    assert "is finished; nothing was fetched" in done.out
    assert (tmp_path / "out.jsonl").read_bytes() == before
    assert (tmp_path / "more.csv").read_text().count("\n") > 120
    assert twice((access.host, access.path) for access in sim.log()) == []
