"""What a running crawl looks like from outside: a counter of commits, and snapshots of it."""

from collections import deque
from collections.abc import Sequence

from msgspec import Struct

from skitter.clock import Clock
from skitter.engine.commit import Finished
from skitter.frontier.base import DomainInfo, Frontier
from skitter.models import NO_STRAIN, JobCounts, Outcome, Strain, Verdict
from skitter.politeness.backoff import in_words
from skitter.urls.domain import domain_of_url

__all__ = ["DomainSpeed", "Progress", "Snapshot"]

#: Seconds over which the current rate is taken.
_WINDOW_S = 10.0
#: Domains looked at for a snapshot, and those shown.
_MOST_DOMAINS = 256
_SHOWN_DOMAINS = 5
#: Domains whose speed is remembered.
_MAX_DOMAINS = 10_000


class DomainSpeed(Struct):
    """How a domain answers."""

    domain: str
    requests: int = 0
    seconds: float = 0.0

    @property
    def mean_s(self) -> float:
        """Seconds per request."""
        return self.seconds / self.requests if self.requests else 0.0


class Snapshot(Struct, frozen=True, kw_only=True):
    """One moment of a crawl."""

    counts: JobCounts
    in_flight: int
    seconds: float
    pages_per_second: float
    #: code -> how many records failed with it in this run.
    errors: dict[str, int]
    busiest: list[DomainInfo]
    slowest: list[DomainSpeed]
    #: What keeps the crawl from going faster, in words.
    limit: str
    #: Seconds until everything known now is fetched at the rates allowed; None: not known.
    left_s: float | None
    #: State -> how many worker processes are in it; empty where there are none.
    workers: dict[str, int] = {}
    #: What the worst-off worker is short of.
    strain: Strain = NO_STRAIN


class Progress:
    """Keeps what the live view shows."""

    def __init__(self, job: str, clock: Clock, concurrency: int) -> None:
        self._job = job
        self._clock = clock
        self._concurrency = concurrency
        self._started_at = clock.monotonic()
        self._pages = 0
        self._marks: deque[tuple[float, int]] = deque([(self._started_at, 0)])
        self._errors: dict[str, int] = {}
        self._domains: dict[str, DomainSpeed] = {}

    def count(self, results: Sequence[Finished], verdicts: Sequence[Verdict]) -> None:
        """Count what was just committed; an observer of `LocalCommitter`."""
        for result, verdict in zip(results, verdicts, strict=True):
            if result.page is None or verdict is Verdict.STALE:
                continue
            head = result.page.head
            self._time(domain_of_url(head.url), head.elapsed_ms / 1000)
            if head.outcome is Outcome.DONE:
                self._pages += 1
            elif head.outcome is Outcome.FAILED and head.error:
                code = head.error.partition(":")[0]
                self._errors[code] = self._errors.get(code, 0) + 1

    def _time(self, domain: str, seconds: float) -> None:
        speed = self._domains.get(domain)
        if speed is None:
            if len(self._domains) >= _MAX_DOMAINS:
                self._domains.clear()
            speed = self._domains[domain] = DomainSpeed(domain)
        speed.requests += 1
        speed.seconds += seconds

    async def snapshot(
        self, frontier: Frontier, in_flight: int | None = None, strain: Strain = NO_STRAIN
    ) -> Snapshot | None:
        """The crawl now; None if the job is gone."""
        info = await frontier.info(self._job)
        if info is None:
            return None
        domains = await frontier.backlog(_MOST_DOMAINS)
        if in_flight is None:
            in_flight = sum(domain.in_flight for domain in domains)
        now = self._clock.monotonic()
        rate = self._rate(now)
        slowest = sorted(self._domains.values(), key=lambda d: d.mean_s, reverse=True)
        return Snapshot(
            counts=info.counts,
            in_flight=in_flight,
            seconds=now - self._started_at,
            pages_per_second=rate,
            errors=self._errors,
            busiest=domains[:_SHOWN_DOMAINS],
            slowest=slowest[:3],
            limit=self._limit(domains, in_flight, info.counts),
            left_s=_left_s(domains, info.counts, rate),
            strain=strain,
        )

    def _rate(self, now: float) -> float:
        self._marks.append((now, self._pages))
        while len(self._marks) > 2 and self._marks[0][0] < now - _WINDOW_S:
            self._marks.popleft()
        (then, before), (_, pages) = self._marks[0], self._marks[-1]
        return (pages - before) / (now - then) if now > then else 0.0

    def _limit(self, domains: Sequence[DomainInfo], in_flight: int, counts: JobCounts) -> str:
        waiting = [d for d in domains if d.queued]
        free = [d for d in waiting if not d.hold_reason and not d.blocked]
        if waiting and not free and in_flight == 0:
            return _rest(next((d for d in waiting if not d.blocked), waiting[0]))
        if in_flight >= self._concurrency > 1:
            return f"limited by --concurrency {self._concurrency}"
        if free and all(d.due_in_s > 0 or d.in_flight >= d.rate.concurrency for d in free):
            return _politeness(free[0])
        if in_flight == 0 and counts.queued and not waiting:
            return f"waiting to try {counts.queued} again that failed"
        return ""


def _rest(domain: DomainInfo) -> str:
    if domain.blocked:
        return f"waiting for {domain.domain}: it is blocked, `skitter domains unblock`"
    reason = in_words(domain.hold_reason or "")
    return f"waiting for {domain.domain}: {reason}, {domain.due_in_s:.0f} s more"


def _politeness(domain: DomainInfo) -> str:
    interval_s = domain.rate.interval_s
    if interval_s == 0:
        return (
            f"limited by politeness: {domain.rate.concurrency} at a time for {domain.domain},"
            " --concurrency"
        )
    if interval_s > 1:
        rate = f"1 request every {interval_s:g} s"
    else:
        rate = "1 request/s" if interval_s == 1 else f"{1 / interval_s:g} requests/s"
    return f"limited by politeness: {rate} for {domain.domain}, {_reason(domain)}"


def _reason(domain: DomainInfo) -> str:
    if domain.slowed > 1:
        return "its server has become slow"
    if domain.rate.interval_s > domain.law.interval_s:
        return "it has blocked us before"
    if domain.crawl_delay:
        return "crawl-delay of its robots.txt"
    return "`skitter domains set`" if domain.own_rate is not None else "--delay"


def _left_s(domains: Sequence[DomainInfo], counts: JobCounts, rate: float) -> float | None:
    """By the slowest queue and by the present rate, whichever is longer."""
    if not counts.queued:
        return None
    by_rules = max((d.queued * d.rate.interval_s + d.due_in_s for d in domains), default=0.0)
    by_rate = counts.queued / rate if rate > 0 else 0.0
    return max(by_rules, by_rate) or None
