"""Who waits for the disk and who does not, and what a long memory costs the others."""

import asyncio
import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from skitter import sqlite
from skitter.errors import BackendError, StorageFullError
from skitter.frontier import restore
from skitter.frontier.base import Frontier
from skitter.models import Completion, JobCounts, Outcome

from .conftest import FREE
from .stage import Stage, open_sqlite, page


class Disk:
    """Syncs for real, but may be slow to begin or fail; counts."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.free.set()
        self.error: OSError | None = None
        self.syncs = 0

    def sync(self, descriptor: int) -> None:
        self.free.wait()
        self.syncs += 1
        if self.error is not None:
            raise self.error
        os.fdatasync(descriptor)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    disk = Disk()
    monkeypatch.setattr(sqlite, "_sync", disk.sync)
    yield disk
    disk.free.set()


@pytest.fixture
def stage(tmp_path: Path, disk: Disk) -> Iterator[Stage]:
    stage = Stage(open_sqlite, tmp_path / "stage", FREE)
    stage.job()
    stage.add("job", [page(n) for n in range(20)])
    yield stage
    disk.error = None
    stage.close()


async def counts_of(frontier: Frontier) -> JobCounts:
    info = await frontier.info("job")
    assert info is not None
    return info.counts


def test_a_lease_does_not_wait_for_the_disk_and_what_is_acknowledged_does(
    stage: Stage, disk: Disk
) -> None:
    async def play(frontier: Frontier) -> bool:
        first = (await frontier.lease("w", 1)).leases[0]
        disk.free.clear()
        done = Completion(token=first.token, outcome=Outcome.DONE, links=(page("x"),))
        completing = asyncio.create_task(frontier.complete("w", [done]))
        adding = asyncio.create_task(frontier.add("job", [page("y")]))
        await asyncio.sleep(0)
        # Both have been done by now but for the disk. Others are served meanwhile.
        assert (await counts_of(frontier)).accepted == 22
        for _ in range(5):
            await frontier.extend("w")
            assert (await frontier.lease("w", 1)).leases
            await asyncio.sleep(0)
        waited = not completing.done() and not adding.done()
        disk.free.set()
        await asyncio.gather(completing, adding)
        return waited

    assert stage.run(play)
    assert stage.info("job").counts.done == 1


def test_those_who_wait_share_a_sync(stage: Stage, disk: Disk) -> None:
    async def play(frontier: Frontier) -> None:
        disk.free.clear()
        adding = [asyncio.create_task(frontier.add("job", [page(f"s{n}")])) for n in range(30)]
        await asyncio.sleep(0)
        assert (await counts_of(frontier)).accepted == 50
        disk.free.set()
        await asyncio.gather(*adding)

    before = disk.syncs
    stage.run(play)
    # One was under way when the others came; those came in time for the second.
    assert disk.syncs - before <= 2
    assert stage.info("job").counts.accepted == 50


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.EIO, BackendError), (errno.ENOSPC, StorageFullError)]
)
def test_what_could_not_be_synced_is_not_acknowledged_and_nothing_is_after_it(
    stage: Stage, disk: Disk, number: int, kind: type[Exception]
) -> None:
    disk.error = OSError(number, os.strerror(number))
    with pytest.raises(kind):
        stage.add("job", [page("x")])
    disk.error = None
    for verb in (lambda: stage.add("job", [page("y")]), lambda: stage.extend("w")):
        with pytest.raises(kind):
            verb()
    stage.reopen()
    assert len(stage.lease_urls()) in {20, 21}


def test_a_verb_that_is_cancelled_while_it_waits_for_the_disk_has_happened(
    stage: Stage, disk: Disk
) -> None:
    async def play(frontier: Frontier) -> None:
        disk.free.clear()
        adding = [asyncio.create_task(frontier.add("job", [page(n)])) for n in ("x", "y")]
        await asyncio.sleep(0)
        adding[0].cancel()
        await asyncio.wait(adding[:1])
        disk.free.set()
        assert (await adding[1]).accepted == 1

    stage.run(play)
    stage.kill()
    assert stage.info("job").counts.accepted == 22


def test_the_log_stays_short_while_many_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_FOLD_ROWS", 200)
    monkeypatch.setattr(sqlite, "_LONG_LOG_PAGES", 200)
    stage = Stage(open_sqlite, tmp_path / "stage", FREE)
    stage.job()

    async def write(frontier: Frontier, writer: int) -> None:
        for turn in range(60):
            pages = [page(f"{writer}-{turn}-{n}/{'x' * 400}") for n in range(10)]
            await frontier.add("job", pages)

    async def play(frontier: Frontier) -> None:
        await asyncio.gather(*(write(frontier, writer) for writer in range(5)))

    stage.run(play)
    (log,) = (tmp_path / "stage").rglob("*-wal")
    (data,) = (tmp_path / "stage").rglob("*.sqlite")
    # All 3,000 rows went through it.
    assert log.stat().st_size < 3_000 * 1_000
    assert data.stat().st_size > 3_000 * 400 // 2
    stage.kill()
    assert stage.info("job").counts.accepted == 3_000
    stage.close()


def test_heartbeats_are_answered_while_a_job_recalls_what_it_has_seen(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.add("job", [page(n) for n in range(1_000)])
    stage.kill()
    monkeypatch.setattr(restore, "_PORTION_ROWS", 10)

    async def play(frontier: Frontier) -> tuple[int, int, int]:
        adding = [asyncio.create_task(frontier.add("job", [page(n)])) for n in (7, "new")]
        beats = 0
        while not any(task.done() for task in adding):
            await frontier.extend("w")
            await asyncio.sleep(0)
            beats += 1
        old, new = await asyncio.gather(*adding)
        return beats, old.duplicate, new.accepted

    beats, duplicate, accepted = stage.run(play)
    assert (duplicate, accepted) == (1, 1)
    assert beats >= 100
