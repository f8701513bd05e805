"""The embedded frontier when verbs overlap, are cancelled, or the disk says no."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from skitter.errors import (
    BackendError,
    DataFolderDamagedError,
    DataFolderNewerError,
    StorageFullError,
    UsageError,
)
from skitter.frontier.base import Frontier
from skitter.frontier.health import Rules
from skitter.frontier.sqlite import FRONTIER_FORMAT
from skitter.models import Completion, JobState, Outcome
from skitter.politeness.rates import Rate

from .conftest import FREE
from .stage import LEASE_S, Stage, TurnableClock, add_up, open_sqlite, page


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(open_sqlite, tmp_path / "stage", FREE)
    stage.job()
    stage.add("job", [page(n) for n in range(20)])
    yield stage
    stage.close()


def test_a_lease_that_is_completed_while_it_is_reaped_ends_once(stage: Stage) -> None:
    lease = stage.lease_one()
    done = Completion(token=lease.token, outcome=Outcome.DONE)
    stage.clock.turn(LEASE_S)

    async def play(frontier: Frontier) -> tuple[list[str], int]:
        # `add` occupies the storage, so that the others wait for it together.
        _, verdicts, reaped = await asyncio.gather(
            frontier.add("job", [page("x")]), frontier.complete("w", [done]), frontier.reap()
        )
        return verdicts, reaped

    assert stage.run(play) == (["accepted"], 0)
    assert add_up(stage.info("job"))


def test_adding_to_a_job_that_is_being_deleted_is_refused_alone(stage: Stage) -> None:
    async def play(frontier: Frontier) -> list[object]:
        return await asyncio.gather(
            frontier.add("job", [page("x")]),
            frontier.delete_job("job"),
            frontier.add("job", [page("y")]),
            return_exceptions=True,
        )

    added, deleted, refused = stage.run(play)
    assert (added.accepted, deleted) == (1, None)
    assert isinstance(refused, UsageError)
    stage.job()
    assert stage.add("job", [page("x")]).accepted == 1


def test_manners_set_at_the_same_time_are_all_kept(stage: Stage) -> None:
    async def play(frontier: Frontier) -> None:
        await asyncio.gather(
            frontier.set_rate("a.test", Rate.of_delay(2.0, concurrency=5)),
            frontier.set_crawl_delay("a.test", 7.0),
            frontier.block("a.test"),
        )

    stage.run(play)
    for _ in range(2):
        (domain,) = stage.backlog()
        assert (domain.rate, domain.blocked) == (Rate.of_delay(7.0, concurrency=5), True)
        stage.kill()


def test_a_cancelled_verb_happens_whole_or_not_at_all(stage: Stage) -> None:
    async def play(frontier: Frontier) -> None:
        tasks = [asyncio.create_task(frontier.add("job", [page(f"c{n}")])) for n in range(6)]
        for turns in range(6):
            await asyncio.sleep(0)
            tasks[turns].cancel()
            tasks[turns].cancel()
        await asyncio.wait(tasks)

    stage.run(play)
    # Whatever was cancelled, memory and storage agree and the next verb is served.
    stage.add("job", [page("after")])
    before = stage.jobs()
    assert len(stage.lease_urls()) == before[0].counts.accepted
    stage.kill()
    assert stage.info("job").counts.accepted == before[0].counts.accepted
    assert stage.info("job").counts.leased == before[0].counts.accepted


def test_a_full_disk_stops_the_frontier_and_loses_nothing(stage: Stage) -> None:
    before = stage.info("job")
    database = stage._frontier._db
    (size,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count={size}")
    with pytest.raises(StorageFullError):
        stage.add("job", [page(f"{n}/{'x' * 500}") for n in range(200)])
    for verb in (lambda: stage.add("job", [page("x")]), lambda: stage.extend("w")):
        with pytest.raises(StorageFullError):
            verb()
    stage.reopen()
    assert stage.info("job") == before
    assert len(stage.lease_urls()) == 20


def test_a_folder_of_a_newer_version_is_refused(tmp_path: Path, stage: Stage) -> None:
    stage._frontier._db.execute(f"PRAGMA user_version={FRONTIER_FORMAT + 1}")
    with pytest.raises(DataFolderNewerError, match="upgrade"):
        stage.reopen()
    # So that the stage can be left.
    stage._frontier = open_sqlite(tmp_path, TurnableClock(), Rate(), Rules())


def test_a_file_that_is_no_database_is_said_to_be_damaged(tmp_path: Path) -> None:
    (tmp_path / "frontier.sqlite").write_bytes(b"not a database " * 1_000)
    with pytest.raises(DataFolderDamagedError, match=r"frontier\.sqlite"):
        open_sqlite(tmp_path, TurnableClock(), Rate(), Rules())


def test_closing_twice_is_closing_once(stage: Stage) -> None:
    stage.aclose()
    stage.aclose()
    with pytest.raises(BackendError):
        stage.set_state("job", JobState.PAUSED)
