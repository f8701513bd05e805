"""Lets a lease through once robots.txt of its origin is known, whoever has to fetch it first."""

import asyncio
from collections.abc import Callable, Iterable

from skitter.engine.plan import JobPlan, sitemap_of, sitemap_request
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
        #: Job and origin whose sitemaps are in the frontier.
        self._mapped: set[tuple[str, str]] = set()

    def admit(self, lease: Lease, plan: JobPlan, group: asyncio.TaskGroup) -> None:
        """Decide about a lease, now or when robots.txt has been read by a task of `group`."""
        origin = origin_of(lease.request.url)
        answer = self._cache.lookup(origin)
        if answer is not None and not (plan.spec.sitemaps and self._owes_sitemaps(plan, origin)):
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
        answer = self._cache.lookup(origin) or await self._cache.load(
            origin, plan.headers_for, lease.identity
        )
        rules = answer.rules
        if rules is not None:
            if answer.too_slow:
                await self._forget_crawl_delay(lease, rules.crawl_delay_s or 0.0)
            else:
                await self._note_crawl_delay(lease.request.domain, rules.crawl_delay_s)
            if plan.spec.sitemaps and self._owes_sitemaps(plan, origin):
                await self._add_sitemaps(plan.name, origin, rules.sitemaps)
        for waiting in self._waiting.pop(origin):
            self._decide(waiting, answer)

    async def _note_crawl_delay(self, domain: str, delay_s: float | None) -> None:
        """Known to the frontier before the first page is asked for."""
        if delay_s is not None and delay_s > self.crawl_delay_s(domain):
            self._crawl_delays[domain] = delay_s
            await self._frontier.set_crawl_delay(domain, delay_s)

    async def _forget_crawl_delay(self, lease: Lease, delay_s: float) -> None:
        """A run that accepted the delay may have left it: dropping need not take that long."""
        domain = lease.request.domain
        if lease.pace_s >= delay_s:
            await self._frontier.set_crawl_delay(domain, None)
            await self._frontier.set_crawl_delay(domain, self._crawl_delays.get(domain))

    def _owes_sitemaps(self, plan: JobPlan, origin: str) -> bool:
        return (plan.name, origin) not in self._mapped and origin in plan.seed_origins

    async def _add_sitemaps(self, job: str, origin: str, named: Iterable[str]) -> None:
        """Those that robots.txt names, or the one at the usual place. Known ones are no matter."""
        home = f"{origin}/"
        requests = []
        for sitemap in named:
            try:
                requests.append(sitemap_request(normalize(sitemap, home)))
            except InvalidURLError:
                continue
        await self._frontier.add(job, requests or [sitemap_request(sitemap_of(home))])
        self._mapped.add((job, origin))
