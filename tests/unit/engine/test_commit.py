"""Results of several workers, handed in at the same moment, over real files."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from skitter.catalog.base import Page, SavedOutput
from skitter.catalog.sqlite import SqliteCatalog
from skitter.clock import SystemClock
from skitter.engine.commit import Finished, LocalCommitter
from skitter.errors import StorageFullError
from skitter.frontier.sqlite import SqliteFrontier
from skitter.models import Completion, JobSpec, Lease, Outcome, Record, Request, Verdict
from skitter.politeness.backoff import BackoffPolicy
from skitter.politeness.rates import Rate

WORKERS = ("a", "b", "c", "d")
EACH = 3


class Bench:
    """A committer over an empty folder, its output file a list."""

    def __init__(self, frontier: SqliteFrontier, catalog: SqliteCatalog) -> None:
        self.frontier = frontier
        self.catalog = catalog
        self.appends: list[int] = []
        self.failure: Exception | None = None
        self.observed: list[Verdict] = []
        self.committer = LocalCommitter(frontier, catalog, self._append, self._observe)

    def _append(self, pages: Sequence[Page]) -> list[SavedOutput]:
        if self.failure is not None:
            raise self.failure
        self.appends.append(len(pages))
        return []

    def _observe(self, _results: Sequence[Finished], verdicts: Sequence[Verdict]) -> None:
        self.observed += verdicts

    async def lease_all(self) -> dict[str, list[Lease]]:
        pages = [request(number) for number in range(len(WORKERS) * EACH)]
        await self.frontier.add("job", pages)
        return {name: (await self.frontier.lease(name, EACH)).leases for name in WORKERS}

    async def recorded(self) -> list[str]:
        return sorted([page.head.url async for page in self.catalog.pages("job")])


@asynccontextmanager
async def open_bench(folder: Path) -> AsyncIterator[Bench]:
    frontier = SqliteFrontier(
        folder / "frontier.sqlite",
        clock=SystemClock(),
        default_rate=Rate(window_s=0.0, concurrency=1_000),
        backoff=BackoffPolicy(),
    )
    catalog = SqliteCatalog(folder / "catalog.sqlite")
    await frontier.open_job("job", "job", JobSpec(seeds=()), max_pages=None)
    yield Bench(frontier, catalog)
    await catalog.aclose()
    await frontier.aclose()


def request(number: int) -> Request:
    return Request(url=f"http://d{number}.test/", fingerprint=number, domain=f"d{number}.test")


def finished(lease: Lease) -> Finished:
    record = Record(
        id=f"{lease.request.fingerprint:032x}",
        appid="skitter",
        crawlid="job",
        job="job",
        url=lease.request.url,
        response_url=lease.request.url,
        redirected_from=None,
        outcome=Outcome.DONE,
        status_code=200,
        status_msg="OK",
        timestamp="2026-01-01T00:00:00Z",
        depth=0,
        parent=None,
        spider="link",
        encoding=None,
        content_type=None,
        length=0,
        digest=None,
        title=None,
        links=[],
        request_headers={},
        response_headers={},
        attrs=None,
        elapsed_ms=1,
        truncated=None,
        error=None,
    )
    completion = Completion(token=lease.token, outcome=Outcome.DONE)
    return Finished(job="job", completion=completion, page=Page.of(record))


def test_what_arrives_while_others_are_written_is_written_together(tmp_path: Path) -> None:
    async def play() -> tuple[list[list[Verdict]], Bench, list[str]]:
        async with open_bench(tmp_path) as bench:
            leases = await bench.lease_all()
            verdicts = await asyncio.gather(
                *(bench.committer.commit(w, [finished(x) for x in leases[w]]) for w in WORKERS)
            )
            return verdicts, bench, await bench.recorded()

    verdicts, bench, recorded = asyncio.run(play())
    assert verdicts == [[Verdict.ACCEPTED] * EACH] * len(WORKERS)
    assert bench.observed == [Verdict.ACCEPTED] * EACH * len(WORKERS)
    assert recorded == sorted(f"http://d{n}.test/" for n in range(len(WORKERS) * EACH))
    # The first was alone when it came; the others waited for it and went together.
    assert bench.appends == [EACH, EACH * (len(WORKERS) - 1)]


def test_in_a_group_only_the_stale_worker_is_refused(tmp_path: Path) -> None:
    async def play() -> tuple[list[list[Verdict]], list[str]]:
        async with open_bench(tmp_path) as bench:
            leases = await bench.lease_all()
            await bench.committer.reap("c")
            verdicts = await asyncio.gather(
                *(bench.committer.commit(w, [finished(x) for x in leases[w]]) for w in WORKERS)
            )
            return verdicts, await bench.recorded()

    verdicts, recorded = asyncio.run(play())
    stale = [Verdict.STALE] * EACH
    assert verdicts == [[Verdict.ACCEPTED] * EACH, [Verdict.ACCEPTED] * EACH, stale, verdicts[0]]
    assert len(recorded) == EACH * (len(WORKERS) - 1)


def test_all_of_a_group_hear_of_its_failure_and_nothing_is_completed(tmp_path: Path) -> None:
    async def play() -> tuple[list[object], int]:
        async with open_bench(tmp_path) as bench:
            leases = await bench.lease_all()
            bench.failure = StorageFullError("no space left")
            answers = await asyncio.gather(
                *(bench.committer.commit(w, [finished(x) for x in leases[w]]) for w in WORKERS),
                return_exceptions=True,
            )
            info = await bench.frontier.info("job")
            assert info is not None
            return answers, info.counts.done

    answers, done = asyncio.run(play())
    assert [type(answer) for answer in answers] == [StorageFullError] * len(WORKERS)
    assert done == 0


@pytest.mark.parametrize("turns", range(4))
def test_a_worker_that_gives_up_does_not_take_the_others_along(tmp_path: Path, turns: int) -> None:
    async def play() -> list[Verdict]:
        async with open_bench(tmp_path) as bench:
            leases = await bench.lease_all()
            first, second = (
                asyncio.create_task(bench.committer.commit(w, [finished(x) for x in leases[w]]))
                for w in "ab"
            )
            for _ in range(turns):
                await asyncio.sleep(0)
            second.cancel()
            await asyncio.wait((second,))
            assert await first == [Verdict.ACCEPTED] * EACH
            return await bench.committer.commit("c", [finished(x) for x in leases["c"]])

    assert asyncio.run(play()) == [Verdict.ACCEPTED] * EACH
