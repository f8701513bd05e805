"""Jobs and leases as the embedded frontier holds them in memory, and how rows become them."""

from typing import Any

import msgspec

from skitter.errors import UsageError
from skitter.frontier.base import DomainInfo, JobInfo
from skitter.frontier.health import Health
from skitter.frontier.policy import DomainState, Entry, Share
from skitter.frontier.seen import SeenSet
from skitter.models import (
    Completion,
    DropReason,
    JobCounts,
    JobSpec,
    JobState,
    Lease,
    Outcome,
    Request,
    RequestKind,
    Scope,
)

__all__ = [
    "HeldLease",
    "Job",
    "domain_info",
    "entry_of",
    "job_of",
    "new_job_row",
    "request_row",
]

_TERMINAL_STATES = {
    Outcome.DONE: 2,
    Outcome.REDIRECTED: 3,
    Outcome.FAILED: 4,
    Outcome.DROPPED: 5,
}


class Job(msgspec.Struct, eq=False, kw_only=True):
    """A job's counters and what it has seen."""

    id: int
    name: str
    job_id: str
    spec: JobSpec
    state: JobState
    max_pages: int | None
    created_s: float
    #: As submitted, 1 to 100; None: it was not said.
    priority: int | None = None
    version: int = 0
    scope_seeds: tuple[str, ...] = ()
    accepted: int = 0
    done: int = 0
    failed: int = 0
    redirected: int = 0
    body_bytes: int = 0
    dropped: dict[str, int] = {}
    leased: int = 0
    #: Fingerprints of every accepted request; None until they are read from the storage.
    seen: SeenSet | None = None
    #: Domains that have (or had) requests of this job waiting.
    domains: set[DomainState] = msgspec.field(default_factory=set)

    @property
    def known(self) -> SeenSet:
        """What it has seen, for whoever has made sure that it is read."""
        if self.seen is None:
            message = f"what job {self.name!r} has seen was not read before it was needed"
            raise RuntimeError(message)
        return self.seen

    @property
    def can_lease(self) -> bool:
        """False while paused or stopped, or when all pages it may have are done or in flight."""
        if self.state is not JobState.RUNNING:
            return False
        return self.max_pages is None or self.done + self.leased < self.max_pages

    @property
    def band(self) -> int:
        """One of five, 5 the lowest; the middle one unless said otherwise."""
        return 3 if self.priority is None else 5 - (self.priority - 1) // 20

    def waits_out(self, strain: int) -> bool:
        """Whether its requests wait while a worker is under such a strain, see `Strain.step`."""
        if strain >= 3 and self.spec.depth > 0 and self.spec.scope is not Scope.PAGE:
            return True
        return strain >= 4 or (strain >= 1 and self.band > 3)

    @property
    def terminal(self) -> int:
        """Requests with a terminal outcome."""
        return self.done + self.failed + self.redirected + sum(self.dropped.values())

    @property
    def queued(self) -> int:
        """Requests that wait, those for a later try included."""
        return self.accepted - self.terminal - self.leased

    def final(self, completion: Completion) -> Completion | None:
        """The completion if it ends its request, None if the request is to be tried again."""
        if completion.outcome is not Outcome.RETRY:
            return completion
        if self.state is not JobState.STOPPED:
            return None
        return Completion(
            token=completion.token, outcome=Outcome.DROPPED, reason=DropReason.STOPPED.value
        )

    def drop_stopped(self, requests: int) -> tuple[int, str]:
        """Count requests that a stop has ended; returns state and reason of such a one."""
        reason = DropReason.STOPPED.value
        if requests:
            self.dropped[reason] = self.dropped.get(reason, 0) + requests
        return _TERMINAL_STATES[Outcome.DROPPED], reason

    def refuse_to_run(self, state: JobState) -> None:
        """A stopped job has dropped its queue: there is nothing to run any more."""
        if state is JobState.RUNNING:
            raise UsageError(
                f"job {self.name!r} was stopped and its queue dropped: choose another --job,"
                " or delete this one first"
            )

    def count(self, completion: Completion) -> int:
        """Count a terminal outcome; returns its code in the storage."""
        match completion.outcome:
            case Outcome.DONE:
                self.done += 1
            case Outcome.REDIRECTED:
                self.redirected += 1
            case Outcome.FAILED:
                self.failed += 1
            case _:
                reason = completion.reason or "unknown"
                self.dropped[reason] = self.dropped.get(reason, 0) + 1
        self.body_bytes += completion.body_bytes
        return _TERMINAL_STATES[completion.outcome]

    def row(self) -> tuple[Any, ...]:
        """The parameters of `save_job`."""
        return (
            self.state.value,
            self.max_pages,
            self.version,
            msgspec.json.encode(self.scope_seeds),
            self.accepted,
            self.done,
            self.failed,
            self.redirected,
            self.body_bytes,
            msgspec.json.encode(self.dropped),
            self.id,
        )

    def info(self) -> JobInfo:
        """The job as others see it."""
        return JobInfo(
            name=self.name,
            job_id=self.job_id,
            spec=self.spec,
            state=self.state,
            counts=JobCounts(
                accepted=self.accepted,
                done=self.done,
                failed=self.failed,
                redirected=self.redirected,
                dropped=dict(self.dropped),
                leased=self.leased,
                queued=self.queued,
                body_bytes=self.body_bytes,
            ),
            scope_seeds=self.scope_seeds,
            version=self.version,
            max_pages=self.max_pages,
            created_s=self.created_s,
            priority=self.priority,
        )


class HeldLease(msgspec.Struct, eq=False):
    """A lease that has not ended. `slot` is true while it occupies its domain."""

    token: int
    worker: str
    entry: Entry
    job: Job
    domain: DomainState
    slot: bool = True
    #: What it took of the domain's rate; None: not known any more.
    share: Share | None = None
    #: Where a place is reserved for it.
    server_ip: str | None = None
    #: Why it is not to be fetched.
    refused: str | None = None

    def as_lease(self) -> Lease:
        """The lease as its worker gets it."""
        entry, rate, health = self.entry, self.domain.rate, self.domain.health
        return Lease(
            token=self.token,
            job=self.job.name,
            request=entry.request,
            tries=entry.tries,
            holds=entry.holds,
            pace_s=rate.gap_s,
            concurrency=rate.concurrency,
            interval_s=0.0 if rate.moderated else rate.interval_s,
            burst_s=rate.burst_s,
            identity=health.identity if health is not None else 0,
            server_ip=self.server_ip,
            refused=self.refused,
            drop=entry.drop,
            wants_text=entry.wants_text,
            job_version=self.job.version,
        )


def new_job_row(
    name: str, job_id: str, spec: JobSpec, max_pages: int | None, created_s: float
) -> tuple[object, ...]:
    """The parameters of `add_job`: it runs, and its seeds are its scope."""
    return (
        name,
        job_id,
        msgspec.json.encode(spec),
        JobState.RUNNING.value,
        max_pages,
        created_s,
        msgspec.json.encode(spec.seeds),
    )


def job_of(row: tuple[Any, ...]) -> Job:
    """A row of `jobs`."""
    return Job(
        id=row[0],
        name=row[1],
        job_id=row[2],
        spec=msgspec.json.decode(row[3], type=JobSpec),
        state=JobState(row[4]),
        max_pages=row[5],
        created_s=row[6],
        version=row[7],
        scope_seeds=msgspec.json.decode(row[8], type=tuple[str, ...]),
        accepted=row[9],
        done=row[10],
        failed=row[11],
        redirected=row[12],
        body_bytes=row[13],
        dropped=msgspec.json.decode(row[14], type=dict[str, int]),
    )


def entry_of(
    job: int, domain: str, row: tuple[Any, ...], lift: int = 0, *, delayed: bool = False
) -> Entry:
    """The request columns of a row, in the order every statement selects them."""
    request = Request(
        priority=row[1] - lift,
        depth=row[2],
        url=row[3],
        fingerprint=row[4],
        domain=domain,
        parent=row[5],
        redirected_from=row[6],
        hops=row[7],
        kind=RequestKind(row[8]) if row[8] else RequestKind.PAGE,
        is_seed=bool(row[9]),
        generation=row[10],
    )
    return Entry(row[0], job, request, tries=row[11], holds=row[12], delayed=delayed, lift=lift)


def request_row(entry: Entry, domain: DomainState) -> tuple[object, ...]:
    """The parameters of `add_request`."""
    request = entry.request
    return (
        entry.id,
        entry.job,
        domain.id,
        request.fingerprint,
        entry.rank,
        request.depth,
        request.url,
        request.parent,
        request.redirected_from,
        request.hops,
        None if request.kind is RequestKind.PAGE else request.kind.value,
        int(request.is_seed),
        request.generation,
    )


def domain_info(domain: DomainState, now: float) -> DomainInfo:
    """A domain as others see it."""
    health = domain.health or Health()
    reason = domain.hold_reason if domain.backoff.until > now else None
    if reason is None and health.until > now:
        reason = f"its circuit breaker is {health.breaker_state.value.replace('_', ' ')}"
    return DomainInfo(
        domain=domain.name,
        queued=domain.waiting,
        in_flight=domain.in_flight,
        rate=domain.rate,
        law=domain.law,
        own_rate=domain.own_rate,
        due_in_s=max(0.0, domain.due_at - now),
        hold_reason=reason,
        hold_step=domain.backoff.step,
        blocked=domain.blocked or domain.barred,
        crawl_delay=domain.is_delayed_by_robots,
        crawl_delay_s=domain.crawl_delay_s,
        breaker=health.breaker_state,
        failures=health.breaker.in_a_row if health.breaker is not None else 0,
        slowed=health.throttle.factor,
        lowered=health.lowered * (1 << health.fewer),
        identity=health.identity,
        given_up=health.dead_until > now,
        server_ip=domain.server_ip,
    )
