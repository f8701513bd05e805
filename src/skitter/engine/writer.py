"""Makes results durable in groups: store, then catalog and outputs, then frontier.

A crash between two of the steps repeats work: what is stored but not in the catalog is never
looked at, what is in the catalog is not added twice, and what the frontier was not told is
leased again.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from skitter.catalog.base import Append, Catalog
from skitter.engine.page import Processed, catalog_page
from skitter.frontier.base import Frontier
from skitter.models import Completion
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
        frontier: Frontier,
        catalog: Catalog,
        store: Store,
        append: Append,
        interval_s: float,
        written: Callable[[Sequence[Result]], None],
    ) -> None:
        self._worker = worker
        self._frontier = frontier
        self._catalog = catalog
        self._store = store
        self._append = append
        self._longest_s = self._interval_s = interval_s
        self._written = written
        self._waiting: list[Result] = []
        self._waiting_bytes = 0
        self._arrived = asyncio.Event()
        self._enough = asyncio.Event()
        self._closing = False

    @property
    def is_full(self) -> bool:
        """True while more results would cost too much memory."""
        return self._waiting_bytes >= _FULL_BYTES

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
        by_job: dict[str, list[Result]] = {}
        for result in group:
            if result.page is not None:
                by_job.setdefault(result.job, []).append(result)
        for job, results in by_job.items():
            await self._write_pages(job, results)
        await self._frontier.complete(self._worker, [result.completion for result in group])
        self._written(group)

    async def _write_pages(self, job: str, results: list[Result]) -> None:
        pages = [result.page for result in results if result.page is not None]
        locations = await self._store.append(results[0].job_id, [page.stored for page in pages])
        rows = [
            replace(catalog_page(page), location=location)
            for page, location in zip(pages, locations, strict=True)
        ]
        await self._catalog.add(job, rows, self._append)
