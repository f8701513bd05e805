"""From the storage into memory: what the embedded frontier knows when it is opened."""

import asyncio
from collections import Counter
from collections.abc import Iterable

import msgspec

from skitter.clock import Clock
from skitter.frontier.board import Board
from skitter.frontier.health import Health, HealthRow, Rules
from skitter.frontier.ledger import HeldLease, Job, entry_of, job_of
from skitter.frontier.policy import DomainState, Entry, JobQueue
from skitter.frontier.seen import SeenSet
from skitter.models import JobState
from skitter.politeness.backoff import BackoffState
from skitter.politeness.rates import Rate
from skitter.sql import read_statements
from skitter.sqlite import Database

__all__ = ["SQL", "Restorer"]

SQL = read_statements("skitter.frontier")

#: Rows looked at between two turns of the event loop, when all of them are.
_PORTION_ROWS = 4_096


class Restorer:
    """Reads what is stored; all times in the storage are epoch seconds, in memory monotonic."""

    def __init__(self, db: Database, clock: Clock, default_rate: Rate, rules: Rules) -> None:
        self._db = db
        self._default_rate = default_rate
        self._rules = rules
        self._now = clock.monotonic()
        self._behind_s = self._now - clock.time()
        self._learning = asyncio.Lock()
        #: Request -> its lift, of those that have one: few, since each took the death of a worker.
        self.lifts: dict[int, int] = {}
        self.read_lifts()

    def refill(self, domain: DomainState, job: Job, queue: JobQueue, limit: int) -> list[Entry]:
        """What is stored of a queue beyond its horizon, the best of it."""
        rows = self._db.query(
            SQL["refill"],
            {
                "domain": domain.id,
                "job": job.id,
                "priority": -queue.horizon[0],
                "id": queue.horizon[1],
                "limit": limit,
            },
        )
        lifts = self.lifts
        return [entry_of(job.id, domain.name, row, lifts.get(row[0], 0)) for row in rows]

    def read_lifts(self) -> None:
        """Which requests go ahead of their equals."""
        stored = self._db.query(SQL["has_lift"])
        self.lifts = dict(self._db.query(SQL["lifts"])) if stored else {}

    def last_numbers(self) -> tuple[int, int]:
        """The highest request number and lease token ever given."""
        (request,), (token,) = (self._db.query(SQL[n])[0] for n in ("last_request", "last_token"))
        return request, token

    def deadlines(self) -> dict[str, float]:
        """Until when each worker's leases are its own."""
        return {name: at_s + self._behind_s for name, at_s in self._db.query(SQL["workers"])}

    def priorities(self) -> dict[int, int]:
        """Job -> the priority it was submitted with, where it was."""
        if not self._db.query(SQL["has_priority"]):
            return {}
        return dict(self._db.query(SQL["priorities"]))

    def jobs(self) -> list[Job]:
        """Every job, oldest first; what it has seen is not read unless that is nothing."""
        jobs = [job_of(row) for row in self._db.query(SQL["jobs"])]
        for job in jobs:
            job.seen = None if job.accepted else SeenSet()
        return jobs

    async def learn(self, jobs: Iterable[Job]) -> None:
        """Read what these jobs have seen, if it was not yet; none may accept anything before."""
        for job in jobs:
            if job.seen is not None:
                continue
            async with self._learning:
                if job.seen is None:
                    job.seen = await self._seen(job)

    async def _seen(self, job: Job) -> SeenSet:
        """Millions take seconds, so others have their turn after every few thousand."""
        seen = SeenSet(expected=job.accepted)
        last, _ = self.last_numbers()
        for after in range(0, last, _PORTION_ROWS):
            rows = self._db.query(SQL["seen"], (after, after + _PORTION_ROWS, job.id))
            seen.take([row[0] for row in rows])
            await asyncio.sleep(0)
        for _ in seen.settle():
            await asyncio.sleep(0)
        return seen

    def fill(self, board: Board) -> None:
        """Put domains, queues, delayed requests and leases on a board that has the jobs."""
        by_id = self._domains()
        if self._db.query(SQL["has_budget"]):
            board.budgets.restore(self._db.query(SQL["budgets"]))
        board.domains.update((state.name, state) for state in by_id.values())
        # What waited when a job was stopped has been counted as dropped; only its rows remain.
        stopped = {job.id for job in board.jobs.values() if job.state is JobState.STOPPED}
        leased = self._db.query(SQL["leased"])
        # Looking for a lease of each request would double the time this takes.
        in_hands = Counter((domain, job) for _, _, job, domain, state, *_ in leased if state == 0)
        for domain, job, length in self._db.iterate(SQL["queue_lengths"]):
            waiting = length - in_hands[domain, job]
            if waiting and job not in stopped:
                board.stored(by_id[domain], board.jobs[job], waiting)
        for job, domain, until_s, *row in self._db.query(SQL["delayed"]):
            if job in stopped:
                continue
            entry = entry_of(job, by_id[domain].name, tuple(row), self.lifts.get(row[0], 0))
            board.delay(entry, by_id[domain], until_s + self._behind_s)
        for token, worker, job, domain, state, *row in leased:
            lift = self.lifts.get(row[0], 0)
            entry = entry_of(job, by_id[domain].name, tuple(row), lift, delayed=state == 1)
            board.hold(HeldLease(token, worker, entry, board.jobs[job], by_id[domain]))

    def _domains(self) -> dict[int, DomainState]:
        rules, by_id, healths = self._rules, {}, self._healths()
        for row in self._db.iterate(SQL["domains"]):
            domain_id, name, rate, crawl_delay_s, blocked, until_s, step, reason = row
            state = DomainState(domain_id, name, rules.rates.get(name, self._default_rate))
            state.barred = name in rules.barred
            if domain_id in healths:
                stored = msgspec.json.decode(healths[domain_id], type=HealthRow)
                state.health = Health.of_row(stored, rules, self._behind_s)
                state.apply_health()
            # Most domains have nothing of their own; what they share costs no memory each.
            if rate or crawl_delay_s is not None:
                own = msgspec.json.decode(rate, type=Rate) if rate else None
                state.set_manners(own, crawl_delay_s)
            state.blocked = bool(blocked)
            if until_s:
                state.backoff = BackoffState(step=step, until=until_s + self._behind_s)
            state.hold_reason = reason
            state.start_over(self._now)
            by_id[state.id] = state
        return by_id

    def _healths(self) -> dict[int, bytes]:
        """Domain -> its stored health, where there is one."""
        found = self._db.query(SQL["healths"]) if self._db.query(SQL["has_health"]) else []
        return dict(found)
