"""From the storage into memory: what the embedded frontier knows when it is opened."""

import msgspec

from skitter.clock import Clock
from skitter.frontier.board import Board
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


class Restorer:
    """Reads what is stored; all times in the storage are epoch seconds, in memory monotonic."""

    def __init__(self, db: Database, clock: Clock, default_rate: Rate) -> None:
        self._db = db
        self._default_rate = default_rate
        self._now = clock.monotonic()
        self._behind_s = self._now - clock.time()

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
        return [entry_of(job.id, domain.name, row) for row in rows]

    def last_numbers(self) -> tuple[int, int]:
        """The highest request number and lease token ever given."""
        (request,), (token,) = (self._db.query(SQL[n])[0] for n in ("last_request", "last_token"))
        return request, token

    def deadlines(self) -> dict[str, float]:
        """Until when each worker's leases are its own."""
        return {name: at_s + self._behind_s for name, at_s in self._db.query(SQL["workers"])}

    def jobs(self) -> list[Job]:
        """Every job, oldest first."""
        return [job_of(row) for row in self._db.query(SQL["jobs"])]

    def seen(self, job: Job) -> SeenSet:
        """The fingerprints of everything the job ever accepted."""
        rows = self._db.iterate(SQL["seen"], (job.id,))
        return SeenSet((row[0] for row in rows), expected=job.accepted)

    def fill(self, board: Board) -> None:
        """Put domains, queues, delayed requests and leases on a board that has the jobs."""
        by_id = self._domains()
        board.domains.update((state.name, state) for state in by_id.values())
        # What waited when a job was stopped has been counted as dropped; only its rows remain.
        stopped = {job.id for job in board.jobs.values() if job.state is JobState.STOPPED}
        for domain, job, length in self._db.iterate(SQL["queue_lengths"]):
            if job not in stopped:
                board.stored(by_id[domain], board.jobs[job], length)
        for job, domain, until_s, *row in self._db.query(SQL["delayed"]):
            if job in stopped:
                continue
            entry = entry_of(job, by_id[domain].name, tuple(row))
            board.delay(entry, by_id[domain], until_s + self._behind_s)
        for token, worker, job, domain, state, *row in self._db.query(SQL["leased"]):
            entry = entry_of(job, by_id[domain].name, tuple(row), delayed=state == 1)
            board.hold(HeldLease(token, worker, entry, board.jobs[job], by_id[domain]))

    def _domains(self) -> dict[int, DomainState]:
        by_id = {}
        for row in self._db.iterate(SQL["domains"]):
            domain_id, name, rate, crawl_delay_s, blocked, until_s, step, reason = row
            state = DomainState(domain_id, name, self._default_rate)
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
