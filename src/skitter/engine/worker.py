"""The worker: one loop between the frontier and the errands it hands out.

Per round it tells the frontier what has been learnt (holds, finished transfers) and only then
asks for more, so a domain that asked us to wait is never leased in between.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any

from skitter.clock import Clock
from skitter.config.settings import Settings
from skitter.engine.commit import Committer
from skitter.engine.errands import Errands
from skitter.engine.hooks import Hooks
from skitter.engine.plan import JobPlan
from skitter.engine.pressure import PressureGauges
from skitter.engine.pulse import Pulse
from skitter.engine.robots import RobotsCache
from skitter.engine.strain import StrainWatch
from skitter.engine.writer import Result, Writer
from skitter.fetch.base import Fetcher
from skitter.frontier.base import Frontier
from skitter.log import Log
from skitter.models import RELEASED, DomainNews, Strain, Transfer, Verdict
from skitter.rpc import Channel
from skitter.store.base import Store

__all__ = ["Worker"]

_log = Log("skitter.engine")

#: New leases are asked for when this part of a worker's places is free.
_ASK_SHARE = 4
#: A worker that is short of something is not given all that is due; it asks no more often.
_STRAINED_S = 1.0
#: How often a worker asks itself whether it is still heard.
_LISTEN_S = 0.5


class Worker:
    """Runs until `drain` or `abort` is called and everything in flight has ended."""

    def __init__(
        self,
        name: str,
        *,
        frontier: Frontier,
        fetcher: Fetcher,
        robots: RobotsCache,
        committer: Committer,
        store: Store,
        clock: Clock,
        settings: Settings,
        hooks: Hooks,
        gauges: PressureGauges,
        keeps_body: bool = False,
        pulse: Pulse,
        coordinator: Channel | None = None,
    ) -> None:
        self.name = name
        self._frontier = frontier
        self._fetcher = fetcher
        self._clock = clock
        self._settings = settings
        self._hooks = hooks
        self._pulse = pulse
        #: Whom we may be cut off from, and who sets the pulse; None: the frontier is in here.
        self._coordinator = coordinator
        self._beat_now = asyncio.Event()
        self._heard_at = clock.monotonic()
        self._errands = Errands(
            frontier=frontier,
            fetcher=fetcher,
            robots=robots,
            clock=clock,
            settings=settings,
            hooks=hooks,
            is_cut_off=self._is_cut_off,
            moved=self._on_moved,
        )
        self._writer = Writer(
            name,
            committer=committer,
            store=store,
            keeps_body=keeps_body,
            interval_s=settings.store.sync_interval_s,
            settle=self._report,
            written=self._on_written,
        )
        self._strain = StrainWatch(
            settings.degrade,
            gauges,
            clock,
            backlog=self._writer.fullness,
            changed=self.wake,
        )
        self._reporting = asyncio.Lock()
        #: Held while leases are on their way to us, or we say which ones we have.
        self._counting = asyncio.Lock()
        self._wake = asyncio.Event()
        self._draining = False
        #: Something must reach the frontier, or be had from it, at once.
        self._urgent = False
        #: Called after every group commit; the crawl looks there whether it is finished.
        self.on_written: Callable[[], None] = lambda: None

    @property
    def in_flight(self) -> int:
        """Leases whose transfer has not ended."""
        return len(self._errands.in_flight)

    @property
    def strain(self) -> Strain:
        """What it is short of."""
        return self._strain.strain

    def wake(self) -> None:
        """Ask the frontier again: somebody says that something is due."""
        self._urgent = True
        self._wake.set()

    def drain(self) -> None:
        """Take no more leases; `run` returns when all in hand are durable."""
        self._draining = True
        self._wake.set()

    def abort(self) -> None:
        """Drop what is in flight and end; the frontier will hand it out again."""
        self._draining = True
        self._errands.give_up()
        self._wake.set()

    async def greet(self, channel: Channel) -> None:
        """After every connect: keep what is in hand, give back what a lost answer granted.

        Transfers that ended while nobody listened are reported again, as of now.
        """
        await self._take_pulse(channel.ask_now)
        tokens = list(self._errands.leases)
        await channel.ask_now("retain", (self.name, tokens), int)
        in_flight = self._errands.in_flight
        ended = {token: Transfer(age_s=0.0) for token in tokens if token not in in_flight}
        await channel.ask_now("fetched", (self.name, ended), object)

    async def run(self) -> None:
        """Work until drained. An error of a backend ends it."""
        async with asyncio.TaskGroup() as group:
            self._errands.start(self._writer, group, lambda: self._strain.keeps_bodies)
            watches = (self._beat(), self._listen(), self._strain.run())
            others = [group.create_task(watch) for watch in watches]
            writer = group.create_task(self._writer.run())
            await self._work()
            self._writer.close()
            await writer
            for task in others:
                task.cancel()

    async def aclose(self) -> None:
        """Close the connections and what watched them."""
        await self._fetcher.aclose()
        self._hooks.close()

    # Rounds

    async def _work(self) -> None:
        ask_at = 0.0
        while not (self._draining and not self._errands.in_flight):
            self._wake.clear()
            if self._is_worth_asking or self._clock.monotonic() >= ask_at:
                self._urgent = False
                await self._report()
                wait_s = await self._take_leases()
                await self._errands.find_places(partial(self._frontier.reserve, self.name))
                ask_at = inf if wait_s is None else self._clock.monotonic() + wait_s
            left_s = None if ask_at == inf else max(0.0, ask_at - self._clock.monotonic())
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await self._wake.wait()
        await self._report()

    @property
    def _is_worth_asking(self) -> bool:
        """A round trip is shared by several leases, unless somebody is kept waiting."""
        limit = self._settings.fetch.concurrency
        room = limit - self.in_flight
        return self._draining or self._urgent or room == limit or room * _ASK_SHARE >= limit

    async def _report(self) -> None:
        """Tell the frontier what was learnt, in the order that keeps promises."""
        async with self._reporting:
            news = self._errands.take_news()
            for hold in news.holds:
                asked_at = self._clock.monotonic()
                wait_s = await self._frontier.hold(hold.domain, hold.retry_after_s, hold.reason)
                wait_s -= self._clock.monotonic() - asked_at
                self._errands.rest(hold.domain, wait_s)
                self._hooks.held(hold.domain, wait_s, hold.reason)
            for domain in news.ignored_delays:
                await self._frontier.set_crawl_delay(domain, None)
            if news.fetched:
                await self._frontier.fetched(self.name, news.fetched)

    async def _take_leases(self) -> float | None:
        """Lease what there is room for; returns how long to wait before asking again."""
        room = self._settings.fetch.concurrency - self.in_flight
        if self._draining or room <= 0 or self._writer.fullness() >= 1:
            self._writer.pace(starved=self._draining, idle=not self.in_flight)
            return None
        async with self._counting:
            asked_at = self._clock.monotonic()
            with self._strain:
                grant = await self._frontier.lease(self.name, room, self.strain)
            for news in grant.news:
                self._hear(news, self._clock.monotonic() - asked_at)
            for lease in grant.leases:
                if not self._errands.knows(lease):
                    await self._learn_job(lease.job)
                self._errands.begin(lease)
        self._writer.pace(starved=len(grant.leases) < room, idle=not self.in_flight)
        if self.strain.step and grant.next_due_s is not None:
            return max(grant.next_due_s, _STRAINED_S)
        return grant.next_due_s

    def _hear(self, news: DomainNews, passed_s: float) -> None:
        """Something changed about a domain we ask, at most so long ago."""
        _log.info(
            f"domain.{news.event}",
            domain=news.domain,
            wait_s=round(news.wait_s, 3),
            reason=news.reason,
        )
        self._hooks.domain_changed(news)
        wait_s = max(0.0, news.wait_s - passed_s)
        if wait_s:
            self._errands.rest(news.domain, wait_s)
        if wait_s or news.event == RELEASED:
            self._hooks.held(news.domain, wait_s, news.reason or news.event)

    async def _learn_job(self, job: str) -> None:
        info = await self._frontier.info(job)
        if info is not None:
            self._errands.learn(JobPlan(info, self._settings.fetch))

    def _on_moved(self, urgent: bool) -> None:  # noqa: FBT001  (a callback's only argument)
        self._urgent = self._urgent or urgent
        self._wake.set()

    def _on_written(self, results: Sequence[Result], verdicts: Sequence[Verdict]) -> None:
        self._errands.written(results, verdicts)
        self.wake()
        self.on_written()

    # Being heard

    def beat(self) -> None:
        """Let the coordinator hear us now, and hear from it how often it wants to."""
        self._beat_now.set()

    async def _take_pulse(
        self, ask: Callable[[str, tuple[Any, ...], type[Pulse]], Awaitable[Pulse]]
    ) -> None:
        """Go by what the coordinator says, and say so: only then does it count on it."""
        told = None
        while told != self._pulse:
            self._pulse = told or self._pulse
            told = await ask("pulse", (self.name, self._pulse.timeout_s), Pulse)

    async def _beat(self) -> None:
        while True:
            self._beat_now.clear()
            self._let_go_if_cut_off()
            if self._coordinator is not None:
                await self._take_pulse(self._coordinator.call)
            sent_at = self._clock.monotonic()
            await self._frontier.extend(self.name)
            self._heard_at = sent_at
            if self._errands.gave_up:
                # The heartbeat renewed leases that nobody works on any more.
                self._errands.gave_up = False
                async with self._counting:
                    await self._frontier.retain(self.name, list(self._errands.leases))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pulse.heartbeat_s):
                    await self._beat_now.wait()

    async def _listen(self) -> None:
        """Let go of everything once the frontier may have given it to others."""
        while True:
            await asyncio.sleep(_LISTEN_S)
            self._let_go_if_cut_off()

    def _let_go_if_cut_off(self) -> None:
        if self._is_cut_off() and self.in_flight:
            dropped = self.in_flight
            self._errands.gave_up = True
            self._errands.give_up()
            self._wake.set()
            _log.warning("worker.cut_off", worker=self.name, dropped=dropped)

    def _is_cut_off(self) -> bool:
        if self._coordinator is None:
            return False
        return self._clock.monotonic() - self._heard_at > self._pulse.max_silence_s
