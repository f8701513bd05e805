"""A frontier on a stage: its clock is turned by the test, and it can be killed and opened again."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from skitter.clock import Clock
from skitter.frontier.base import Frontier, JobInfo
from skitter.frontier.health import Rules
from skitter.frontier.remote import RemoteFrontier, frontier_verbs
from skitter.frontier.sqlite import SqliteFrontier
from skitter.models import Completion, JobSpec, Lease, Outcome, Request, Transfer, Verdict
from skitter.politeness.backoff import BackoffPolicy
from skitter.politeness.rates import Rate
from skitter.rpc import Channel, Server
from skitter.urls.fingerprint import fingerprint

LEASE_S = 30.0
#: Eighths and halves, so that every time in these tests is exact in binary.
BACKOFF = BackoffPolicy(jitter=0.125)
RANDOM = 0.5

Result = TypeVar("Result")
Opener = Callable[[Path, Clock, Rate, Rules], Frontier]


def open_sqlite(folder: Path, clock: Clock, rate: Rate, rules: Rules) -> Frontier:
    return SqliteFrontier(
        folder / "frontier.sqlite",
        clock=clock,
        default_rate=rate,
        backoff=BACKOFF,
        rules=rules,
        lease_s=LEASE_S,
        random=lambda: RANDOM,
    )


class OverSocket:
    """A frontier reached the way worker processes reach it, its server on the same loop."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._folder = Path(tempfile.mkdtemp(prefix="skitter-"))
        self._channel: Channel | None = None

    def __getattr__(self, verb: str) -> Callable[..., Coroutine[None, None, Any]]:
        async def call(*args: object, **kwargs: object) -> Any:  # noqa: ANN401
            if self._channel is None:
                await self._connect()
            answer = await getattr(self._remote, verb)(*args, **kwargs)
            if verb == "fetched":
                await self._remote.leases()  # it is not waited for; the clock must not overtake it
            return answer

        return call

    async def _connect(self) -> None:
        self._server = Server(self._folder / "socket", frontier_verbs(self._frontier))
        await self._server.start()
        self._channel = Channel(self._folder / "socket")
        self._talking = asyncio.ensure_future(self._channel.run())
        self._remote = RemoteFrontier(self._channel)

    async def aclose(self) -> None:
        if self._channel is not None:
            self._talking.cancel()
            await self._server.aclose()
            await asyncio.wait({self._talking})
        await self._frontier.aclose()
        shutil.rmtree(self._folder, ignore_errors=True)


def open_remote(folder: Path, clock: Clock, rate: Rate, rules: Rules) -> Frontier:
    return cast("Frontier", OverSocket(open_sqlite(folder, clock, rate, rules)))


#: Every implementation; each must pass every test here.
BACKENDS: dict[str, Opener] = {"sqlite": open_sqlite, "remote": open_remote}


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

    def __init__(
        self, opener: Opener, folder: Path, rate: Rate | None = None, rules: Rules | None = None
    ) -> None:
        self.clock = TurnableClock()
        self.rate = rate or Rate()
        self.rules = rules or Rules()
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
        self._frontier = self._opener(self._life(), self.clock, self.rate, self.rules)

    def kill(self) -> None:
        """Go on from what a `kill -9` at this moment would have left on the disk."""
        dead, left = self._frontier, self._life()
        self._lives += 1
        shutil.copytree(left, self._life())
        self._runner.run(dead.aclose())
        self._frontier = self._opener(self._life(), self.clock, self.rate, self.rules)

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

    def fetched(self, worker: str, ended: Mapping[int, Transfer | float | None]) -> None:
        """Transfers have ended; a number is the age of one that says nothing about its site."""
        transfers = {
            token: end if isinstance(end, Transfer) else Transfer(age_s=end)
            for token, end in ended.items()
        }
        self._runner.run(self._frontier.fetched(worker, transfers))

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
        return self._opener(self._life(), self.clock, self.rate, self.rules)

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
