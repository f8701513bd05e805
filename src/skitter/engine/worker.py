"""The worker: leases, fetches, reads, hands results to the writer.

One loop talks to the frontier; everything between two of its rounds happens in callbacks of the
fetcher, so that no page costs a task of its own. Per round it tells the frontier what has been
learnt (holds, finished transfers) and only then asks for more, so a domain that
asked us to wait is never leased in between.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import inf

import structlog
from msgspec import Struct
from msgspec.structs import replace

from skitter.clock import Clock
from skitter.config.settings import Settings
from skitter.engine.commit import Committer
from skitter.engine.gate import RobotsGate
from skitter.engine.hooks import Hooks
from skitter.engine.links import LinkSelector
from skitter.engine.pacing import Pacer
from skitter.engine.page import Processed, process
from skitter.engine.plan import JobPlan
from skitter.engine.robots import RobotsAnswer, RobotsCache
from skitter.engine.verdicts import Judgement, judge
from skitter.engine.writer import Result, Writer
from skitter.fetch.base import Fetch, Fetcher, FetchResult
from skitter.frontier.base import Frontier
from skitter.models import Completion, DropReason, ErrorCode, Lease, Outcome, Verdict
from skitter.rpc import Channel
from skitter.store.base import Store
from skitter.urls.normalize import host_of

__all__ = ["Worker"]

_log = structlog.get_logger("skitter.engine")

#: New leases are asked for when this part of a worker's places is free.
_ASK_SHARE = 4
#: How often a worker asks itself whether it is still heard.
_LISTEN_S = 0.5


class _Held(Struct, frozen=True, kw_only=True):
    """A domain that must be left alone."""

    domain: str
    retry_after_s: float | None
    reason: str


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
        keeps_body: bool = False,
        max_silence_s: float | None = None,
    ) -> None:
        self.name = name
        self._frontier = frontier
        self._fetcher = fetcher
        self._clock = clock
        self._settings = settings
        self._hooks = hooks
        self._gate = RobotsGate(robots, frontier, self._obey)
        self._pacer = Pacer(clock.monotonic)
        #: Without a heartbeat that reached the frontier for this long, leases may be lost.
        self._max_silence_s = max_silence_s
        self._heard_at = clock.monotonic()
        #: Leases were dropped that the frontier still counts as ours.
        self._let_go = False
        self._writer = Writer(
            name,
            committer=committer,
            store=store,
            keeps_body=keeps_body,
            interval_s=settings.store.sync_interval_s,
            written=self._on_written,
        )
        self._selectors: dict[str, LinkSelector] = {}
        #: Token -> lease, from the grant until the result is durable.
        self._leases: dict[int, Lease] = {}
        #: Tokens of leases whose transfer has not ended.
        self._in_flight: set[int] = set()
        self._fetched: dict[int, float | None] = {}
        self._holds: list[_Held] = []
        self._ignored_delays: set[str] = set()
        self._wake = asyncio.Event()
        self._draining = False
        #: Something must reach the frontier, or be had from it, at once.
        self._urgent = False
        #: Called after every group commit; the crawl looks there whether it is finished.
        self.on_written: Callable[[], None] = lambda: None

    @property
    def in_flight(self) -> int:
        """Leases whose transfer has not ended."""
        return len(self._in_flight)

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
        self._drop_transfers()

    def _drop_transfers(self) -> None:
        self._fetcher.abort()
        self._pacer.clear()
        self._gate.clear()
        for token in self._in_flight:
            del self._leases[token]
        self._in_flight.clear()
        self._wake.set()

    async def greet(self, channel: Channel) -> None:
        """After every connect: keep what is in hand, give back what a lost answer granted.

        Transfers that ended while nobody listened are reported again, as of now.
        """
        tokens = list(self._leases)
        await channel.ask_now("retain", (self.name, tokens), int)
        ended = {token: 0.0 for token in tokens if token not in self._in_flight}
        await channel.ask_now("fetched", (self.name, ended), object)

    async def run(self) -> None:
        """Work until drained. An error of a backend ends it."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            others = [group.create_task(self._beat()), group.create_task(self._listen())]
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

    # The loop

    async def _work(self) -> None:
        ask_at = 0.0
        while not (self._draining and not self._in_flight):
            self._wake.clear()
            if self._is_worth_asking or self._clock.monotonic() >= ask_at:
                self._urgent = False
                await self._report()
                wait_s = await self._take_leases()
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
        room = limit - len(self._in_flight)
        return self._draining or self._urgent or room == limit or room * _ASK_SHARE >= limit

    async def _report(self) -> None:
        """Tell the frontier what was learnt, in the order that keeps promises."""
        holds, self._holds = self._holds, []
        for hold in holds:
            asked_at = self._clock.monotonic()
            wait_s = await self._frontier.hold(hold.domain, hold.retry_after_s, hold.reason)
            passed_s = self._clock.monotonic() - asked_at
            self._hooks.held(hold.domain, wait_s - passed_s, hold.reason)
        ignored, self._ignored_delays = self._ignored_delays, set()
        for domain in ignored:
            await self._frontier.set_crawl_delay(domain, None)
        if self._fetched:
            fetched, self._fetched = self._fetched, {}
            await self._frontier.fetched(self.name, fetched)

    async def _take_leases(self) -> float | None:
        """Lease what there is room for; returns how long to wait before asking again."""
        room = self._settings.fetch.concurrency - len(self._in_flight)
        if self._draining or room <= 0 or self._writer.is_full:
            self._writer.pace(starved=self._draining, idle=not self._in_flight)
            return None
        grant = await self._frontier.lease(self.name, room)
        for lease in grant.leases:
            selector = self._selectors.get(lease.job)
            if selector is None or selector.plan.version < lease.job_version:
                await self._learn_job(lease.job)
            self._begin(lease)
        self._writer.pace(starved=len(grant.leases) < room, idle=not self._in_flight)
        return grant.next_due_s

    async def _learn_job(self, job: str) -> None:
        info = await self._frontier.info(job)
        if info is None:
            return
        plan = JobPlan(info, self._settings.fetch.user_agent)
        if job in self._selectors:
            self._selectors[job].use(plan)
        else:
            self._selectors[job] = LinkSelector(plan)

    async def _beat(self) -> None:
        while True:
            self._let_go_if_cut_off()
            sent_at = self._clock.monotonic()
            await self._frontier.extend(self.name)
            self._heard_at = sent_at
            if self._let_go:
                # The heartbeat renewed leases that nobody works on any more.
                self._let_go = False
                await self._frontier.retain(self.name, list(self._leases))
            await asyncio.sleep(self._settings.frontier.heartbeat_s)

    async def _listen(self) -> None:
        """Let go of everything once the frontier may have given it to others."""
        while True:
            await asyncio.sleep(_LISTEN_S)
            self._let_go_if_cut_off()

    def _let_go_if_cut_off(self) -> None:
        if self._is_cut_off and self._in_flight:
            _log.warning("worker.cut_off", worker=self.name, dropped=len(self._in_flight))
            self._let_go = True
            self._drop_transfers()

    @property
    def _is_cut_off(self) -> bool:
        if self._max_silence_s is None:
            return False
        return self._clock.monotonic() - self._heard_at > self._max_silence_s

    # A lease, step by step

    def _begin(self, lease: Lease) -> None:
        self._leases[lease.token] = lease
        self._in_flight.add(lease.token)
        request, limits = lease.request, self._settings.limits
        if len(request.url) > limits.max_url_length:
            self._drop(lease, DropReason.URL_TOO_LONG)
        elif request.hops > limits.max_redirects:
            self._drop(lease, DropReason.TOO_MANY_REDIRECTS)
        elif not self._selectors[lease.job].plan.obeys_robots:
            self._forget_crawl_delay(lease)
            self._send(lease)
        else:
            self._gate.admit(lease, self._selectors[lease.job].plan, self._group)

    def _obey(self, lease: Lease, answer: RobotsAnswer) -> None:
        if answer.forbidden:
            self._drop(lease, DropReason.FORBIDDEN_ADDRESS)
        elif answer.rules is None:
            error = f"{ErrorCode.ROBOTS_UNREACHABLE.value}: {answer.problem}"
            self._finish(lease, FetchResult(), Judgement(outcome=Outcome.FAILED, error=error))
        elif not answer.rules.allows(lease.request.url):
            self._drop(lease, DropReason.ROBOTS)
        else:
            self._send(lease)

    def _send(self, lease: Lease) -> None:
        request = lease.request
        fetch = Fetch(
            url=request.url,
            host=host_of(request.url),
            headers=self._selectors[lease.job].plan.headers_for(request.url),
            max_body_bytes=self._settings.fetch.max_body_bytes,
            timeout_s=self._settings.fetch.timeout_s,
        )
        gap_s = max(lease.pace_s, self._gate.crawl_delay_s(request.domain))
        left = partial(self._hooks.sent, lease)
        if gap_s == 0 and not self._is_cut_off:
            self._fetcher.start(fetch, partial(self._on_fetched, lease), left)
            return

        def send(sent: Callable[[float], None], ended: Callable[[], None]) -> None:
            if self._is_cut_off:  # frozen meanwhile: it may be somebody else's by now
                ended()
                self._in_flight.discard(lease.token)
                self._leases.pop(lease.token, None)
                self._let_go = True
                return

            def done(result: FetchResult) -> None:
                ended()
                self._on_fetched(lease, result)

            def leaves(at: float) -> None:
                left(at)
                sent(at)

            self._fetcher.start(fetch, done, leaves)

        self._pacer.submit(request.domain, gap_s, send)

    def _on_fetched(self, lease: Lease, result: FetchResult) -> None:
        self._hooks.fetched(lease, result)
        judgement = judge(lease, result, self._settings, self._clock.time())
        if judgement.holds_domain:
            self._holds.append(
                _Held(
                    domain=lease.request.domain,
                    retry_after_s=judgement.retry_after_s,
                    reason=judgement.error or "",
                )
            )
        self._finish(lease, result, judgement)

    def _drop(self, lease: Lease, reason: DropReason) -> None:
        self._finish(lease, FetchResult(), Judgement(outcome=Outcome.DROPPED, reason=reason))

    def _finish(self, lease: Lease, result: FetchResult, judgement: Judgement) -> None:
        """The transfer is over (or never was): free the slot, hand the result on."""
        self._in_flight.discard(lease.token)
        now = self._clock.monotonic()
        self._fetched[lease.token] = None if result.sent_at is None else now - result.sent_at
        self._urgent = self._urgent or lease.pace_s > 0 or judgement.holds_domain
        selector = self._selectors[lease.job]
        page = None
        completion = Completion(
            token=lease.token,
            outcome=judgement.outcome,
            reason=judgement.reason.value if judgement.reason else None,
            after_s=judgement.after_s,
            costs_try=judgement.costs_try,
        )
        if judgement.outcome is not Outcome.RETRY:
            page = self._process(lease, result, judgement)
            completion = replace(
                completion,
                outcome=page.record.outcome,
                links=page.requests,
                body_bytes=len(page.body),
            )
        self._writer.put(
            Result(
                job=lease.job,
                job_id=selector.plan.job_id,
                completion=completion,
                page=page,
            )
        )
        self._wake.set()

    def _process(self, lease: Lease, result: FetchResult, judgement: Judgement) -> Processed:
        """Read the page. One that we cannot cope with fails alone."""
        selector, now_s = self._selectors[lease.job], self._clock.time()
        try:
            return process(lease, result, judgement, selector, settings=self._settings, now_s=now_s)
        except Exception as error:  # noqa: BLE001 - whatever it was, the crawl goes on
            _log.exception("page.failed", url=lease.request.url)
            failure = Judgement(
                outcome=Outcome.FAILED, error=f"{ErrorCode.INTERNAL.value}: {error!r}"
            )
            broken = replace(result, error=ErrorCode.INTERNAL, head=(), body=b"")
            return process(lease, broken, failure, selector, settings=self._settings, now_s=now_s)

    def _on_written(self, results: Sequence[Result], verdicts: Sequence[Verdict]) -> None:
        records = []
        for result, verdict in zip(results, verdicts, strict=True):
            self._leases.pop(result.completion.token, None)
            if result.page is None or verdict is Verdict.STALE:
                continue
            records.append(result.page.record)
            if result.completion.links:
                self._selectors[result.job].mark_known(result.completion.links)
        self._hooks.recorded(records)
        self.wake()
        self.on_written()

    def _forget_crawl_delay(self, lease: Lease) -> None:
        """A crawl that ignores robots.txt also ignores what an earlier one learnt from it."""
        if lease.pace_s > self._settings.politeness.delay_s:
            self._ignored_delays.add(lease.request.domain)
