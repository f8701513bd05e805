"""The embedded frontier: one SQLite file, owned by one process.

The storage is the truth; `Board` is the working memory over it. A verb changes both inside
one transaction. Should a transaction fail, memory and storage may differ, so the frontier
refuses all further verbs; opening it again starts from the storage.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random

import msgspec
from msgspec.structs import replace

from skitter.clock import Clock
from skitter.errors import UsageError
from skitter.frontier.base import AddResult, DomainInfo, JobInfo
from skitter.frontier.board import Board
from skitter.frontier.changes import Changes
from skitter.frontier.ledger import HeldLease, Job, domain_info, new_job_row, request_row
from skitter.frontier.policy import DomainState, Entry
from skitter.frontier.restore import SQL, Restorer
from skitter.models import (
    Completion,
    Grant,
    JobSpec,
    JobState,
    Lease,
    Request,
    Verdict,
)
from skitter.politeness.backoff import BackoffPolicy
from skitter.politeness.rates import Rate
from skitter.sql import read_schema
from skitter.sqlite import Database

__all__ = ["FRONTIER_FORMAT", "SqliteFrontier"]

#: Version of the schema; a folder with a higher one is refused.
FRONTIER_FORMAT = 1

#: Added to the priority of a request whose worker died.
_BOOST = 10
#: How soon to ask again for what another worker holds.
_OTHERS_S = 0.05
#: Taken off with each retry.
_RETRY_COST = 10


class SqliteFrontier:
    """See `skitter.frontier.base.Frontier` for the contract of each verb."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock,
        default_rate: Rate,
        backoff: BackoffPolicy,
        lease_s: float = 30.0,
        random: Callable[[], float] | None = None,
        read_only: bool = False,
    ) -> None:
        schema = read_schema("skitter.frontier")
        self._db = Database(path, schema, FRONTIER_FORMAT, read_only=read_only)
        self._clock = clock
        self._default_rate = default_rate
        self._backoff = backoff
        self._lease_s = lease_s
        self._random = random or Random().random  # noqa: S311 - jitter, not a secret
        self._stored = Restorer(self._db, clock, default_rate)
        self._board = Board(self._stored.refill)
        self._jobs: dict[str, Job] = {}
        self._changing = Changes(self._db).change
        with self._db.snapshot():
            self._read_jobs()
            self._last_request, self._last_token = self._stored.last_numbers()
            self._deadlines = self._stored.deadlines()
            self._stored.fill(self._board)

    # Jobs

    async def open_job(
        self, name: str, job_id: str, spec: JobSpec, *, max_pages: int | None
    ) -> JobInfo:
        async with self._changing():
            if name not in self._jobs:
                row = new_job_row(name, job_id, spec, max_pages, self._clock.time())
                self._db.execute(SQL["add_job"], row)
                self._read_jobs()
            job = self._jobs[name]
            job.max_pages = max_pages
            self._save(job)
            self._board.wake(job)
        return job.info()

    async def set_state(self, job: str, state: JobState) -> None:
        async with self._changing():
            found = self._job(job)
            if found.state is JobState.STOPPED:
                found.refuse_to_run(state)
                return
            if state is JobState.STOPPED:
                found.drop_stopped(found.queued)
                self._board.purge(found)
            found.state = state
            self._save(found)
            self._board.wake(found)

    async def delete_job(self, job: str) -> None:
        async with self._changing():
            found = self._job(job)
            del self._jobs[job]
            self._board.drop_job(found)
            for statement in ("delete_leases", "delete_requests", "delete_job"):
                self._db.execute(SQL[statement], (found.id,))

    async def info(self, job: str) -> JobInfo | None:
        found = self._jobs.get(job)
        return found.info() if found else None

    async def jobs(self) -> list[JobInfo]:
        return [job.info() for job in self._jobs.values()]

    # Requests

    async def add(self, job: str, requests: Sequence[Request]) -> AddResult:
        async with self._changing():
            found = self._job(job)
            if found.state is JobState.STOPPED:
                return AddResult(refused=len(requests))
            accepted = self._add(found, requests)
            self._save(found)
        return AddResult(accepted=accepted, duplicate=len(requests) - accepted)

    async def lease(self, worker: str, limit: int) -> Grant:
        due_at = self._board.next_due_at()
        if due_at is not None and due_at <= self._clock.monotonic() and limit > 0:
            async with self._changing(durable=False):
                leases = self._lease(worker, limit)
            due_at = self._board.next_due_at()
        else:
            leases = []
        if due_at is None:
            return Grant(leases=leases)
        wait_s = max(0.0, due_at - self._clock.monotonic())
        if wait_s == 0 and limit > 0 and not leases:
            wait_s = _OTHERS_S  # due, but in another worker's hands
        return Grant(leases=leases, next_due_s=wait_s)

    async def fetched(self, worker: str, ages_s: Mapping[int, float | None]) -> None:
        now = self._clock.monotonic()
        found = [self._board.held.get(token) for token in sorted(ages_s)]
        ended = [held for held in found if held and held.worker == worker and held.slot]
        # Newest first: a share of the rate can be given back only while it is the latest one.
        for held in reversed(ended):
            age_s = ages_s[held.token]
            if age_s is not None:
                held.domain.sent(now - age_s)
            elif held.share is not None:
                held.domain.refund(held.share)
        # Oldest first: domains that become due at the same moment keep their turn.
        for held in ended:
            self._board.free_slot(held)

    async def complete(self, worker: str, completions: Sequence[Completion]) -> list[Verdict]:
        verdicts = []
        async with self._changing():
            touched: dict[int, Job] = {}
            ended: list[tuple[int, str | None, int]] = []
            tokens: list[tuple[int]] = []
            for completion in completions:
                held = self._board.held.get(completion.token)
                if held is None or held.worker != worker:
                    verdicts.append(Verdict.STALE)
                    continue
                verdicts.append(Verdict.ACCEPTED)
                touched[held.job.id] = held.job
                tokens.append((held.token,))
                final = held.job.final(completion)
                if final is None:
                    self._retry(held, completion)
                else:
                    ended.append((held.job.count(final), final.reason, held.entry.id))
                    self._follow(held.job, final)
                self._board.end(held)
            self._db.executemany(SQL["end_request"], ended)
            self._db.executemany(SQL["end_lease"], tokens)
            for job in touched.values():
                self._save(job)
        return verdicts

    # Leases

    async def extend(self, worker: str) -> None:
        async with self._changing(durable=False):
            self._extend(worker)

    async def reap(self, worker: str | None = None) -> int:
        if worker is None and not self._expired():
            return 0
        async with self._changing():
            dead = self._expired() if worker is None else {worker}
            lost = [held for held in self._board.held.values() if held.worker in dead]
            for held in lost:
                self._requeue(held)
            for name in dead:
                self._deadlines.pop(name, None)
                self._db.execute(SQL["remove_worker"], (name,))
        return len(lost)

    async def still_held(self, worker: str, tokens: Sequence[int]) -> set[int]:
        held = self._board.held
        return {token for token in tokens if token in held and held[token].worker == worker}

    async def retain(self, worker: str, tokens: Sequence[int]) -> int:
        async with self._changing():
            kept = set(tokens)
            lost = [
                h for h in self._board.held.values() if h.worker == worker and h.token not in kept
            ]
            for held in lost:
                self._requeue(held)
        return len(lost)

    async def leases(self) -> dict[str, list[Lease]]:
        found: dict[str, list[Lease]] = {}
        for held in self._board.held.values():
            found.setdefault(held.worker, []).append(held.as_lease())
        return found

    # Domains

    async def hold(self, domain: str, retry_after_s: float | None, reason: str) -> float:
        async with self._changing():
            now = self._clock.monotonic()
            state = self._domain(domain)
            state.backoff = self._backoff.next_state(
                state.backoff, now, retry_after_s, self._random()
            )
            state.hold_reason = reason
            wait_s = max(0.0, state.backoff.until - now)
            self._db.execute(
                SQL["set_hold"],
                (self._clock.time() + wait_s, state.backoff.step, reason, state.id),
            )
            self._board.list(state)
        return wait_s

    async def set_rate(self, domain: str, rate: Rate | None) -> None:
        async with self._changing():
            state = self._domain(domain)
            state.set_manners(rate, state.crawl_delay_s)
            self._save_manners(state)

    async def set_crawl_delay(self, domain: str, crawl_delay_s: float | None) -> None:
        async with self._changing():
            state = self._domain(domain)
            state.add_crawl_delay(crawl_delay_s)
            self._save_manners(state)

    async def block(self, domain: str, *, blocked: bool = True) -> None:
        async with self._changing():
            state = self._domain(domain)
            state.blocked = blocked
            self._save_manners(state)

    async def backlog(self, limit: int = 100) -> list[DomainInfo]:
        now = self._clock.monotonic()
        return [domain_info(domain, now) for domain in self._board.busiest(limit)]

    async def aclose(self) -> None:
        await self._db.aclose()

    # Inside a transaction

    def _add(self, job: Job, requests: Iterable[Request]) -> int:
        if job.seen is None:
            job.seen = self._stored.seen(job)
        is_new = job.seen.add
        rows = []
        for request in requests:
            if not is_new(request.fingerprint):
                continue
            self._last_request += 1
            entry = Entry(self._last_request, job.id, request)
            domain = self._domain(request.domain)
            rows.append(request_row(entry, domain))
            self._board.offer(entry, domain)
        self._db.executemany(SQL["add_request"], rows)
        job.accepted += len(rows)
        return len(rows)

    def _lease(self, worker: str, limit: int) -> list[Lease]:
        now = self._clock.monotonic()
        if self._deadlines.get(worker, now) <= now:
            self._extend(worker)
        granted: list[HeldLease] = []
        while len(granted) < limit and (taken := self._board.take(now, worker)) is not None:
            entry, domain, share = taken
            self._last_token += 1
            job = self._board.jobs[entry.job]
            held = HeldLease(self._last_token, worker, entry, job, domain, share=share)
            self._board.held[held.token] = held
            granted.append(held)
        since_s = self._clock.time()
        self._db.executemany(
            SQL["add_lease"],
            [(held.token, held.entry.id, worker, since_s) for held in granted],
        )
        return [held.as_lease() for held in granted]

    def _retry(self, held: HeldLease, completion: Completion) -> None:
        entry = held.entry
        if completion.costs_try:
            entry.tries += 1
            entry.request = replace(entry.request, priority=entry.request.priority - _RETRY_COST)
        else:
            entry.holds += 1
        until_s = self._clock.time() + completion.after_s
        self._db.execute(
            SQL["delay_request"],
            (until_s, entry.request.priority, entry.tries, entry.holds, entry.id),
        )
        self._board.delay(entry, held.domain, self._clock.monotonic() + completion.after_s)

    def _requeue(self, held: HeldLease) -> None:
        entry, job = held.entry, held.job
        self._db.execute(SQL["end_lease"], (held.token,))
        if held.slot:
            # Whether it was sent is not known: keep the distance as if it had been just now.
            held.domain.sent(self._clock.monotonic())
        self._board.end(held)
        if job.state is JobState.STOPPED:
            self._db.execute(SQL["end_request"], (*job.drop_stopped(1), entry.id))
            self._save(job)
            return
        entry.request = replace(entry.request, priority=entry.request.priority + _BOOST)
        self._db.execute(SQL["raise_request"], (entry.request.priority, entry.id))
        self._board.offer(entry, held.domain)

    def _follow(self, job: Job, completion: Completion) -> None:
        if not completion.links or job.state is JobState.STOPPED:
            return
        self._add(job, completion.links)
        seeds = (link.url for link in completion.links if link.is_seed)
        known = dict.fromkeys((*job.scope_seeds, *seeds))
        if len(known) > len(job.scope_seeds):
            job.scope_seeds = tuple(known)
            job.version += 1

    def _extend(self, worker: str) -> None:
        self._deadlines[worker] = self._clock.monotonic() + self._lease_s
        self._db.execute(SQL["extend"], (worker, self._clock.time() + self._lease_s))

    def _read_jobs(self) -> None:
        for job in self._stored.jobs():
            if job.id not in self._board.jobs:
                self._board.jobs[job.id] = self._jobs[job.name] = job

    def _expired(self) -> set[str]:
        now = self._clock.monotonic()
        return {name for name, deadline in self._deadlines.items() if deadline <= now}

    def _save(self, job: Job) -> None:
        self._db.execute(SQL["save_job"], job.row())

    def _save_manners(self, state: DomainState) -> None:
        own = msgspec.json.encode(state.own_rate) if state.own_rate else None
        self._db.execute(
            SQL["set_manners"], (own, state.crawl_delay_s, int(state.blocked), state.id)
        )
        self._board.list(state)

    def _domain(self, name: str) -> DomainState:
        state = self._board.domains.get(name)
        if state is None:
            state = DomainState(len(self._board.domains) + 1, name, self._default_rate)
            self._board.domains[name] = state
            self._db.execute(SQL["add_domain"], (state.id, name))
        return state

    def _job(self, name: str) -> Job:
        job = self._jobs.get(name)
        if job is None:
            message = f"no job named {name!r}; `skitter jobs list` shows those there are"
            raise UsageError(message)
        return job
