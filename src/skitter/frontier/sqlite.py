"""The embedded frontier: one SQLite file, owned by one process.

The storage is the truth; `Board` is the working memory over it. A verb changes both inside
one transaction. Should a transaction fail, memory and storage may differ, so the frontier
refuses all further verbs; opening it again starts from the storage.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random

from msgspec.structs import replace

from skitter.clock import Clock
from skitter.errors import UsageError
from skitter.frontier.base import AddResult, JobInfo
from skitter.frontier.board import Board
from skitter.frontier.budgets import BudgetPolicy, Budgets
from skitter.frontier.changes import Changes
from skitter.frontier.health import Rules
from skitter.frontier.ledger import HeldLease, Job, new_job_row, request_row
from skitter.frontier.policy import Entry
from skitter.frontier.restore import SQL, Restorer
from skitter.frontier.servers import Servers
from skitter.frontier.sqlite_domains import SqliteDomains
from skitter.models import (
    NO_STRAIN,
    Completion,
    Grant,
    JobSpec,
    JobState,
    Lease,
    Request,
    Strain,
    Verdict,
)
from skitter.politeness.backoff import BackoffPolicy
from skitter.politeness.rates import Rate
from skitter.sql import read_schema
from skitter.sqlite import Database

__all__ = ["FRONTIER_FORMAT", "SqliteFrontier"]

#: Version of the schema; a folder with a higher one is refused.
FRONTIER_FORMAT = 1

#: By how much a request goes ahead whose worker died.
_BOOST = 10
#: How soon to ask again for what another worker holds.
_OTHERS_S = 0.05
#: Taken off with each retry.
_RETRY_COST = 10


class SqliteFrontier(SqliteDomains):
    """See `skitter.frontier.base.Frontier` for the contract of each verb."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock,
        default_rate: Rate,
        backoff: BackoffPolicy,
        rules: Rules | None = None,
        budgets: BudgetPolicy | None = None,
        lease_s: float = 30.0,
        random: Callable[[], float] | None = None,
        read_only: bool = False,
    ) -> None:
        schema = read_schema("skitter.frontier")
        self._db = Database(path, schema, FRONTIER_FORMAT, read_only=read_only)
        if not read_only:
            self._db.execute(SQL["make_budget"])
            self._db.execute(SQL["make_priority"])
            self._db.execute(SQL["make_lift"])
        self._clock = clock
        self._default_rate = default_rate
        self._backoff = backoff
        self._rules = rules or Rules()
        self._lease_s = lease_s
        self._random = random or Random().random  # noqa: S311 - jitter, not a secret
        self._news = {}
        self._stored = Restorer(self._db, clock, default_rate, self._rules)
        servers = Servers(self._rules.server_concurrency, self._rules.server_delay_s)
        self._board = Board(self._stored.refill, servers, Budgets(budgets, clock.time()))
        self._jobs: dict[str, Job] = {}
        self._changing = Changes(self._db).change
        with self._db.snapshot():
            self._read_jobs()
            self._last_request, self._last_token = self._stored.last_numbers()
            self._deadlines = self._stored.deadlines()
            self._stored.fill(self._board)

    # Jobs

    async def open_job(
        self,
        name: str,
        job_id: str,
        spec: JobSpec,
        *,
        max_pages: int | None,
        priority: int | None = None,
    ) -> JobInfo:
        async with self._changing():
            if name not in self._jobs:
                row = new_job_row(name, job_id, spec, max_pages, self._clock.time())
                self._db.execute(SQL["add_job"], row)
                self._read_jobs()
            job = self._jobs[name]
            job.max_pages, job.priority = max_pages, priority
            self._save(job)
            self._db.execute(SQL["clear_priority"], (job.id,))
            if priority is not None:
                self._db.execute(SQL["save_priority"], (job.id, priority))
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
            self._board.budgets.forget(found.id)
            self._db.execute(SQL["clear_priority"], (found.id,))
            for rows in ("leases", "lifts", "requests", "budgets", "job"):
                self._db.execute(SQL[f"delete_{rows}"], (found.id,))
            self._stored.read_lifts()

    async def info(self, job: str) -> JobInfo | None:
        found = self._jobs.get(job)
        return found.info() if found else None

    async def jobs(self) -> list[JobInfo]:
        return [job.info() for job in self._jobs.values()]

    # Requests

    async def add(self, job: str, requests: Sequence[Request]) -> AddResult:
        await self._stored.learn((self._job(job),))
        async with self._changing():
            found = self._job(job)
            if found.state is JobState.STOPPED:
                return AddResult(refused=len(requests))
            accepted = self._add(found, requests)
            self._save(found)
        return AddResult(accepted=accepted, duplicate=len(requests) - accepted)

    async def lease(self, worker: str, limit: int, strain: Strain = NO_STRAIN) -> Grant:
        due_at = self._board.next_due_at()
        if due_at is not None and due_at <= self._clock.monotonic() and limit > 0:
            async with self._changing(durable=False):
                leases = self._lease(worker, limit, strain.step)
            due_at = self._board.next_due_at()
        else:
            leases = []
        news = self._take_news(worker) if worker in self._news else []
        if due_at is None:
            return Grant(leases=leases, news=news)
        wait_s = max(0.0, due_at - self._clock.monotonic())
        if wait_s == 0 and limit > 0 and not leases:
            wait_s = _OTHERS_S  # due, but in another worker's hands
        return Grant(leases=leases, next_due_s=wait_s, news=news)

    async def complete(self, worker: str, completions: Sequence[Completion]) -> list[Verdict]:
        verdicts = []
        held_by = self._board.held
        linking = [held_by.get(completion.token) for completion in completions if completion.links]
        await self._stored.learn(held.job for held in linking if held)
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
                    if held.entry.lift:
                        self._drop_lift(held.entry)
                    self._board.budgets.count(held.entry, held.domain.id, final, held.job.seen)
                    self._follow(held.job, final)
                self._board.end(held)
            self._db.executemany(SQL["end_request"], ended)
            self._db.executemany(SQL["end_lease"], tokens)
            self._db.executemany(SQL["save_budget"], self._board.budgets.changed())
            for job in touched.values():
                self._save(job)
        return verdicts

    # Leases

    async def extend(self, worker: str) -> None:
        async with self._changing(durable=False):
            self._extend(worker)

    async def set_lease(self, lease_s: float) -> None:
        self._lease_s = lease_s

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

    async def aclose(self) -> None:
        await self._db.aclose()

    # Inside a transaction

    def _add(self, job: Job, requests: Iterable[Request]) -> int:
        is_new = job.known.add
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

    def _lease(self, worker: str, limit: int, strain: int) -> list[Lease]:
        now = self._clock.monotonic()
        if self._deadlines.get(worker, now) <= now:
            self._extend(worker)
        granted: list[HeldLease] = []
        while len(granted) < limit and (taken := self._board.take(now, worker, strain)):
            entry, domain, share = taken
            self._last_token += 1
            job = self._board.jobs[entry.job]
            held = HeldLease(self._last_token, worker, entry, job, domain, share=share)
            if share is None:
                held.slot, held.refused = False, None if entry.drop else domain.refusal
            else:
                held.server_ip = domain.server_ip
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
        if completion.costs_try and not completion.refused:
            entry.tries += 1
            entry.request = replace(entry.request, priority=entry.request.priority - _RETRY_COST)
        elif not completion.refused:
            entry.holds += 1
        until_s = self._clock.time() + completion.after_s
        self._db.execute(
            SQL["delay_request"],
            (until_s, entry.rank, entry.tries, entry.holds, entry.id),
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
        entry.lift = self._stored.lifts[entry.id] = entry.lift + _BOOST
        self._db.execute(SQL["raise_request"], (entry.rank, entry.id))
        self._db.execute(SQL["save_lift"], (entry.id, entry.lift))
        self._board.offer(entry, held.domain)

    def _drop_lift(self, entry: Entry) -> None:
        del self._stored.lifts[entry.id]
        self._db.execute(SQL["end_lift"], (entry.id,))

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
        priorities = self._stored.priorities()
        for job in self._stored.jobs():
            if job.id not in self._board.jobs:
                job.priority = priorities.get(job.id)
                self._board.jobs[job.id] = self._jobs[job.name] = job

    def _expired(self) -> set[str]:
        now = self._clock.monotonic()
        return {name for name, deadline in self._deadlines.items() if deadline <= now}

    def _save(self, job: Job) -> None:
        self._db.execute(SQL["save_job"], job.row())

    def _job(self, name: str) -> Job:
        job = self._jobs.get(name)
        if job is None:
            message = f"no job named {name!r}; `skitter jobs list` shows those there are"
            raise UsageError(message)
        return job
