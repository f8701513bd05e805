"""Leases on their way: robots.txt, pacing, fetching, judging, reading, writing.

All of it happens in callbacks of the fetcher, so that no page costs a task of its own. What the
frontier must be told piles up in `News` until the worker takes it there.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

import structlog
from msgspec import Struct, field
from msgspec.structs import replace

from skitter.clock import Clock
from skitter.config.settings import Settings
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
from skitter.urls.normalize import host_of

__all__ = ["Errands", "Hold", "News"]

_log = structlog.get_logger("skitter.engine")


class Hold(Struct, frozen=True, kw_only=True):
    """A domain that must be left alone."""

    domain: str
    retry_after_s: float | None
    reason: str


class News(Struct, kw_only=True):
    """What the frontier does not know yet."""

    holds: list[Hold] = field(default_factory=list)
    #: Domains whose crawl-delay a job that ignores robots.txt need not keep.
    ignored_delays: set[str] = field(default_factory=set)
    #: Token -> seconds since its request left, None if it never did: the transfer has ended.
    fetched: dict[int, float | None] = field(default_factory=dict)


class Errands:
    """Every lease in hand, from the grant until its result is durable.

    `moved(urgent)` is called when one of them has ended; urgent means that somebody waits for
    the frontier to hear of it.
    """

    def __init__(
        self,
        *,
        frontier: Frontier,
        fetcher: Fetcher,
        robots: RobotsCache,
        clock: Clock,
        settings: Settings,
        hooks: Hooks,
        is_cut_off: Callable[[], bool],
        moved: Callable[[bool], None],
    ) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._settings = settings
        self._hooks = hooks
        self._is_cut_off = is_cut_off
        self._moved = moved
        self._gate = RobotsGate(robots, frontier, self._obey)
        self._pacer = Pacer(clock.monotonic)
        self._selectors: dict[str, LinkSelector] = {}
        self._news = News()
        #: Token -> lease, until the result is durable.
        self.leases: dict[int, Lease] = {}
        #: Tokens of leases whose transfer has not ended.
        self.in_flight: set[int] = set()
        #: Leases were given up that the frontier still counts as ours.
        self.gave_up = False

    def start(self, writer: Writer, group: asyncio.TaskGroup) -> None:
        """Where results go, and who owns the tasks that robots.txt needs."""
        self._writer = writer
        self._group = group

    def knows(self, lease: Lease) -> bool:
        """Whether the plan of the lease's job is at hand, and no older than the lease."""
        selector = self._selectors.get(lease.job)
        return selector is not None and selector.plan.version >= lease.job_version

    def learn(self, plan: JobPlan) -> None:
        """Take a job's plan, or its newer version."""
        if plan.name in self._selectors:
            self._selectors[plan.name].use(plan)
        else:
            self._selectors[plan.name] = LinkSelector(plan)

    def take_news(self) -> News:
        """What was learnt since the last call."""
        news, self._news = self._news, News()
        return news

    def give_up(self) -> None:
        """Drop every transfer; the frontier will hand the requests out again."""
        self._fetcher.abort()
        self._pacer.clear()
        self._gate.clear()
        for token in self.in_flight:
            del self.leases[token]
        self.in_flight.clear()

    def written(self, results: Sequence[Result], verdicts: Sequence[Verdict]) -> None:
        """These are durable, or refused because their lease had ended."""
        records = []
        for result, verdict in zip(results, verdicts, strict=True):
            self.leases.pop(result.completion.token, None)
            if result.page is None or verdict is Verdict.STALE:
                continue
            records.append(result.page.record)
            if result.completion.links:
                self._selectors[result.job].mark_known(result.completion.links)
        self._hooks.recorded(records)

    # A lease, step by step

    def begin(self, lease: Lease) -> None:
        """Set out with a lease whose job is known."""
        self.leases[lease.token] = lease
        self.in_flight.add(lease.token)
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
        if gap_s == 0 and not self._is_cut_off():
            self._fetcher.start(fetch, partial(self._on_fetched, lease), left)
            return

        def send(sent: Callable[[float], None], ended: Callable[[], None]) -> None:
            if self._is_cut_off():  # frozen meanwhile: it may be somebody else's by now
                ended()
                self.in_flight.discard(lease.token)
                self.leases.pop(lease.token, None)
                self.gave_up = True
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
            self._news.holds.append(
                Hold(
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
        self.in_flight.discard(lease.token)
        now = self._clock.monotonic()
        self._news.fetched[lease.token] = None if result.sent_at is None else now - result.sent_at
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
        self._moved(lease.pace_s > 0 or judgement.holds_domain)

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

    def _forget_crawl_delay(self, lease: Lease) -> None:
        """A crawl that ignores robots.txt also ignores what an earlier one learnt from it."""
        if lease.pace_s > self._settings.politeness.delay_s:
            self._news.ignored_delays.add(lease.request.domain)
