"""Lets a lease through once robots.txt of its origin is known, whoever has to fetch it first."""

import asyncio
from collections.abc import Callable, Sequence

from skitter.engine.plan import JobPlan, sitemap_request
from skitter.engine.robots import RobotsAnswer, RobotsCache
from skitter.errors import InvalidURLError
from skitter.frontier.base import Frontier
from skitter.models import Lease
from skitter.urls.normalize import normalize, origin_of

__all__ = ["RobotsGate"]

Decide = Callable[[Lease, RobotsAnswer], None]


class RobotsGate:
    """Leases wait here while their origin's robots.txt is on its way; they keep their slots."""

    def __init__(self, cache: RobotsCache, frontier: Frontier, decide: Decide) -> None:
        self._cache = cache
        self._frontier = frontier
        self._decide = decide
        self._waiting: dict[str, list[Lease]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._crawl_delays: dict[str, float] = {}

    def admit(self, lease: Lease, plan: JobPlan, group: asyncio.TaskGroup) -> None:
        """Decide about a lease, now or when robots.txt has been read by a task of `group`."""
        origin = origin_of(lease.request.url)
        answer = self._cache.lookup(origin)
        if answer is not None:
            self._decide(lease, answer)
        elif origin in self._waiting:
            self._waiting[origin].append(lease)
        else:
            self._waiting[origin] = [lease]
            task = group.create_task(self._load(origin, lease, plan))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def crawl_delay_s(self, domain: str) -> float:
        """What the strictest host of a domain asks for, as far as it was read here."""
        return self._crawl_delays.get(domain, 0.0)

    def clear(self) -> None:
        """Forget the leases that wait."""
        for task in self._tasks:
            task.cancel()
        self._waiting.clear()

    async def _load(self, origin: str, lease: Lease, plan: JobPlan) -> None:
        answer = await self._cache.load(origin, plan.headers_for)
        rules = answer.rules
        if rules is not None:
            await self._note_crawl_delay(lease.request.domain, rules.crawl_delay_s)
            if plan.spec.sitemaps and rules.sitemaps and origin in plan.seed_origins:
                await self._add_sitemaps(plan.name, lease.request.url, rules.sitemaps)
        for waiting in self._waiting.pop(origin):
            self._decide(waiting, answer)

    async def _note_crawl_delay(self, domain: str, delay_s: float | None) -> None:
        """Known to the frontier before the first page is asked for."""
        if delay_s is not None and delay_s > self.crawl_delay_s(domain):
            self._crawl_delays[domain] = delay_s
            await self._frontier.set_crawl_delay(domain, delay_s)

    async def _add_sitemaps(self, job: str, base: str, sitemaps: Sequence[str]) -> None:
        requests = []
        for sitemap in sitemaps:
            try:
                requests.append(sitemap_request(normalize(sitemap, base)))
            except InvalidURLError:
                continue
        await self._frontier.add(job, requests)
