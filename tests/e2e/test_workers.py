"""`skitter workers`, from a second terminal while a crawl runs."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.crawls import SKITTER, Finished, environment, finish, start_crawl, wait_until
from support.simulation import simulated_web

pytestmark = [pytest.mark.e2e, pytest.mark.sim]

#: So patient that nobody would be missed before the test is over.
PATIENT = {"SKITTER_FRONTIER__HEARTBEAT_S": "3600", "SKITTER_FRONTIER__LEASE_S": "7200"}

WRONG = (
    (("--heartbeat", "5", "--timeout", "5"), "less than the time-out"),
    (("--heartbeat", "7200"), "less than the time-out"),
    (("--timeout", "3600"), "less than the time-out"),
    (("--heartbeat", "0"), "more than 0"),
    (("--timeout", "soon"), "--timeout"),
    ((), "--heartbeat"),
)

Worker = dict[str, Any]


def workers(folder: Path, *arguments: str) -> Finished:
    done = subprocess.run(
        [SKITTER, "workers", *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return Finished(code=done.returncode, out=done.stdout, err=done.stderr)


class Crawl:
    """A crawl with two workers that goes on until it is interrupted."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process = process
        self.folder = folder

    def list(self) -> dict[str, Worker]:
        """By id; empty while the crawl starts."""
        done = workers(self.folder, "list", "--json")
        return {row["id"]: row for row in json.loads(done.out)} if done.code == 0 else {}

    def until(self, happened: Callable[[dict[str, Worker]], bool]) -> dict[str, Worker]:
        """The workers as soon as something is true of them."""
        seen: dict[str, Worker] = {}

        def look() -> bool:
            nonlocal seen
            seen = self.list()
            return bool(seen) and happened(seen)

        assert wait_until(self.process, look), "the crawl was over too soon"
        return seen

    def interrupt(self) -> Finished:
        self.process.send_signal(signal.SIGINT)
        return finish(self.process)


def both(field: str, holds: Callable[[Any], bool]) -> Callable[[dict[str, Worker]], bool]:
    return lambda seen: all(row[field] is not None and holds(row[field]) for row in seen.values())


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    with simulated_web(tmp_path, "--hosts", "4", "--pages", "400") as sim:
        arguments = (*sim.crawl_arguments, "--delay", "0.1", "--workers", "2")
        process = start_crawl(tmp_path, *arguments, stdin=sim.stdin, env=PATIENT)
        try:
            running = Crawl(process, tmp_path)
            running.until(both("done", bool))
            yield running
        finally:
            if process.poll() is None:
                process.kill()
                finish(process)


def test_heartbeat_and_time_out_change_at_once_for_coordinator_and_workers(crawl: Crawl) -> None:
    before = crawl.list()
    done = workers(crawl.folder, "set", "--heartbeat", "0.2", "--timeout", "3")
    assert (done.code, done.out) == (0, "A heartbeat every 0.2 s, dead after 3 s.\n")
    assert done.out in workers(crawl.folder, "list").out
    # Nobody would have been heard again within the hour.
    crawl.until(lambda seen: all(seen[i]["heard_s"] < before[i]["heard_s"] for i in seen))
    # Nor would a new coordinator know, if it were not told.
    everybody = Path("/proc", str(crawl.process.pid), "task", str(crawl.process.pid), "children")
    (coordinator,) = {int(pid) for pid in everybody.read_text().split()} - {
        row["pid"] for row in before.values()
    }
    os.kill(coordinator, signal.SIGKILL)
    crawl.until(both("heard_s", lambda _: True))
    frozen = before["1"]["pid"]
    os.kill(frozen, signal.SIGSTOP)
    after = crawl.until(lambda seen: seen["1"]["restarts"] == 1)
    assert after["1"]["pid"] != frozen
    assert after["2"]["restarts"] == 0
    assert after["1"]["done"] >= before["1"]["done"]
    ended = crawl.interrupt()
    assert ended.code == 3, ended.err
    silent = re.search(r"Worker 1 has not been heard for (\d+) s\.", ended.err)
    assert silent, ended.err
    assert "The coordinator was killed by signal 9; a new one starts." in ended.err


def test_what_no_worker_could_live_with_is_refused(crawl: Crawl) -> None:
    for arguments, complaint in WRONG:
        done = workers(crawl.folder, "set", *arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1
        assert complaint in done.err
    assert crawl.list()["1"]["heartbeat_s"] == 3600


def test_a_drained_worker_keeps_its_tally_and_a_restarted_one_has_not_crashed(
    crawl: Crawl,
) -> None:
    before = crawl.list()
    assert workers(crawl.folder, "drain", "2").code == 0
    assert workers(crawl.folder, "restart", "1").code == 0
    after = crawl.until(
        lambda seen: seen["2"]["state"] == "drained" and seen["1"]["state"] in {"working", "idle"}
    )
    assert after["2"]["pid"] is None
    assert after["2"]["done"] >= before["2"]["done"] > 0
    assert after["1"]["restarts"] == 1
    assert after["1"]["done"] >= before["1"]["done"] > 0
    again = workers(crawl.folder, "restart", "2")
    assert (again.code, again.out) == (2, "")
    assert "was drained" in again.err
    ended = crawl.interrupt()
    assert "Worker 1 is restarted by hand." in ended.err
    assert "signal" not in ended.err


def test_partial_results_of_a_worker_can_be_read_at_any_time(crawl: Crawl) -> None:
    shown = json.loads(workers(crawl.folder, "show", "1", "--json").out)
    assert shown["state"] in {"working", "idle"}
    assert shown["done"] > 0
    assert all({"token", "request"} <= set(lease) for lease in shown["leases"])
    assert shown["segments"]
    for name in shown["segments"]:
        assert (crawl.folder / name).stat().st_size > 0


def test_the_supervisor_has_no_thread_when_it_forks(crawl: Crawl) -> None:
    threads = Path("/proc", str(crawl.process.pid), "task")
    assert len(list(threads.iterdir())) == 1


def test_the_lines_tell_what_the_workers_do(crawl: Crawl) -> None:
    assert crawl.process.stderr is not None
    assert re.search(r", workers: (\d \w+, )*\d (idle|working)", crawl.process.stderr.readline())
