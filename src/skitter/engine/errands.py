"""Leases on their way: robots.txt, pacing, fetching, judging, reading, writing.

All of it happens in callbacks of the fetcher, so that no page costs a task of its own. What the
frontier must be told piles up in `News` until the worker takes it there.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from math import inf
from random import Random

from msgspec import Struct, field
from msgspec.structs import replace

from skitter.clock import Clock
from skitter.config.settings import Settings
from skitter.engine.gate import RobotsGate
from skitter.engine.hooks import Hooks
from skitter.engine.links import LinkSelector
from skitter.engine.pacing import Pacer
from skitter.engine.page import Processed, process, without_body
from skitter.engine.plan import JobPlan, max_body_bytes
from skitter.engine.robots import RobotsAnswer, RobotsCache
from skitter.engine.sessions import Sessions, leads_to_itself
from skitter.engine.verdicts import Judgement, judge
from skitter.engine.writer import Result, Writer
from skitter.fetch.base import Fetch, Fetcher, FetchResult
from skitter.frontier.base import Frontier
from skitter.log import Log
from skitter.models import Completion, DropReason, ErrorCode, Lease, Outcome, Transfer, Verdict
from skitter.urls.normalize import host_of

__all__ = ["Errands", "Hold", "News"]

_log = Log("skitter.engine")


#: Token -> server_ip in; the tokens that got no place out, with seconds to wait.
Reserve = Callable[[dict[int, str]], Awaitable[dict[int, float]]]


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
    #: Token -> how its transfer ended.
    fetched: dict[int, Transfer] = field(default_factory=dict)


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
        fetcher.may_send = lambda: not is_cut_off()
        self._moved = moved
        self._gate = RobotsGate(robots, frontier, self._obey)
        self._pacer = Pacer(clock.monotonic)
        self._sessions = Sessions(clock, enabled=settings.fetch.cookies)
        self._selectors: dict[str, LinkSelector] = {}
        self._news = News()
        self._random = Random().random  # noqa: S311 - jitter, not a secret
        #: Token -> the server on which it needs a place, and what it does then.
        self._placeless: dict[int, tuple[str, Callable[[], None]]] = {}
        #: Domain -> until when the leases up to a token must not be sent.
        self._resting: dict[str, tuple[float, float]] = {}
        self._last_token = 0
        #: Token -> lease, until the result is durable.
        self.leases: dict[int, Lease] = {}
        #: Tokens of leases whose transfer has not ended.
        self.in_flight: set[int] = set()
        #: Leases were given up that the frontier still counts as ours.
        self.gave_up = False

    def start(
        self, writer: Writer, group: asyncio.TaskGroup, keeps_bodies: Callable[[], bool]
    ) -> None:
        """Where results go, who owns the tasks that robots.txt needs, and what is stored."""
        self._keeps_bodies = keeps_bodies
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
            sessions = self._settings.traps.enabled
            self._selectors[plan.name] = LinkSelector(plan, ignores_sessions=sessions)

    def take_news(self) -> News:
        """What was learnt since the last call."""
        news, self._news = self._news, News()
        return news

    async def find_places(self, reserve: Reserve) -> None:
        """Ask for places on the servers of what cannot go without; the rest goes back."""
        if not self._placeless:
            return
        wanted, self._placeless = self._placeless, {}
        refused = await reserve({token: server_ip for token, (server_ip, _) in wanted.items()})
        for token, (_, go) in wanted.items():
            lease = self.leases.get(token)
            if lease is None:
                continue
            if token in refused:
                self._give_back(lease, refused[token])
            else:
                go()

    def rest(self, domain: str, wait_s: float, *, is_known: bool = True) -> None:
        """Send nothing to a domain for so long; what was about to leave goes back unsent.

        Leases that come later are not meant once the frontier knows: it would not give them.
        """
        until = self._clock.monotonic() + wait_s
        self._resting[domain] = (until, self._last_token if is_known else inf)
        self._pacer.refuse(domain)

    def give_up(self) -> None:
        """Drop every transfer; the frontier will hand the requests out again."""
        self._fetcher.abort()
        self._pacer.clear()
        self._gate.clear()
        self._placeless.clear()
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
        self._last_token = lease.token
        request, limits = lease.request, self._settings.limits
        if lease.refused is not None:
            failure = Judgement(outcome=Outcome.FAILED, error=lease.refused)
            self._finish(lease, FetchResult(), failure)
        elif lease.drop is not None:
            self._drop(lease, lease.drop)
        elif len(request.url) > limits.max_url_length:
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
        elif answer.rules is None and answer.retry_after_s is not None:
            self._on_fetched(lease, answer.as_result())
        elif answer.rules is None:
            error = f"{ErrorCode.ROBOTS_UNREACHABLE.value}: {answer.problem}"
            self._finish(lease, FetchResult(), Judgement(outcome=Outcome.FAILED, error=error))
        elif not answer.rules.allows(lease.request.url):
            self._drop(lease, DropReason.ROBOTS)
        elif answer.too_slow:
            self._drop(lease, DropReason.CRAWL_DELAY)
        else:
            self._send(lease)

    def _send(self, lease: Lease) -> None:
        request = lease.request
        if self._resting and self._is_resting(lease):
            self._give_back(lease)
            return
        headers = self._selectors[lease.job].plan.headers_for(request.url, lease.identity)
        fetch = Fetch(
            url=request.url,
            host=host_of(request.url),
            headers=self._sessions.lines_for(lease, headers),
            max_body_bytes=max_body_bytes(request, self._settings.fetch),
            timeout_s=self._settings.fetch.timeout_s,
            identity=lease.identity,
        )
        gap_s = max(lease.pace_s, self._gate.crawl_delay_s(request.domain))
        left = partial(self._hooks.sent, lease)
        if gap_s == 0 and not self._is_cut_off():
            start = partial(self._fetcher.start, fetch, partial(self._on_fetched, lease), left)
            go = partial(self._reach_server, lease, fetch, start)
            if self._fetcher.prepare(fetch, go):
                go()
            return

        def send(sent: Callable[[float], None], ended: Callable[[], None]) -> None:
            if self._is_cut_off():  # frozen meanwhile: it may be somebody else's by now
                ended()
                self._let_go(lease)
                return

            def done(result: FetchResult) -> None:
                ended()
                self._on_fetched(lease, result)

            def leaves(at: float) -> None:
                left(at)
                sent(at)

            self._fetcher.start(fetch, done, leaves)

        submit = partial(
            self._pacer.submit, request.domain, gap_s, send, partial(self._give_back, lease)
        )
        go = partial(self._reach_server, lease, fetch, submit)
        if self._fetcher.prepare(fetch, go):
            go()

    def _reach_server(self, lease: Lease, fetch: Fetch, go: Callable[[], None]) -> None:
        """Go if the frontier has kept a place on that server, else ask it for one."""
        server_ip = self._fetcher.server_ip(fetch)
        if server_ip is None or server_ip == lease.server_ip:
            go()
        else:
            self._placeless[lease.token] = (server_ip, go)
            self._moved(True)  # noqa: FBT003  (urgent)

    def _let_go(self, lease: Lease) -> None:
        self.in_flight.discard(lease.token)
        self.leases.pop(lease.token, None)
        self.gave_up = True

    def _on_fetched(self, lease: Lease, result: FetchResult) -> None:
        if result.sent_at is None and self._is_cut_off():
            self._let_go(lease)
            return
        self._hooks.fetched(lease, result)
        learnt = self._sessions.learn(lease, result)
        judgement = judge(lease, result, self._settings, self._clock.time(), self._random())
        if learnt and judgement.outcome is Outcome.REDIRECTED:
            judgement = self._with_cookie(lease, result, judgement)
        if judgement.holds_domain:
            # For as long as the frontier will say; until it does, for long enough.
            self.rest(lease.request.domain, self._settings.backoff.first_s, is_known=False)
            self._news.holds.append(
                Hold(
                    domain=lease.request.domain,
                    retry_after_s=judgement.retry_after_s,
                    reason=judgement.error or "",
                )
            )
        self._finish(lease, result, judgement)

    def _with_cookie(self, lease: Lease, result: FetchResult, judgement: Judgement) -> Judgement:
        """A page that is shown to those only who bring back its cookie is asked once more."""
        may_try = lease.tries < len(self._settings.retry.delays_s)
        if not (may_try and leads_to_itself(lease.request.url, result)):
            return judgement
        return replace(judgement, outcome=Outcome.RETRY)

    def _drop(self, lease: Lease, reason: DropReason) -> None:
        self._finish(lease, FetchResult(), Judgement(outcome=Outcome.DROPPED, reason=reason))

    def _finish(self, lease: Lease, result: FetchResult, judgement: Judgement) -> None:
        """The transfer is over (or never was): free the slot, hand the result on."""
        self.in_flight.discard(lease.token)
        sent_at = result.sent_at
        self._news.fetched[lease.token] = Transfer(
            age_s=None if sent_at is None else self._clock.monotonic() - sent_at,
            elapsed_s=result.elapsed_s,
            sign=judgement.sign,
        )
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
                text=page.text,
            )
            if page.body and not self._keeps_bodies():
                page = without_body(page)
        self._writer.put(
            Result(
                job=lease.job,
                job_id=selector.plan.job_id,
                completion=completion,
                page=page,
            )
        )
        self._moved(lease.pace_s > 0 or judgement.holds_domain)

    def _is_resting(self, lease: Lease) -> bool:
        until, last_token = self._resting.get(lease.request.domain, (0.0, 0))
        if self._clock.monotonic() < until:
            return lease.token <= last_token
        self._resting.pop(lease.request.domain, None)
        return False

    def _give_back(self, lease: Lease, after_s: float = 0.0) -> None:
        """Nothing was sent: the request waits again as if it had never been leased."""
        self.in_flight.discard(lease.token)
        self._news.fetched[lease.token] = Transfer(age_s=None)
        completion = Completion(
            token=lease.token, outcome=Outcome.RETRY, after_s=after_s, refused=True
        )
        job_id = self._selectors[lease.job].plan.job_id
        self._writer.put(Result(job=lease.job, job_id=job_id, completion=completion, page=None))
        self._moved(True)  # noqa: FBT003  (urgent)

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
