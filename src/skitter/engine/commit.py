"""The last steps of a result: catalog and outputs, then the frontier. Only for live leases.

Whoever commits holds the lock, and so does whoever takes leases away, so that a result is
either written whole or refused whole. What workers hand in while others are being written
goes into the next group together, so that many workers do not cost many commits.
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


class _Delivery(Struct, eq=False):
    """What one worker handed in, and what it is to be told."""

    worker: str
    results: Sequence[Finished]
    verdicts: asyncio.Future[list[Verdict]]


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
        self._waiting: list[_Delivery] = []

    async def commit(self, worker: str, results: Sequence[Finished]) -> list[Verdict]:
        """See `Committer.commit`."""
        verdicts: asyncio.Future[list[Verdict]] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Delivery(worker, results, verdicts))
        async with self._lock:
            # Whoever gets here first writes for all that wait; the others find it done.
            group, self._waiting = self._waiting, []
            if group:
                await self._write(group)
        return await verdicts

    async def _write(self, group: Sequence[_Delivery]) -> None:
        try:
            for job, pages in (await self._pages(group)).items():
                await self._catalog.add(job, pages, self._append)
            answers = await asyncio.gather(*(self._complete(delivery) for delivery in group))
        except asyncio.CancelledError:
            for delivery in group:
                delivery.verdicts.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - each of them raises it
            for delivery in group:
                delivery.verdicts.set_exception(error)
            return
        for delivery, verdicts in zip(group, answers, strict=True):
            delivery.verdicts.set_result(verdicts)
            self._observe(delivery.results, verdicts)

    async def _pages(self, group: Sequence[_Delivery]) -> dict[str, list[Page]]:
        """By job, the pages whose leases are held: only these are recorded."""
        pages: dict[str, list[Page]] = {}
        for delivery in group:
            tokens = [result.completion.token for result in delivery.results]
            held = await self._frontier.still_held(delivery.worker, tokens)
            for result in delivery.results:
                if result.page is not None and result.completion.token in held:
                    pages.setdefault(result.job, []).append(result.page)
        return pages

    async def _complete(self, delivery: _Delivery) -> list[Verdict]:
        completions = [result.completion for result in delivery.results]
        return await self._frontier.complete(delivery.worker, completions)

    async def reap(self, worker: str | None = None) -> int:
        """Take back leases, never in the middle of a commit."""
        async with self._lock:
            return await self._frontier.reap(worker)

    async def retain(self, worker: str, tokens: Sequence[int]) -> int:
        """Take back all but these of a worker's leases, never in the middle of a commit."""
        async with self._lock:
            return await self._frontier.retain(worker, tokens)
