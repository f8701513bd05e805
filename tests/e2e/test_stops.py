"""SIGTERM to a crawl of several processes at any moment: it ends, soon, and can go on."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.crawls import SKITTER, environment, run_crawl, wait_until
from support.records import differences, read_catalog, read_jsonl, twice
from support.simulation import Simulation, simulated_web

from skitter.chaos.processes import ask_workers, children

pytestmark = [pytest.mark.e2e, pytest.mark.sim]

ARGUMENTS = ("--delay", "0.1", "--workers", "2", "--data", "data", "-o", "out.jsonl")
#: One that has not ended by then never would have; the promise is ten.
STUCK_S = 15.0


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[Simulation]:
    with simulated_web(tmp_path, "--hosts", "4", "--pages", "20", "--latency-ms", "30") as running:
        yield running


def start(sim: Simulation, folder: Path) -> subprocess.Popen[bytes]:
    """A crawl in a group of its own: what is sent to the group reaches all of its processes."""
    (folder / "seeds").write_text(sim.stdin)
    with (folder / "err").open("ab") as err:
        return subprocess.Popen(
            [SKITTER, "crawl", "@seeds", "--resolve", sim.resolve, *ARGUMENTS],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=err,
            start_new_session=True,
        )


def end(process: subprocess.Popen[bytes], folder: Path) -> int:
    """Its exit code; a crawl that is stuck is killed, and the test fails."""
    try:
        return process.wait(STUCK_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        pytest.fail(f"still there: {(folder / 'err').read_text()[-2000:]}")


def holds_something(folder: Path) -> bool:
    return any(worker.leases for worker in ask_workers(folder / "data"))


def resume(sim: Simulation, folder: Path) -> None:
    done = run_crawl(folder, "@seeds", "--resolve", sim.resolve, *ARGUMENTS)
    assert done.code == 0, done.err
    assert differences(sim.truth(), read_catalog(folder / "data")) == []
    assert twice(record["id"] for record in read_jsonl(folder / "out.jsonl")) == []


def stop_at_random_moments(sim: Simulation, folder: Path, times: int) -> None:
    moments = random.Random(13)
    codes = []
    for _ in range(times):
        process = start(sim, folder)
        try:
            process.wait(moments.uniform(0.0, 3.0))
        except subprocess.TimeoutExpired:
            tell = moments.choice((os.kill, os.killpg))
            tell(process.pid, signal.SIGTERM)
        codes.append(end(process, folder))
    # Before Python has begun, the signal itself ends it.
    assert set(codes) <= {3, -signal.SIGTERM}
    assert codes.count(3) > times / 2
    resume(sim, folder)


def test_sigterm_at_any_moment_ends_it(tmp_path: Path) -> None:
    with simulated_web(tmp_path, "--hosts", "4", "--pages", "60") as sim:
        stop_at_random_moments(sim, tmp_path, 4)


@pytest.mark.slow
def test_sigterm_at_thirty_moments_ends_it(tmp_path: Path) -> None:
    with simulated_web(tmp_path, "--hosts", "4", "--pages", "500") as sim:
        stop_at_random_moments(sim, tmp_path, 30)


def test_sigterm_to_all_processes_at_once_costs_nothing(sim: Simulation, tmp_path: Path) -> None:
    """The workers need the coordinator until they are done, whoever else was told to end."""
    process = start(sim, tmp_path)
    assert wait_until(process, lambda: sim.asked() >= 12)  # type: ignore[arg-type]
    for pid in (*children(process.pid), process.pid):
        os.kill(pid, signal.SIGTERM)
    assert end(process, tmp_path) == 3
    assert "coordinator" not in (tmp_path / "err").read_text()
    resume(sim, tmp_path)
    assert twice(sim.pages_asked()) == []


def test_a_coordinator_that_dies_on_the_way_out_keeps_nobody(
    sim: Simulation, tmp_path: Path
) -> None:
    process = start(sim, tmp_path)
    assert wait_until(process, lambda: sim.asked() >= 12)  # type: ignore[arg-type]
    coordinator = min(children(process.pid))  # the first one to be started
    process.send_signal(signal.SIGTERM)
    os.kill(coordinator, signal.SIGKILL)
    assert end(process, tmp_path) == 3
    resume(sim, tmp_path)


def test_a_second_sigterm_ends_it_though_the_coordinator_stands_still(
    sim: Simulation, tmp_path: Path
) -> None:
    process = start(sim, tmp_path)
    assert wait_until(process, lambda: sim.asked() >= 12)  # type: ignore[arg-type]
    coordinator = min(children(process.pid))
    os.kill(coordinator, signal.SIGSTOP)
    process.send_signal(signal.SIGTERM)
    said = tmp_path / "err"
    assert wait_until(process, lambda: b"once more" in said.read_bytes())  # type: ignore[arg-type]
    process.send_signal(signal.SIGTERM)
    assert end(process, tmp_path) == 3
    resume(sim, tmp_path)


@pytest.mark.slow
@pytest.mark.alone
def test_answers_that_do_not_come_are_not_waited_for(tmp_path: Path) -> None:
    with simulated_web(tmp_path, "--hosts", "4", "--pages", "4", "--latency-ms", "20000") as sim:
        process = start(sim, tmp_path)
        assert wait_until(process, lambda: holds_something(tmp_path))  # type: ignore[arg-type]
        began_s = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert end(process, tmp_path) == 3
    # Not a race but a promise: so long it may take.
    assert time.monotonic() - began_s <= 10.0
