"""The border of the frontier: who is asked for work and told what became of it.

Rules that hold for every implementation:

* Every verb is one atomic step. When it returns, its effect survives `kill -9`.
* A job accepts a fingerprint once: dedupe is by fingerprint alone, so a second generation
  of a known one is a duplicate. From then on the request is queued, leased, or has exactly
  one terminal outcome.
* Politeness lives here: a domain is leased only when its rate, its concurrency and its
  holds allow it, whoever asks.
* A lease belongs to its worker until the worker's deadline. `extend` moves the deadline;
  after it `reap` gives the request to somebody else and the old token is worth nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from skitter.models import (
    NO_STRAIN,
    Completion,
    DropReason,
    Grant,
    JobCounts,
    JobSpec,
    JobState,
    Lease,
    Request,
    Strain,
    Transfer,
    Verdict,
)
from skitter.politeness.breaker import BreakerState
from skitter.politeness.rates import Rate

__all__ = ["AddResult", "DomainInfo", "Frontier", "JobInfo"]


class AddResult(Struct, frozen=True, kw_only=True):
    """How many requests were new, known, or refused because the job takes none."""

    accepted: int = 0
    duplicate: int = 0
    refused: int = 0


class JobInfo(Struct, frozen=True, kw_only=True):
    """A job as the frontier knows it."""

    name: str
    job_id: str
    spec: JobSpec
    state: JobState
    counts: JobCounts
    #: Seeds and what they redirected to: the scope is taken from these.
    scope_seeds: tuple[str, ...]
    version: int
    max_pages: int | None
    created_s: float
    #: As submitted, 1 to 100; None: it was not said.
    priority: int | None = None

    @property
    def told(self) -> JobCounts:
        """The counts as people are told them: what --max-pages left of a finished job is dropped.

        In the frontier it stays queued, so that a raised limit goes on from there.
        """
        counts = self.counts
        if self.state is not JobState.FINISHED or not counts.queued:
            return counts
        left = counts.dropped.get(DropReason.MAX_PAGES, 0) + counts.queued
        return replace(
            counts, dropped={**counts.dropped, DropReason.MAX_PAGES.value: left}, queued=0
        )


class DomainInfo(Struct, frozen=True, kw_only=True):
    """A domain's queue and manners, for people to look at."""

    domain: str
    queued: int
    in_flight: int
    rate: Rate
    #: Seconds until it may be asked again; 0 when due.
    due_in_s: float
    hold_reason: str | None
    blocked: bool
    #: True: the rate is what robots.txt asks for.
    crawl_delay: bool = False
    crawl_delay_s: float | None = None
    #: What is configured, and what was set for this domain alone; `rate` is what is kept now.
    law: Rate = Rate()
    own_rate: Rate | None = None
    hold_step: int = 0
    breaker: BreakerState = BreakerState.CLOSED
    #: Failures since the last success.
    failures: int = 0
    #: So many times gentler than `law`: because its server is slow, because it limited us.
    slowed: float = 1.0
    lowered: float = 1.0
    #: How often it has blocked us.
    identity: int = 0
    #: It failed for so long that what waits for it fails at once.
    given_up: bool = False
    #: Where its last transfer went.
    server_ip: str | None = None


class Frontier(Protocol):
    """Queues, dedupe, leases, rates and job counters. All verbs take batches."""

    async def open_job(
        self,
        name: str,
        job_id: str,
        spec: JobSpec,
        *,
        max_pages: int | None,
        priority: int | None = None,
    ) -> JobInfo:
        """Create the job, or take up the one of that name, with these limits from now on."""
        ...

    async def add(self, job: str, requests: Sequence[Request]) -> AddResult:
        """Queue requests; one whose fingerprint the job has seen is a duplicate."""
        ...

    async def lease(self, worker: str, limit: int, strain: Strain = NO_STRAIN) -> Grant:
        """Up to `limit` requests of domains that are due.

        Between domains the earliest due comes first; within one: priority, then jobs in
        turn, then first in first out. An empty grant means nothing is due *now*, or nothing
        that a worker under such a strain should take on.
        """
        ...

    async def reserve(self, worker: str, servers: Mapping[int, str]) -> dict[int, float]:
        """Take places on servers for leases: token -> the server_ip its name has.

        Needed where the lease does not name that address itself; later leases of the domain
        will, as long as it stays there. Returns the tokens that get
        no place and the seconds after which to try again: such a lease goes back as `refused`.
        """
        ...

    async def fetched(self, worker: str, transfers: Mapping[int, Transfer]) -> None:
        """Free the domain slots of these tokens: their transfers have ended.

        The share of the rate of a request that never left is given back. What the transfers
        say about their sites may open breakers, slow or rest domains; the worker hears of that
        with its next grant.
        """
        ...

    async def complete(self, worker: str, completions: Sequence[Completion]) -> list[Verdict]:
        """End leases and queue the links found, in one step. One verdict per completion."""
        ...

    async def extend(self, worker: str) -> None:
        """Heartbeat: the worker's leases hold for another lease time from now."""
        ...

    async def set_lease(self, lease_s: float) -> None:
        """How long leases hold from each worker's next heartbeat on."""
        ...

    async def reap(self, worker: str | None = None) -> int:
        """Requeue, with a boost, the leases past their deadline, or all of a dead worker's."""
        ...

    async def hold(self, domain: str, retry_after_s: float | None, reason: str) -> float:
        """Leave a domain alone: as long as it said, else by the back-off ladder.

        The latest end wins. Returns the seconds the domain now waits.
        """
        ...

    async def rest(self, domain: str, wait_s: float, reason: str) -> None:
        """Leave a domain alone for so long from now by a person's word; 0 ends any hold.

        No step of the ladder, and no end of a hold is later than this one.
        """
        ...

    async def set_rate(self, domain: str, rate: Rate | None) -> None:
        """Give a domain a rate of its own; None returns it to the default."""
        ...

    async def set_crawl_delay(self, domain: str, crawl_delay_s: float | None) -> None:
        """What a host's robots.txt asks for; the stricter of this and the rate holds.

        Of several hosts' wishes the longest stays, until None forgets them all.
        """
        ...

    async def block(self, domain: str, *, blocked: bool = True) -> None:
        """Keep the domain's queue but lease nothing from it, until unblocked."""
        ...

    async def set_state(self, job: str, state: JobState) -> None:
        """Pause, resume, stop or finish a job. Leases in flight may still complete.

        Stopping is final: what waits is dropped (`stopped`), at once and without a look at
        the queue, and so is each lease that would have to wait again. To run a stopped job is
        a `UsageError`; any other state leaves it stopped.
        """
        ...

    async def delete_job(self, job: str) -> None:
        """Forget a job and everything queued for it."""
        ...

    async def info(self, job: str) -> JobInfo | None:
        """The job's state and counters, or None if there is none of that name."""
        ...

    async def jobs(self) -> list[JobInfo]:
        """Every job, oldest first."""
        ...

    async def domain(self, name: str) -> DomainInfo | None:
        """One domain, or None if no request of it was ever accepted."""
        ...

    async def backlog(self, limit: int = 100) -> list[DomainInfo]:
        """The domains with the longest queues."""
        ...

    async def still_held(self, worker: str, tokens: Sequence[int]) -> set[int]:
        """Which of these leases are the worker's own at this moment."""
        ...

    async def retain(self, worker: str, tokens: Sequence[int]) -> int:
        """Take back, with a boost, all of the worker's leases but these.

        For a worker that lost touch: a grant whose answer never reached it is held by nobody.
        """
        ...

    async def leases(self) -> dict[str, list[Lease]]:
        """Who holds what at the moment: the checkpoints."""
        ...

    async def aclose(self) -> None:
        """Let go of the storage; leases stay as they are."""
        ...
