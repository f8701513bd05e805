"""A frontier on a stage: its clock is turned by the test, and it can be killed and opened again."""

import asyncio
import shutil
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from skitter.clock import Clock
from skitter.frontier.base import Frontier, JobInfo
from skitter.frontier.sqlite import SqliteFrontier
from skitter.models import Completion, JobSpec, Lease, Outcome, Request, Verdict
from skitter.politeness.backoff import BackoffPolicy
from skitter.politeness.rates import Rate
from skitter.urls.fingerprint import fingerprint

LEASE_S = 30.0
#: Eighths and halves, so that every time in these tests is exact in binary.
BACKOFF = BackoffPolicy(jitter=0.125)
RANDOM = 0.5

Result = TypeVar("Result")
Opener = Callable[[Path, Clock, Rate], Frontier]


def open_sqlite(folder: Path, clock: Clock, rate: Rate) -> Frontier:
    return SqliteFrontier(
        folder / "frontier.sqlite",
        clock=clock,
        default_rate=rate,
        backoff=BACKOFF,
        lease_s=LEASE_S,
        random=lambda: RANDOM,
    )


#: Every implementation that owns its storage; each must pass every test here.
BACKENDS: dict[str, Opener] = {"sqlite": open_sqlite}


class TurnableClock:
    """Stands still until it is turned."""

    def __init__(self) -> None:
        self._passed_s = 0.0

    def turn(self, seconds: float) -> None:
        self._passed_s += seconds

    def time(self) -> float:
        return 1_700_000_000.0 + self._passed_s

    def monotonic(self) -> float:
        return 5_000.0 + self._passed_s


class Stage:
    """The frontier's verbs as plain calls, and the few things tests do with them over and over."""

    def __init__(self, opener: Opener, folder: Path, rate: Rate | None = None) -> None:
        self.clock = TurnableClock()
        self.rate = rate or Rate()
        self._opener = opener
        self._folder = folder
        self._lives = 0
        self._runner = asyncio.Runner()
        self._frontier = self._open()

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        method = getattr(self._frontier, verb)
        return lambda *args, **kwargs: self._runner.run(method(*args, **kwargs))

    def run(self, play: Callable[[Frontier], Coroutine[None, None, Result]]) -> Result:
        """For tests that need verbs to overlap."""
        return self._runner.run(play(self._frontier))

    def reopen(self) -> None:
        """Close properly and open again."""
        self._runner.run(self._frontier.aclose())
        self._frontier = self._opener(self._life(), self.clock, self.rate)

    def kill(self) -> None:
        """Go on from what a `kill -9` at this moment would have left on the disk."""
        dead, left = self._frontier, self._life()
        self._lives += 1
        shutil.copytree(left, self._life())
        self._runner.run(dead.aclose())
        self._frontier = self._opener(self._life(), self.clock, self.rate)

    def close(self) -> None:
        self._runner.run(self._frontier.aclose())
        self._runner.close()

    def job(self, name: str = "job", *, max_pages: int | None = None) -> JobInfo:
        spec = JobSpec(seeds=("http://a.test/",))
        return self.open_job(name, f"id-of-{name}", spec, max_pages=max_pages)

    def lease_urls(self, limit: int = 100, worker: str = "w") -> list[str]:
        return [lease.request.url for lease in self.lease(worker, limit).leases]

    def lease_one(self, worker: str = "w") -> Lease:
        (lease,) = self.lease(worker, 1).leases
        return lease

    def end(
        self, lease: Lease, outcome: Outcome = Outcome.DONE, worker: str = "w", **fields: object
    ) -> Verdict:
        completion = Completion(token=lease.token, outcome=outcome, **fields)
        (verdict,) = self.complete(worker, [completion])
        return verdict

    def drain(self, limit: int = 100, worker: str = "w") -> list[str]:
        """Lease and end everything that time alone brings, in the order it came."""
        urls = []
        while True:
            grant = self.lease(worker, limit)
            for lease in grant.leases:
                urls.append(lease.request.url)
                self.fetched(worker, {lease.token: 0.0})
            self.complete(
                worker, [Completion(token=x.token, outcome=Outcome.DONE) for x in grant.leases]
            )
            if not grant.leases and grant.next_due_s is None:
                return urls
            self.clock.turn(grant.next_due_s or 0.0)

    def _open(self) -> Frontier:
        self._life().mkdir(parents=True)
        return self._opener(self._life(), self.clock, self.rate)

    def _life(self) -> Path:
        return self._folder / str(self._lives)


def page(path: object, domain: str = "a.test", **fields: object) -> Request:
    url = f"http://{domain}/{path}"
    return Request(url=url, fingerprint=fingerprint(url), domain=domain, **fields)


def add_up(info: JobInfo) -> bool:
    """What must hold of every job's counters at every moment."""
    counts = info.counts
    return (
        counts.accepted == counts.terminal + counts.leased + counts.queued
        and min(counts.leased, counts.queued) >= 0
    )
