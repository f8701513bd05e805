"""The embedded frontier's working memory: who is due, what waits, what is in whose hands.

Everything here can be rebuilt from the storage; nothing here does I/O except through the
`refill` callable it is given.
"""

import heapq
from collections.abc import Callable, Iterable
from itertools import count

from skitter.frontier.ledger import HeldLease, Job
from skitter.frontier.policy import DomainState, Entry, JobQueue, Schedule, Share

__all__ = ["Board"]

Refill = Callable[[DomainState, Job, JobQueue], Iterable[Entry]]


class Board:
    """Domains on a schedule, entries in their queues, leases by token."""

    def __init__(self, refill: Refill) -> None:
        self.jobs: dict[int, Job] = {}
        self.domains: dict[str, DomainState] = {}
        self.held: dict[int, HeldLease] = {}
        self._schedule = Schedule()
        self._delayed: list[tuple[float, int, Entry, DomainState]] = []
        self._order = count(1)
        self._refill = refill

    def offer(self, entry: Entry, domain: DomainState) -> None:
        """Queue an entry whose time has come."""
        job = self.jobs[entry.job]
        queue = domain.queues.get(entry.job)
        if queue is None:
            queue = self._open_queue(domain, job)
        queue.offer(entry)
        if domain.listed is None:
            self.list(domain)

    def stored(self, domain: DomainState, job: Job, length: int) -> None:
        """Note that the storage has `length` entries queued, none of them in memory yet."""
        self._open_queue(domain, job, length)
        self.list(domain)

    def delay(self, entry: Entry, domain: DomainState, until: float) -> None:
        """Queue an entry for later."""
        entry.delayed = True
        heapq.heappush(self._delayed, (until, next(self._order), entry, domain))

    def take(self, now: float) -> tuple[Entry, DomainState, Share] | None:
        """The next entry to lease, its domain's slot and rate spent; None: nothing is due."""
        self._wake_delayed(now)
        while (domain := self._schedule.pop_due(now)) is not None:
            queue = self._next_queue(domain)
            if queue is None:
                continue
            entry = queue.pop()
            if not queue:
                self._forget(domain, entry.job)
            share = domain.grant(now)
            self.jobs[entry.job].leased += 1
            self.list(domain)
            return entry, domain, share
        return None

    def next_due_at(self) -> float | None:
        """When the passing of time alone may make something due; None: never."""
        times = [self._schedule.next_due_at(), self._delayed[0][0] if self._delayed else None]
        return min((at for at in times if at is not None), default=None)

    def hold(self, held: HeldLease) -> None:
        """Note a lease that was given before; it occupies its domain."""
        self.held[held.token] = held
        held.job.leased += 1
        held.domain.in_flight += 1
        self.list(held.domain)

    def free_slot(self, held: HeldLease) -> None:
        """The transfer of a lease has ended."""
        if held.slot:
            held.slot = False
            held.domain.in_flight -= 1
            self.list(held.domain)

    def end(self, held: HeldLease) -> None:
        """A lease is over, whatever became of it."""
        del self.held[held.token]
        self.free_slot(held)
        job = held.job
        starved = not job.can_lease
        job.leased -= 1
        if starved and job.can_lease:
            self.wake(job)

    def wake(self, job: Job) -> None:
        """List every domain of a job that can be leased from again."""
        for domain in job.domains:
            self.list(domain)

    def list(self, domain: DomainState) -> None:
        """Bring a domain's place on the schedule up to date."""
        if domain.blocked or not domain.has_slot or not self._leasable(domain):
            self._schedule.unlist(domain)
        else:
            self._schedule.list(domain, domain.due_at)

    def drop_job(self, job: Job) -> None:
        """Forget a job, its queues and its leases."""
        for domain in list(job.domains):
            self._forget(domain, job.id)
            self.list(domain)
        self._delayed = [item for item in self._delayed if item[2].job != job.id]
        heapq.heapify(self._delayed)
        for held in [held for held in self.held.values() if held.job is job]:
            self.end(held)
        del self.jobs[job.id]

    def _leasable(self, domain: DomainState) -> bool:
        return any(self.jobs[job].can_lease for job in domain.queues)

    def _wake_delayed(self, now: float) -> None:
        while self._delayed and self._delayed[0][0] <= now:
            _, _, entry, domain = heapq.heappop(self._delayed)
            self.offer(entry, domain)

    def _next_queue(self, domain: DomainState) -> JobQueue | None:
        """The queue to serve: highest priority first, then the job that waited longest."""
        best: tuple[int, int] | None = None
        chosen = None
        for job_id, queue in list(domain.queues.items()):
            job = self.jobs[job_id]
            if not job.can_lease:
                continue
            if queue.needs_refill:
                queue.refill(self._refill(domain, job, queue))
            key = queue.best()
            if key is None:
                self._forget(domain, job_id)
            elif best is None or (key[0], queue.turn) < best:
                best, chosen = (key[0], queue.turn), queue
        if chosen is not None:
            chosen.turn = next(self._order)
        return chosen

    def _open_queue(self, domain: DomainState, job: Job, stored: int = 0) -> JobQueue:
        """A queue for a job at a domain; it joins the turn at its end."""
        queue = domain.queues[job.id] = JobQueue(stored)
        queue.turn = next(self._order)
        job.domains.add(domain)
        return queue

    def _forget(self, domain: DomainState, job_id: int) -> None:
        domain.queues.pop(job_id, None)
        self.jobs[job_id].domains.discard(domain)
