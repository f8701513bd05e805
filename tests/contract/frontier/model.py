"""The frontier as one would explain it: lists, sorting, no storage, no thought of speed.

Where the contract leaves a choice open (domains due at the same moment, jobs whose turn came
in the same step) the model does not decide: it says which leases would be right, and is told
which one was given.
"""

from dataclasses import dataclass, field
from math import inf

from msgspec.structs import replace

from skitter.models import Completion, JobCounts, JobState, Outcome, Request
from skitter.politeness.backoff import BackoffPolicy, BackoffState
from skitter.politeness.rates import Rate

BOOST = RETRY_COST = 10
#: What becomes of everything that waits, or would have to wait again, once its job is stopped.
STOPPED = Completion(token=0, outcome=Outcome.DROPPED, reason="stopped")


@dataclass(eq=False)
class ModelJob:
    name: str
    max_pages: int | None
    state: JobState = JobState.RUNNING
    seen: set[int] = field(default_factory=set)
    ended: list[Completion] = field(default_factory=list)


@dataclass(eq=False)
class ModelEntry:
    job: ModelJob
    request: Request
    number: int
    #: Of the request; what puts it ahead for a while is apart.
    priority: int
    lift: int = 0
    tries: int = 0
    holds: int = 0
    #: Set while it waits for its next try.
    until: float | None = None


@dataclass(eq=False)
class ModelLease:
    entry: ModelEntry
    worker: str
    slot: bool = True
    #: False: it was given before the frontier was last opened.
    fresh: bool = True


@dataclass(eq=False)
class ModelDomain:
    own: Rate | None = None
    crawl_delay_s: float | None = None
    blocked: bool = False
    backoff: BackoffState = field(default_factory=BackoffState)
    #: Rate limits met; each halves the number at once.
    limits: int = 0
    #: When each request was granted, and by which lease.
    grants: list[tuple[float, ModelLease | None]] = field(default_factory=list)
    last_sent: float = -inf


class Model:
    def __init__(self, rate: Rate, backoff: BackoffPolicy, lease_s: float, random: float) -> None:
        self.now = 0.0
        self.jobs: dict[str, ModelJob] = {}
        self.queue: list[ModelEntry] = []
        self.leases: dict[int, ModelLease] = {}
        self.domains: dict[str, ModelDomain] = {}
        self.deadlines: dict[str, float] = {}
        self._rate, self._backoff, self._lease_s, self._random = rate, backoff, lease_s, random
        self._turns: dict[tuple[str, ModelJob], int] = {}
        self._step = 0
        self._accepted = 0

    # What is seen from outside

    def counts(self, job: ModelJob) -> JobCounts:
        def ended(outcome: Outcome) -> list[Completion]:
            return [c for c in job.ended if c.outcome is outcome]

        reasons = [str(c.reason) for c in ended(Outcome.DROPPED)]
        return JobCounts(
            accepted=len(job.seen),
            done=len(ended(Outcome.DONE)),
            failed=len(ended(Outcome.FAILED)),
            redirected=len(ended(Outcome.REDIRECTED)),
            dropped={reason: reasons.count(reason) for reason in reasons},
            leased=self._leased(job),
            queued=sum(entry.job is job for entry in self.queue),
            body_bytes=sum(c.body_bytes for c in job.ended),
        )

    def in_flight(self, domain: str) -> int:
        return sum(x.slot and x.entry.request.domain == domain for x in self.leases.values())

    def waiting(self, domain: str) -> list[ModelEntry]:
        return [e for e in self.queue if e.request.domain == domain and e.until is None]

    def rate(self, domain: ModelDomain) -> Rate:
        rate, delay_s = domain.own or self._rate, domain.crawl_delay_s or 0.0
        if delay_s > rate.interval_s or (delay_s and not rate.moderated):
            rate = Rate.of_delay(max(delay_s, rate.interval_s), rate.concurrency)
        return replace(rate, concurrency=max(1, rate.concurrency // 2**domain.limits))

    def due_at(self, name: str) -> float:
        domain = self._domain(name)
        rate = self.rate(domain)
        times = [at for at, _ in domain.grants]
        if rate.moderated:
            due = max([*times[-1:], domain.last_sent]) + rate.interval_s
        else:
            tat = -inf
            for at in times:
                tat = max(tat, at) + rate.interval_s
            due = tat - (rate.window_s - rate.interval_s)
        return max(due, domain.backoff.until)

    def next_due(self, *, mind_limits: bool) -> float | None:
        """When time alone brings something; with or without what `max_pages` keeps back."""
        times = [entry.until for entry in self.queue if entry.until is not None]
        times += [self.due_at(name) for name in self._open_domains(mind_limits=mind_limits)]
        return min(times, default=None)

    # Verbs

    def open_job(self, name: str, max_pages: int | None) -> None:
        self.jobs.setdefault(name, ModelJob(name, max_pages)).max_pages = max_pages

    def set_state(self, job: ModelJob, state: JobState) -> None:
        if job.state is JobState.STOPPED:
            return
        job.state = state
        if state is JobState.STOPPED:
            for entry in [entry for entry in self.queue if entry.job is job]:
                self.queue.remove(entry)
                job.ended.append(STOPPED)
            self._turns = {key: turn for key, turn in self._turns.items() if key[1] is not job}

    def delete_job(self, name: str) -> None:
        job = self.jobs.pop(name)
        self.queue = [entry for entry in self.queue if entry.job is not job]
        self.leases = {t: x for t, x in self.leases.items() if x.entry.job is not job}
        self._turns = {key: turn for key, turn in self._turns.items() if key[1] is not job}

    def add(self, job: ModelJob, requests: list[Request]) -> int:
        accepted = 0
        self._step += 1
        for request in requests:
            if job.state is JobState.STOPPED or request.fingerprint in job.seen:
                continue
            job.seen.add(request.fingerprint)
            self._accepted += 1
            accepted += 1
            self._domain(request.domain)
            self._enqueue(ModelEntry(job, request, self._accepted, request.priority))
        return accepted

    def wake(self) -> None:
        """What every lease begins with: delayed requests whose time has come are ordinary."""
        self._step += 1
        woken = [e for e in self.queue if e.until is not None and e.until <= self.now]
        for entry in woken:
            self.queue.remove(entry)
            entry.until = None
            self._enqueue(entry)

    def candidates(self) -> list[ModelEntry]:
        """The requests that would be right to lease next."""
        due = {name: self.due_at(name) for name in self._open_domains(mind_limits=True)}
        due = {name: at for name, at in due.items() if at <= self.now}
        first = [name for name, at in due.items() if at == min(due.values())]
        return [entry for name in first for entry in self._candidates_of(name)]

    def lease(self, worker: str, entry: ModelEntry, token: int) -> None:
        if self.deadlines.get(worker, self.now) <= self.now:
            self.extend(worker)
        self._step += 1
        domain = entry.request.domain
        self.queue.remove(entry)
        self._turns[domain, entry.job] = self._step
        if not any(other.job is entry.job for other in self.waiting(domain)):
            del self._turns[domain, entry.job]
        lease = self.leases[token] = ModelLease(entry, worker)
        self._domain(domain).grants.append((self.now, lease))

    def fetched(self, worker: str, ages_s: dict[int, float | None]) -> None:
        for token, age_s in sorted(ages_s.items(), reverse=True):
            lease = self.leases.get(token)
            if lease is None or lease.worker != worker or not lease.slot:
                continue
            lease.slot = False
            domain = self._domain(lease.entry.request.domain)
            if age_s is not None:
                domain.last_sent = max(domain.last_sent, self.now - age_s)
            elif lease.fresh and domain.grants[-1][1] is lease:
                domain.grants.pop()

    def complete(self, worker: str, completion: Completion) -> bool:
        lease = self.leases.get(completion.token)
        if lease is None or lease.worker != worker:
            return False
        del self.leases[completion.token]
        entry = lease.entry
        if completion.outcome is Outcome.RETRY and entry.job.state is JobState.STOPPED:
            entry.job.ended.append(STOPPED)
        elif completion.outcome is Outcome.RETRY:
            entry.tries += completion.costs_try
            entry.holds += not completion.costs_try
            entry.priority -= RETRY_COST * completion.costs_try
            entry.until = self.now + completion.after_s
            self.queue.append(entry)
        else:
            entry.job.ended.append(completion)
            self.add(entry.job, list(completion.links))
        return True

    def extend(self, worker: str) -> None:
        self.deadlines[worker] = self.now + self._lease_s

    def reap(self, worker: str | None) -> int:
        dead = {w for w, at in self.deadlines.items() if at <= self.now}
        dead = dead if worker is None else {worker}
        lost = [token for token, lease in self.leases.items() if lease.worker in dead]
        self._step += 1
        for token in lost:
            lease = self.leases.pop(token)
            lease.entry.lift += BOOST
            if lease.slot:
                self._domain(lease.entry.request.domain).last_sent = self.now
            if lease.entry.job.state is JobState.STOPPED:
                lease.entry.job.ended.append(STOPPED)
            else:
                self._enqueue(lease.entry)
        self.deadlines = {w: at for w, at in self.deadlines.items() if w not in dead}
        return len(lost)

    def hold(self, name: str, retry_after_s: float | None) -> float:
        domain = self._domain(name)
        domain.limits += self.now >= domain.backoff.until
        domain.backoff = self._backoff.next_state(
            domain.backoff, self.now, retry_after_s, self._random
        )
        return max(0.0, domain.backoff.until - self.now)

    def set_manners(self, name: str, own: Rate | None, crawl_delay_s: float | None) -> None:
        domain = self._domain(name)
        domain.own = own
        # Of several wishes the longest counts; none forgets them all.
        longest_s = max(crawl_delay_s or 0.0, domain.crawl_delay_s or 0.0)
        domain.crawl_delay_s = longest_s if crawl_delay_s else None

    def block(self, name: str, *, blocked: bool) -> None:
        self._domain(name).blocked = blocked

    def reopen(self) -> None:
        """Only what is durable is left: not who was sent what and when, not whose turn it is."""
        for domain in self.domains.values():
            rate = self.rate(domain)
            spent = 1 if rate.moderated else int(rate.hits * rate.scale)
            domain.grants = [(self.now, None)] * spent
            domain.last_sent = self.now
        for lease in self.leases.values():
            lease.slot, lease.fresh = True, False
        self._turns = dict.fromkeys(self._turns, self._step)

    # Inside

    def _domain(self, name: str) -> ModelDomain:
        return self.domains.setdefault(name, ModelDomain())

    def _enqueue(self, entry: ModelEntry) -> None:
        self.queue.append(entry)
        self._turns.setdefault((entry.request.domain, entry.job), self._step)

    def _leased(self, job: ModelJob) -> int:
        return sum(lease.entry.job is job for lease in self.leases.values())

    def _can_lease(self, job: ModelJob, *, mind_limits: bool) -> bool:
        if job.state is not JobState.RUNNING:
            return False
        done = sum(c.outcome is Outcome.DONE for c in job.ended)
        if job.max_pages is None or not mind_limits:
            return True
        return done + self._leased(job) < job.max_pages

    def _open_domains(self, *, mind_limits: bool) -> list[str]:
        return [
            name
            for name, domain in self.domains.items()
            if not domain.blocked
            and self.in_flight(name) < self.rate(domain).concurrency
            and any(self._can_lease(e.job, mind_limits=mind_limits) for e in self.waiting(name))
        ]

    def _candidates_of(self, domain: str) -> list[ModelEntry]:
        waiting = [e for e in self.waiting(domain) if self._can_lease(e.job, mind_limits=True)]
        top = max(entry.priority + entry.lift for entry in waiting)
        best = [entry for entry in waiting if entry.priority + entry.lift == top]
        turn = min(self._turns[domain, entry.job] for entry in best)
        jobs = {entry.job for entry in best if self._turns[domain, entry.job] == turn}
        return [min((e for e in best if e.job is job), key=lambda e: e.number) for job in jobs]
