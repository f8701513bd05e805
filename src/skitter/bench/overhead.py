"""What coordination costs beside the work itself: leases, checkpoints and heartbeats.

`skitter bench` and `python -m skitter.bench.overhead` run workers whose items take 100 ms of
doing nothing, so all that is left to see is the frontier. Each worker asks as a crawling one
does: it leases, says that the transfer has ended, hands the completion to a group commit, and
beats every 10 s.
"""

import asyncio
import resource
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec

from skitter.bench.report import OverheadFigures
from skitter.clock import Clock, SystemClock
from skitter.frontier.base import Frontier
from skitter.frontier.sqlite import SqliteFrontier
from skitter.models import Completion, JobSpec, Outcome, Request, Transfer
from skitter.politeness.backoff import BackoffPolicy
from skitter.politeness.rates import Rate
from skitter.urls.fingerprint import fingerprint

__all__ = ["drive", "measure_overhead"]

_GROUP_S = 0.25
_HEARTBEAT_S = 10.0
_LINKS = 10
_FREE = Rate(window_s=0.0, concurrency=1_000_000)


class _Run:
    """What the workers of one run share."""

    def __init__(self, frontier: Frontier, clock: Clock, item_s: float, pages: list[Request]):
        self.frontier = frontier
        self.clock = clock
        self.item_s = item_s
        self.pages = pages
        self.left = len(pages)
        self.waited_s = 0.0

    def completion(self, token: int) -> Completion:
        """A page with links, all of them met before."""
        links = tuple(self.pages[(token + n) % len(self.pages)] for n in range(_LINKS))
        return Completion(token=token, outcome=Outcome.DONE, links=links)


def measure_overhead(
    workers: int = 25, item_s: float = 0.1, items: int = 5_000, folder: Path | None = None
) -> OverheadFigures:
    """Run `items` items on `workers` workers over the embedded frontier."""
    with tempfile.TemporaryDirectory() as made:
        return asyncio.run(_measure(workers, item_s, items, folder or Path(made)))


async def _measure(workers: int, item_s: float, items: int, folder: Path) -> OverheadFigures:
    clock = SystemClock()
    frontier = SqliteFrontier(
        folder / "frontier.sqlite", clock=clock, default_rate=_FREE, backoff=BackoffPolicy()
    )
    await frontier.open_job("job", "job", JobSpec(seeds=("http://d0.test/",)), max_pages=None)
    try:
        return await drive(frontier, clock, workers=workers, item_s=item_s, items=items)
    finally:
        await frontier.aclose()


async def drive(
    frontier: Frontier, clock: Clock, *, workers: int, item_s: float, items: int
) -> OverheadFigures:
    """Let workers do `items` items of the open job `job`, whatever frontier it is."""
    run = _Run(frontier, clock, item_s, [_request(n) for n in range(items)])
    await frontier.add("job", run.pages)
    idle_cpu_s = await _idle_cpu_s(workers, item_s, items)
    began_s = _cpu_s()
    async with asyncio.TaskGroup() as group:
        for number in range(workers):
            group.create_task(_work(run, f"worker-{number}"))
    cpu_s = max(0.0, _cpu_s() - began_s - idle_cpu_s)
    info = await frontier.info("job")
    return OverheadFigures(
        workers=workers,
        item_s=item_s,
        items=info.counts.done if info else 0,
        cpu_s_per_item=cpu_s / items,
        wait_s_per_item=run.waited_s / items,
        cpu_share=cpu_s / items / item_s,
        wait_share=run.waited_s / items / item_s,
    )


async def _work(run: _Run, name: str) -> None:
    done: list[Completion] = []
    ended = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(_commit(run.frontier, name, done, ended))
        heartbeat = group.create_task(_beat(run.frontier, name))
        while run.left > 0:
            run.left -= 1
            asked_s = run.clock.monotonic()
            (lease,) = (await run.frontier.lease(name, 1)).leases
            run.waited_s += run.clock.monotonic() - asked_s
            await asyncio.sleep(run.item_s)
            asked_s = run.clock.monotonic()
            await run.frontier.fetched(name, {lease.token: Transfer(age_s=run.item_s)})
            run.waited_s += run.clock.monotonic() - asked_s
            done.append(run.completion(lease.token))
        ended.set()
        heartbeat.cancel()


async def _commit(
    frontier: Frontier, name: str, done: list[Completion], ended: asyncio.Event
) -> None:
    while done or not ended.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(_GROUP_S):
                await ended.wait()
        group = done[:]
        done.clear()
        if group:
            await frontier.complete(name, group)


async def _beat(frontier: Frontier, name: str) -> None:
    while True:
        await frontier.extend(name)
        await asyncio.sleep(_HEARTBEAT_S)


async def _idle_cpu_s(workers: int, item_s: float, items: int) -> float:
    """What so many sleeps cost by themselves."""
    began_s = _cpu_s()

    async def rest() -> None:
        for _ in range(items // workers):
            await asyncio.sleep(item_s)

    await asyncio.gather(*(rest() for _ in range(workers)))
    return _cpu_s() - began_s


def _request(number: int) -> Request:
    domain = f"d{number % 1_000}.test"
    url = f"http://{domain}/{number}.html"
    return Request(url=url, fingerprint=fingerprint(url), domain=domain)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    _figures = msgspec.json.encode(measure_overhead())
    sys.stdout.buffer.write(msgspec.json.format(_figures, indent=2) + b"\n")
