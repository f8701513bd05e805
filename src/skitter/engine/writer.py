"""Makes results durable in groups: store, then catalog and outputs, then frontier.

A crash between two of the steps repeats work: what is stored but not in the catalog is never
looked at, what is in the catalog is not added twice, and what the frontier was not told is
leased again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from skitter.catalog.base import Page
from skitter.engine.commit import Committer, Finished
from skitter.engine.page import Processed
from skitter.models import Completion, Location, Verdict
from skitter.store.base import Store

__all__ = ["Result", "Writer"]

#: So many results are written without waiting for more.
_GROUP_RESULTS = 512
_GROUP_BYTES = 16 * 1024 * 1024
#: How long a group may grow while the worker wants its links.
_STARVED_INTERVAL_S = 0.02
#: Above this the worker takes no new leases until a group has been written.
_FULL_BYTES = 64 * 1024 * 1024


class Result(Struct, frozen=True, kw_only=True, gc=False):
    """What became of a lease. `page` is None when it will be tried again."""

    job: str
    job_id: str
    completion: Completion
    page: Processed | None = None


class Writer:
    """Collects results and writes them. `run` is its task; it ends after `close`."""

    def __init__(
        self,
        worker: str,
        *,
        committer: Committer,
        store: Store,
        keeps_body: bool,
        interval_s: float,
        settle: Callable[[], Awaitable[None]],
        written: Callable[[Sequence[Result], Sequence[Verdict]], None],
    ) -> None:
        self._worker = worker
        self._committer = committer
        self._store = store
        #: Whether output files want bodies; they are dear to carry around.
        self._keeps_body = keeps_body
        self._longest_s = self._interval_s = interval_s
        #: Ends when the frontier knows how the transfers of all results went. A completed lease
        #: frees its domain: before that, the next request could come too soon.
        self._settle = settle
        self._written = written
        self._waiting: list[Result] = []
        self._waiting_bytes = 0
        self._arrived = asyncio.Event()
        self._enough = asyncio.Event()
        self._closing = False

    def fullness(self) -> float:
        """Share of the memory for results that is taken; at 1 no more should come."""
        return self._waiting_bytes / _FULL_BYTES

    def put(self, result: Result) -> None:
        """Add a result to the next group."""
        self._waiting.append(result)
        if result.page is not None:
            self._waiting_bytes += len(result.page.body)
        self._arrived.set()
        if len(self._waiting) >= _GROUP_RESULTS or self._waiting_bytes >= _GROUP_BYTES:
            self._enough.set()

    def pace(self, *, starved: bool, idle: bool) -> None:
        """Say how urgent the next group is.

        Starved: the worker could do more than it is given, so the links that wait here are
        wanted soon. Idle: it does nothing at all until they are written.
        """
        self._interval_s = min(_STARVED_INTERVAL_S, self._longest_s) if starved else self._longest_s
        if starved and idle:
            self._enough.set()

    def close(self) -> None:
        """Write what is there, then end."""
        self._closing = True
        self._arrived.set()
        self._enough.set()

    async def run(self) -> None:
        """Write groups until closed and empty."""
        while True:
            await self._arrived.wait()
            if not self._waiting and self._closing:
                return
            await self._gather()
            group, self._waiting = self._waiting, []
            self._waiting_bytes = 0
            self._arrived.clear()
            if self._closing:
                self._arrived.set()
            if group:
                await self._write(group)

    async def _gather(self) -> None:
        """Let a group grow, unless it is large enough or somebody is waiting for it."""
        if not self._closing:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._interval_s):
                    await self._enough.wait()
        self._enough.clear()

    async def _write(self, group: list[Result]) -> None:
        locations = await self._store_pages(group)
        finished = [
            Finished(
                job=result.job,
                completion=result.completion,
                page=Page.of(page.record, location, page.body if self._keeps_body else b"")
                if (page := result.page) is not None
                else None,
            )
            for result, location in zip(group, locations, strict=True)
        ]
        await self._settle()
        verdicts = await self._committer.commit(self._worker, finished)
        self._written(group, verdicts)

    async def _store_pages(self, group: list[Result]) -> list[Location | None]:
        """Bodies into the store; where each is, None for a result without a page."""
        by_job: dict[str, list[int]] = {}
        for index, result in enumerate(group):
            if result.page is not None:
                by_job.setdefault(result.job_id, []).append(index)
        locations: list[Location | None] = [None] * len(group)
        for job_id, indexes in by_job.items():
            pages = [page.stored for i in indexes if (page := group[i].page) is not None]
            for index, location in zip(
                indexes, await self._store.append(job_id, pages), strict=True
            ):
                locations[index] = location
        return locations
