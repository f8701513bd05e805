"""Running a job with one worker inside this process; see `fleet` for many processes."""

import asyncio
from pathlib import Path
from typing import Protocol

from skitter.engine.crawl import is_finished
from skitter.engine.desk import DomainDesk, open_desk
from skitter.engine.progress import Progress, Snapshot
from skitter.engine.worker import Worker
from skitter.frontier.base import Frontier

__all__ = ["DRAIN_S", "Run", "SoloRun"]

#: In-flight requests get this long after the first interrupt; two seconds are left of the ten
#: within which a crawl is out.
DRAIN_S = 8.0


class Run(Protocol):
    """A job being crawled."""

    async def run(self) -> None:
        """Until nothing is left to do, or the run is interrupted and has wound down."""
        ...

    def interrupt(self) -> None:
        """First call: finish what is in flight. Second: stop at once."""
        ...

    async def snapshot(self) -> Snapshot | None:
        """The crawl as it is now; None: it cannot be told."""
        ...


class SoloRun:
    """One worker, and the frontier, in this process."""

    def __init__(
        self,
        job: str,
        *,
        frontier: Frontier,
        worker: Worker,
        progress: Progress,
        socket: Path | None = None,
    ) -> None:
        self._job = job
        #: Where `skitter domains` reaches it.
        self._socket = socket
        self._frontier = frontier
        self._worker = worker
        self._progress = progress
        self._interrupted = False
        self._written = asyncio.Event()
        worker.on_written = self._written.set

    async def run(self) -> None:
        """See `Run.run`."""
        desk = DomainDesk(self._frontier, self._worker.wake)
        async with open_desk(desk, self._socket), asyncio.TaskGroup() as group:
            watch = group.create_task(self._watch())
            await self._worker.run()
            watch.cancel()
        await self._worker.aclose()

    def interrupt(self) -> None:
        """See `Run.interrupt`."""
        if self._interrupted:
            self._worker.abort()
            return
        self._interrupted = True
        self._worker.drain()
        asyncio.get_running_loop().call_later(DRAIN_S, self._worker.abort)

    async def snapshot(self) -> Snapshot | None:
        """See `Run.snapshot`."""
        worker = self._worker
        return await self._progress.snapshot(self._frontier, worker.in_flight, worker.strain)

    async def _watch(self) -> None:
        """Drain the worker once nothing is left to do."""
        while True:
            info = await self._frontier.info(self._job)
            if info is None or is_finished(info):
                self._worker.drain()
                return
            await self._written.wait()
            self._written.clear()
