"""The embedded frontier's working memory: who is due, what waits, what is in whose hands.

Everything here can be rebuilt from the storage; nothing here does I/O except through the
`refill` callable it is given.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain, count

from skitter.frontier import policy
from skitter.frontier.budgets import Budgets
from skitter.frontier.ledger import HeldLease, Job
from skitter.frontier.policy import DomainState, Entry, JobQueue, Schedule, Share
from skitter.frontier.servers import Servers

__all__ = ["Board"]

Taken = tuple[Entry, DomainState, Share | None]
#: The domain, the job, its queue there, and how many entries at most.
Refill = Callable[[DomainState, Job, JobQueue, int], Iterable[Entry]]


class Board:
    """Domains on a schedule, entries in their queues, leases by token.

    Entries in memory are bounded: above `policy.MEMORY_ENTRIES` every queue that is offered
    one keeps no more than its share, which may be none; storage gives them back one by one.
    """

    def __init__(self, refill: Refill, servers: Servers, budgets: Budgets | None = None) -> None:
        self.jobs: dict[int, Job] = {}
        self.domains: dict[str, DomainState] = {}
        self.held: dict[int, HeldLease] = {}
        self.servers = servers
        self.budgets = budgets or Budgets()
        self._schedule = Schedule()
        self._delayed: list[tuple[float, int, Entry, DomainState]] = []
        self._order = count(1)
        self._refill = refill
        self._queues = 0
        self._in_memory = 0

    def offer(self, entry: Entry, domain: DomainState) -> None:
        """Queue an entry whose time has come."""
        job = self.jobs[entry.job]
        queue = domain.queues.get(entry.job)
        if queue is None:
            queue = self._open_queue(domain, job)
        before = queue.spillable
        queue.offer(entry, self._share())
        self._in_memory += queue.spillable - before
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

    def take(self, now: float, worker: str, strain: int = 0) -> Taken | None:
        """The next entry for a worker, its domain's slot and rate spent; None: nothing is due.

        Without a share nothing was spent: its domain is dead, or `Entry.drop` says why it is not
        to be fetched.
        """
        self._wake_delayed(now)
        of_others: deque[DomainState] = deque()
        try:
            return self._take(now, worker, strain, of_others)
        finally:
            for domain in of_others:
                self.list(domain)

    def _take(
        self, now: float, worker: str, strain: int, of_others: deque[DomainState]
    ) -> Taken | None:
        while (domain := self._schedule.pop_due(now)) is not None:
            dead = False
            if domain.health is not None and domain.health.dead_until:
                dead = domain.health.is_dead(now)
                if not dead:
                    self.list(domain)
                    continue
            if not dead and not domain.may_go_to(worker):
                of_others.append(domain)
                continue
            if not dead and domain.server_ip is not None and self._waits(domain, now):
                continue
            queue = self._next_queue(domain, strain)
            if queue is None:
                if strain:
                    of_others.append(domain)
                continue
            entry = queue.pop()
            self._in_memory -= not entry.delayed
            if not queue:
                self._forget(domain, entry.job)
            fetch = not dead and self.budgets.admit(entry, domain.id)
            share = self._spend(domain, now, worker) if fetch else None
            self.jobs[entry.job].leased += 1
            self.list(domain)
            return entry, domain, share
        return None

    def _waits(self, domain: DomainState, now: float) -> bool:
        """True: its server has no place for it, and it comes back when there is one."""
        server_ip = domain.server_ip or ""
        if self.servers.is_full(server_ip):
            self.servers.park(domain)
            return True
        due_at = self.servers.due_at(server_ip)
        if due_at > now:
            self._schedule.list(domain, due_at)
        return due_at > now

    def _spend(self, domain: DomainState, now: float, worker: str) -> Share:
        if domain.server_ip is not None:
            self.servers.take(domain.server_ip, now)
        return domain.grant(now, worker)

    def next_due_at(self) -> float | None:
        """When the passing of time alone may make something due; None: never."""
        times = [self._schedule.next_due_at(), self._delayed[0][0] if self._delayed else None]
        return min((at for at in times if at is not None), default=None)

    def hold(self, held: HeldLease) -> None:
        """Note a lease that was given before; it occupies its domain."""
        self.held[held.token] = held
        held.job.leased += 1
        held.domain.in_flight += 1
        held.domain.holder = held.worker
        self.budgets.reopen(held.entry, held.domain.id)
        self.list(held.domain)

    def free_slot(self, held: HeldLease) -> None:
        """The transfer of a lease has ended."""
        if held.slot:
            held.slot = False
            held.domain.in_flight -= 1
            # Whoever waits for its place on the server comes before it.
            if held.server_ip is not None:
                self.leave_server(held)
            self.list(held.domain)

    def leave_server(self, held: HeldLease) -> None:
        """Give up the place of a lease on its server to a domain that waits for one."""
        server_ip, held.server_ip = held.server_ip or "", None
        self.servers.release(server_ip)
        while (waiting := self.servers.next_parked(server_ip)) is not None:
            self.list(waiting)
            # Alone on its server, a domain that never comes would keep all others waiting.
            if waiting.listed is not None and self.servers.in_flight(server_ip):
                break

    def end(self, held: HeldLease) -> None:
        """A lease is over, whatever became of it."""
        del self.held[held.token]
        self.budgets.close(held.entry)
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
        if domain.is_closed or not self._leasable(domain):
            self._schedule.unlist(domain)
        else:
            self._schedule.list(domain, domain.due_at)

    def purge(self, job: Job) -> None:
        """Forget what a job has waiting; its leases stay."""
        for domain in list(job.domains):
            self._forget(domain, job.id)
            self.list(domain)
        self._delayed = [item for item in self._delayed if item[2].job != job.id]
        heapq.heapify(self._delayed)

    def drop_job(self, job: Job) -> None:
        """Forget a job, its queues and its leases."""
        self.purge(job)
        for held in [held for held in self.held.values() if held.job is job]:
            self.end(held)
        del self.jobs[job.id]

    def busiest(self, limit: int) -> Iterable[DomainState]:
        """The domains with the longest queues, longest first, and those that are special."""
        found = self.domains.values()
        busy = (domain for domain in found if domain.queues or domain.in_flight)
        idle = (d for d in found if not d.queues and not d.in_flight and d.is_special)
        return heapq.nlargest(limit, chain(busy, idle), key=lambda domain: domain.waiting)

    def _leasable(self, domain: DomainState) -> bool:
        return any(self.jobs[job].can_lease for job in domain.queues)

    def _wake_delayed(self, now: float) -> None:
        while self._delayed and self._delayed[0][0] <= now:
            _, _, entry, domain = heapq.heappop(self._delayed)
            self.offer(entry, domain)

    def _next_queue(self, domain: DomainState, strain: int) -> JobQueue | None:
        """The queue to serve: highest priority first, then the job that waited longest."""
        best: tuple[int, int] | None = None
        chosen = None
        for job_id, queue in list(domain.queues.items()):
            job = self.jobs[job_id]
            if not job.can_lease or (strain and job.waits_out(strain)):
                continue
            if queue.needs_refill:
                self._read(domain, job, queue)
            key = queue.best()
            if key is None:
                self._forget(domain, job_id)
            elif best is None or (key[0], queue.turn) < best:
                best, chosen = (key[0], queue.turn), queue
        if chosen is not None:
            chosen.turn = next(self._order)
        return chosen

    def _share(self) -> int:
        """How many entries a queue may keep in memory, at the moment."""
        if self._in_memory < policy.MEMORY_ENTRIES:
            return policy.HEAP_ENTRIES
        return min(policy.HEAP_ENTRIES, policy.MEMORY_ENTRIES // max(1, self._queues))

    def _read(self, domain: DomainState, job: Job, queue: JobQueue) -> None:
        limit = max(1, self._share())
        before = queue.spillable
        queue.refill(self._refill(domain, job, queue, limit), limit)
        self._in_memory += queue.spillable - before

    def _open_queue(self, domain: DomainState, job: Job, stored: int = 0) -> JobQueue:
        """A queue for a job at a domain; it joins the turn at its end."""
        queue = domain.queues[job.id] = JobQueue(stored)
        queue.turn = next(self._order)
        self._queues += 1
        job.domains.add(domain)
        return queue

    def _forget(self, domain: DomainState, job_id: int) -> None:
        queue = domain.queues.pop(job_id, None)
        if queue is not None:
            self._queues -= 1
            self._in_memory -= queue.spillable
        self.jobs[job_id].domains.discard(domain)
