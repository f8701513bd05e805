"""The process that owns frontier and catalog, and answers the workers.

It holds nothing that is not on the disk, except who is waiting for work: killed and started
again, it goes on where it was, and the workers, which keep their leases, with it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from skitter.clock import Clock
from skitter.engine.commit import Finished, LocalCommitter
from skitter.engine.crawl import is_finished
from skitter.engine.desk import DomainDesk
from skitter.engine.progress import Progress, Snapshot
from skitter.engine.pulse import Pulse
from skitter.engine.robots import RobotsCopy
from skitter.frontier.base import AddResult, Frontier
from skitter.models import (
    NO_STRAIN,
    Grant,
    Lease,
    Outcome,
    Request,
    Strain,
    Transfer,
    Verdict,
)
from skitter.rpc import Channel, Connection, Server, Verb, verb

__all__ = ["Coordinator", "RemoteRobots", "WorkerReport"]

#: A worker that is woken this early waits the rest itself.
_SOON_S = 1.0
#: A worker that has not delivered a robots.txt by then is not waited for.
_LOADER_S = 60.0
#: Copies of robots.txt kept.
_MAX_ORIGINS = 100_000
#: How often leases past their deadline are looked for.
_REAP_S = 1.0
#: A coordinator that is so much late itself has not listened; who was silent is not known.
_DEAF_S = 0.5


class WorkerReport(Struct, frozen=True, kw_only=True):
    """A worker as the coordinator knows it."""

    name: str
    #: Seconds since its last heartbeat; None: it has not been heard yet.
    heard_s: float | None
    leases: list[Lease]
    done: int
    failed: int
    #: Results that came too late: their leases had ended.
    refused: int = 0


class _Tally(Struct):
    """What a worker has committed."""

    done: int = 0
    failed: int = 0
    refused: int = 0


class RemoteRobots:
    """A worker's view of the shared copies."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def robots(self, worker: str, origin: str) -> RobotsCopy | None:
        """See `SharedRobots.robots`."""
        kind = RobotsCopy | None
        return await self._channel.call("robots", (worker, origin), kind)  # type: ignore[arg-type]

    async def publish_robots(self, origin: str, copy: RobotsCopy) -> RobotsCopy:
        """See `SharedRobots.publish_robots`."""
        return await self._channel.call("publish_robots", (origin, copy), RobotsCopy)


class Coordinator:
    """Serves one job's workers on a Unix socket."""

    def __init__(
        self,
        job: str,
        *,
        frontier: Frontier,
        committer: LocalCommitter,
        progress: Progress,
        verbs: Mapping[str, Verb],
        socket: Path,
        clock: Clock,
        pulse: Pulse,
    ) -> None:
        self._job = job
        self._frontier = frontier
        self._committer = committer
        self._progress = progress
        self._clock = clock
        self._hungry: set[Connection] = set()
        self._heard: dict[str, float] = {}
        self._pulse = pulse
        #: Worker -> the time-out it goes by.
        self._obeyed_s: dict[str, float] = {}
        self._tallies: dict[str, _Tally] = {}
        #: Worker -> what it was short of when it last asked.
        self._strains: dict[str, Strain] = {}
        self._changed = asyncio.Event()
        #: Origin -> copy and when it is stale; origin -> who is fetching it.
        self._robots: dict[str, tuple[RobotsCopy, float]] = {}
        self._loaders: dict[str, tuple[str, asyncio.Event]] = {}
        own = {
            name: verb(getattr(self, name))
            for name in (
                *("fetched", "add", "commit", "extend", "reap", "retain", "reports"),
                *("snapshot", "finished", "robots", "publish_robots", "pulse", "set_pulse"),
            )
        }
        desk = DomainDesk(frontier, self._wake_all).verbs()
        self._server = Server(
            socket, {**verbs, **own, **desk, "lease": verb(self.lease, wants_connection=True)}
        )

    async def run(self) -> None:
        """Serve until cancelled."""
        await self._server.start()
        try:
            while True:
                due_at = self._clock.monotonic() + _REAP_S
                await asyncio.sleep(_REAP_S)
                if self._clock.monotonic() - due_at > _DEAF_S:
                    for worker in list(self._heard):
                        await self.extend(worker)
                await self.reap(None)
                for worker, heard_at in self._heard.items():
                    if self._clock.monotonic() - heard_at > self._pulse.timeout_s:
                        self._release_loaders(worker)
                await self._feed()
        finally:
            await self._server.aclose()

    def _wake_all(self) -> None:
        """Something changed that concerns everybody: let all ask."""
        for connection in self._server.connections:
            connection.push("wake")

    # Verbs of the frontier, with what the coordinator adds to them

    async def lease(
        self, connection: Connection, worker: str, limit: int, strain: Strain = NO_STRAIN
    ) -> Grant:
        """Lease; who gets less than asked for is told when there is more."""
        self._strains[worker] = strain
        grant = await self._frontier.lease(worker, limit, strain)
        if len(grant.leases) < limit:
            self._hungry.add(connection)
        return grant

    async def fetched(self, worker: str, transfers: Mapping[int, Transfer]) -> None:
        """Slots are free again."""
        await self._frontier.fetched(worker, transfers)
        await self._feed()

    async def add(self, job: str, requests: Sequence[Request]) -> AddResult:
        """More to do."""
        result = await self._frontier.add(job, requests)
        await self._feed()
        return result

    async def commit(self, worker: str, results: Sequence[Finished]) -> list[Verdict]:
        """Results of a worker."""
        verdicts = await self._committer.commit(worker, results)
        tally = self._tallies.setdefault(worker, _Tally())
        for result, verdict in zip(results, verdicts, strict=True):
            tally.refused += verdict is Verdict.STALE
            if result.page is not None and verdict is Verdict.ACCEPTED:
                tally.done += result.completion.outcome is Outcome.DONE
                tally.failed += result.completion.outcome is Outcome.FAILED
        self._changed.set()
        await self._feed()
        return verdicts

    async def extend(self, worker: str) -> None:
        """A heartbeat."""
        self._heard[worker] = self._clock.monotonic()
        await self._frontier.extend(worker)

    async def reap(self, worker: str | None = None) -> int:
        """Take back leases of the dead."""
        if worker is not None:
            self._heard.pop(worker, None)
            self._strains.pop(worker, None)
            self._release_loaders(worker)
            if self._obeyed_s.pop(worker, None) is not None:
                await self._settle_leases()
        lost = await self._committer.reap(worker)
        if lost:
            await self._feed()
        return lost

    async def retain(self, worker: str, tokens: Sequence[int]) -> int:
        """A worker is back and says what it has: no robots.txt, whatever it was fetching."""
        self._release_loaders(worker)
        self._heard[worker] = self._clock.monotonic()
        await self._frontier.extend(worker)
        return await self._committer.retain(worker, tokens)

    # Heartbeat and time-out, which may change

    async def pulse(self, worker: str, timeout_s: float) -> Pulse:
        """A worker says which time-out it goes by, and is told which it should."""
        self._obeyed_s[worker] = timeout_s
        await self._settle_leases()
        return self._pulse

    async def set_pulse(self, pulse: Pulse) -> None:
        """Go by this from now on; the workers hear of it at once."""
        self._pulse = pulse
        await self._settle_leases()
        for connection in self._server.connections:
            connection.push("pulse")

    async def _settle_leases(self) -> None:
        """A lease lasts as long as its holder believes, so the most patient one decides.

        One that never learns of a shorter time-out is killed by the supervisor, which knows it.
        """
        await self._frontier.set_lease(max(self._pulse.timeout_s, *self._obeyed_s.values(), 0.0))

    # robots.txt: one worker fetches it, the others wait for its copy

    async def robots(self, worker: str, origin: str) -> RobotsCopy | None:
        """See `SharedRobots.robots`."""
        copy, loader = self._robots.get(origin), self._loaders.get(origin)
        if copy is not None and copy[1] > self._clock.monotonic():
            return replace(copy[0], fresh_s=copy[1] - self._clock.monotonic())
        if loader is None:
            self._loaders[origin] = (worker, asyncio.Event())
            return None
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOADER_S):
                await loader[1].wait()
        if self._loaders.get(origin) is loader:
            del self._loaders[origin]
        return await self.robots(worker, origin)

    async def publish_robots(self, origin: str, copy: RobotsCopy) -> RobotsCopy:
        """See `SharedRobots.publish_robots`."""
        old = self._robots.get(origin)
        if copy.status_code is None and old is not None and old[0].status_code is not None:
            copy = replace(old[0], fresh_s=copy.fresh_s)
        while len(self._robots) >= _MAX_ORIGINS:
            del self._robots[next(iter(self._robots))]
        self._robots[origin] = (copy, self._clock.monotonic() + copy.fresh_s)
        loader = self._loaders.pop(origin, None)
        if loader is not None:
            loader[1].set()
        return copy

    def _release_loaders(self, worker: str) -> None:
        """Whoever waits for a dead worker's copy fetches it itself."""
        for origin, (name, loaded) in list(self._loaders.items()):
            if name == worker:
                del self._loaders[origin]
                loaded.set()

    # Verbs for the supervisor

    async def reports(self) -> list[WorkerReport]:
        """Every worker that holds something or was heard."""
        leases = await self._frontier.leases()
        now = self._clock.monotonic()
        return [
            WorkerReport(
                name=name,
                heard_s=now - self._heard[name] if name in self._heard else None,
                leases=leases.get(name, []),
                done=tally.done,
                failed=tally.failed,
                refused=tally.refused,
            )
            for name in sorted({*leases, *self._heard})
            for tally in [self._tallies.get(name, _Tally())]
        ]

    async def snapshot(self) -> Snapshot | None:
        """The crawl as it is now."""
        worst = max(self._strains.values(), key=lambda strain: strain.step, default=NO_STRAIN)
        return await self._progress.snapshot(self._frontier, strain=worst)

    async def finished(self) -> bool:
        """Answers when nothing is left to do."""
        while True:
            info = await self._frontier.info(self._job)
            if info is None or is_finished(info):
                return True
            self._changed.clear()
            await self._changed.wait()

    async def _feed(self) -> None:
        """Wake the workers that wanted more, as soon as something is due."""
        if not self._hungry:
            return
        due_s = (await self._frontier.lease("", 0)).next_due_s
        if due_s is not None and due_s <= _SOON_S:
            hungry, self._hungry = self._hungry, set()
            for connection in hungry:
                connection.push("wake")
