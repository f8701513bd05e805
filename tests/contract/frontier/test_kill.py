"""A real `kill -9`, at moments nobody chose: what was acknowledged is there afterwards."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from skitter.clock import SystemClock
from skitter.frontier.sqlite import SqliteFrontier
from skitter.models import JobCounts
from skitter.politeness.rates import Rate

from .stage import BACKOFF, add_up

ROUNDS = 5
VICTIM = Path(__file__).with_name("victim.py")


class Acknowledged:
    """What the victims were told had happened, over all their lives."""

    def __init__(self) -> None:
        self.added: set[int] = set()
        self.ended: dict[int, str] = {}

    def hear(self, line: str) -> None:
        word, *rest = line.split()
        if word == "added":
            self.added.update(map(int, rest))
        elif word == "ended":
            outcome, number, link = rest
            self.ended[int(number)] = outcome
            self.added.add(int(link))


def live_and_die(folder: Path, life: int, lines: int, acknowledged: Acknowledged) -> None:
    """Let a victim run until it has said so many lines, then kill it in the middle of things."""
    command = [sys.executable, str(VICTIM), str(folder), str(life)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        try:
            for _ in range(lines):
                acknowledged.hear(victim.stdout.readline())
        finally:
            os.kill(victim.pid, signal.SIGKILL)
        # A line is whole or was never said: each is written at once.
        for line in victim.stdout.read().splitlines(keepends=True):
            if line.endswith("\n"):
                acknowledged.hear(line)


@contextmanager
def opened(folder: Path) -> Iterator[SqliteFrontier]:
    frontier = SqliteFrontier(
        folder / "frontier.sqlite",
        clock=SystemClock(),
        default_rate=Rate.of_delay(0.0, concurrency=1_000_000),
        backoff=BACKOFF,
    )
    yield frontier
    asyncio.run(frontier.aclose())


def inspect(folder: Path, acknowledged: Acknowledged) -> JobCounts:
    with opened(folder) as frontier:
        info = asyncio.run(frontier.info("job"))
        assert info is not None
        assert add_up(info)
        rows = frontier._db.query("SELECT fingerprint, state FROM request")
        held = asyncio.run(frontier.leases())
    states = dict(rows)
    assert len(states) == len(rows) == info.counts.accepted
    assert acknowledged.added <= set(states)
    codes = {"done": 2, "failed": 4}
    wrong = {n: o for n, o in acknowledged.ended.items() if states[n] != codes[o]}
    assert not wrong
    tally = list(states.values())
    assert (tally.count(2), tally.count(4)) == (info.counts.done, info.counts.failed)
    assert info.counts.leased == sum(map(len, held.values()))
    return info.counts


@pytest.mark.timeout(60)
def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    acknowledged = Acknowledged()
    dice = Random(1)
    for life in range(1, ROUNDS + 1):
        live_and_die(tmp_path, life, dice.randrange(2, 150), acknowledged)
        inspect(tmp_path, acknowledged)
    assert acknowledged.ended


def test_what_waits_after_a_kill_can_all_be_leased(tmp_path: Path) -> None:
    acknowledged = Acknowledged()
    live_and_die(tmp_path, 1, 40, acknowledged)
    counts = inspect(tmp_path, acknowledged)
    with opened(tmp_path) as frontier:
        for worker in asyncio.run(frontier.leases()):
            asyncio.run(frontier.reap(worker))
        leases = asyncio.run(frontier.lease("w", 1_000_000)).leases
    assert len(leases) == counts.queued + counts.leased
    assert len({lease.request.fingerprint for lease in leases}) == len(leases)
