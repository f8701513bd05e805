"""A result is handed in after the frontier has heard how its transfer went."""

import asyncio
from pathlib import Path

from skitter.catalog.sqlite import SqliteCatalog
from skitter.engine.commit import LocalCommitter
from skitter.engine.writer import Result, Writer
from skitter.frontier.sqlite import SqliteFrontier
from skitter.models import Completion, JobSpec, Outcome, Request, Transfer
from skitter.politeness.backoff import BackoffPolicy
from skitter.politeness.rates import Rate
from skitter.store.segments import SegmentStore

DELAY_S = 1.0
#: A lease becomes a request so much later: a connect, a busy processor.
LATER_S = 0.3


class Clock:
    """Turned by the test."""

    now = 100.0

    def time(self) -> float:
        return 1_000_000.0 + self.now

    def monotonic(self) -> float:
        return self.now


def requests() -> list[Request]:
    return [
        Request(url=f"http://a.test/{number}", fingerprint=number, domain="a.test")
        for number in range(2)
    ]


async def next_due_at(folder: Path) -> float:
    """When another worker may ask the domain again, after the result of the first was written."""
    clock = Clock()
    frontier = SqliteFrontier(
        folder / "frontier.sqlite",
        clock=clock,
        default_rate=Rate.of_delay(DELAY_S),
        backoff=BackoffPolicy(),
    )
    catalog = SqliteCatalog(folder / "catalog.sqlite")
    store = SegmentStore(folder / "segments", clock=clock, software="test", segment_bytes=1 << 20)
    await frontier.open_job("job", "job", JobSpec(seeds=()), max_pages=None)
    await frontier.add("job", requests())
    (lease,) = (await frontier.lease("a", 1)).leases
    clock.now += LATER_S

    async def settle() -> None:
        await asyncio.sleep(0)  # as over a socket: not at once
        await frontier.fetched("a", {lease.token: Transfer(age_s=0.0)})

    writer = Writer(
        "a",
        committer=LocalCommitter(frontier, catalog, lambda _pages: [], lambda *_: None),
        store=store,
        keeps_body=False,
        interval_s=0.0,
        settle=settle,
        written=lambda *_: writer.close(),
    )
    completion = Completion(token=lease.token, outcome=Outcome.RETRY, after_s=60.0)
    writer.put(Result(job="job", job_id="job", completion=completion))
    await writer.run()
    due_s = (await frontier.lease("b", 1)).next_due_s
    await store.aclose()
    await catalog.aclose()
    await frontier.aclose()
    assert due_s is not None
    return clock.now + due_s


def test_the_next_holder_of_a_domain_keeps_its_distance_from_the_send(tmp_path: Path) -> None:
    assert asyncio.run(next_due_at(tmp_path)) == 100.0 + LATER_S + DELAY_S
