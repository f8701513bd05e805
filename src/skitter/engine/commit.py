"""The last steps of a result: catalog and outputs, then the frontier. Only for live leases.

Whoever commits holds the lock, and so does whoever takes leases away, so that a result is
either written whole or refused whole.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from skitter.catalog.base import Append, Catalog, Page
from skitter.frontier.base import Frontier
from skitter.models import Completion, Verdict
from skitter.rpc import Channel

__all__ = ["Committer", "Finished", "LocalCommitter", "RemoteCommitter"]


class Finished(Struct, frozen=True, kw_only=True, gc=False):
    """What became of a lease, its body stored. `page` is None when it will be tried again."""

    job: str
    completion: Completion
    page: Page | None = None


class Committer(Protocol):
    """Where a worker hands in its results."""

    async def commit(self, worker: str, results: Sequence[Finished]) -> list[Verdict]:
        """Make results count; those of leases the worker no longer holds are refused."""
        ...


class RemoteCommitter:
    """Hands results to the coordinator."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def commit(self, worker: str, results: Sequence[Finished]) -> list[Verdict]:
        """See `Committer.commit`. Asked twice, it finds the leases ended: that is fine."""
        return await self._channel.call("commit", (worker, results), list[Verdict])


class LocalCommitter:
    """Commits to a catalog and a frontier of this process."""

    def __init__(
        self,
        frontier: Frontier,
        catalog: Catalog,
        append: Append,
        observe: Callable[[Sequence[Finished], Sequence[Verdict]], None],
    ) -> None:
        self._frontier = frontier
        self._catalog = catalog
        self._append = append
        self._observe = observe
        self._lock = asyncio.Lock()

    async def commit(self, worker: str, results: Sequence[Finished]) -> list[Verdict]:
        """See `Committer.commit`."""
        async with self._lock:
            tokens = [result.completion.token for result in results]
            held = await self._frontier.still_held(worker, tokens)
            pages: dict[str, list[Page]] = {}
            for result in results:
                if result.page is not None and result.completion.token in held:
                    pages.setdefault(result.job, []).append(result.page)
            for job, of_job in pages.items():
                await self._catalog.add(job, of_job, self._append)
            completions = [result.completion for result in results]
            verdicts = await self._frontier.complete(worker, completions)
        self._observe(results, verdicts)
        return verdicts

    async def reap(self, worker: str | None = None) -> int:
        """Take back leases, never in the middle of a commit."""
        async with self._lock:
            return await self._frontier.reap(worker)

    async def retain(self, worker: str, tokens: Sequence[int]) -> int:
        """Take back all but these of a worker's leases, never in the middle of a commit."""
        async with self._lock:
            return await self._frontier.retain(worker, tokens)
