"""Random verbs on the frontier and on a model of it; they must never disagree."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from skitter.errors import UsageError
from skitter.frontier import policy
from skitter.models import Completion, JobState, Outcome, Request
from skitter.politeness.rates import Rate

from .model import Model
from .stage import BACKENDS, BACKOFF, LEASE_S, RANDOM, Stage, add_up, page

BURSTY = "burst.test"
FREE = "free.test"
DOMAINS = ("a.test", "b.test", FREE, BURSTY)
#: The bursty domain keeps its rate, see `Model.due_at`.
TUNABLE = DOMAINS[:-1]
WORKERS = ("w1", "w2", "w3")
JOBS = ("j1", "j2", "j3")
RATES = (None, Rate.of_delay(0.5, concurrency=2), Rate.of_delay(0.0, concurrency=9), Rate())

moments = st.integers(0, 24).map(lambda n: n / 4)
requests = st.builds(
    page,
    st.integers(0, 60),
    st.sampled_from(DOMAINS),
    priority=st.sampled_from((-10, 0, 0, 0, 10)),
)
batches = st.lists(requests, min_size=1, max_size=12)
workers = st.sampled_from(WORKERS)
jobs = st.sampled_from(JOBS)


class Comparison(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        # In memory: durability is another test's matter, and this one commits thousands of times.
        memory = Path("/dev/shm")
        self.folder = tempfile.mkdtemp(dir=memory if memory.is_dir() else None)
        self.stage = Stage(BACKENDS["sqlite"], Path(self.folder))
        self.model = Model(self.stage.rate, BACKOFF, LEASE_S, RANDOM)
        self._sync()
        self._set_rate(BURSTY, Rate(hits=4, window_s=2.0, moderated=False, concurrency=6))
        self._set_rate(FREE, Rate.of_delay(0.0, concurrency=9))
        self.open_job("j1", None)

    def teardown(self) -> None:
        self.stage.close()
        shutil.rmtree(self.folder)

    def _sync(self) -> None:
        self.model.now = self.stage.clock.monotonic()

    def _set_rate(self, domain: str, rate: Rate | None) -> None:
        self.stage.set_rate(domain, rate)
        self.model.set_manners(domain, rate, None)

    @rule(job=jobs, max_pages=st.none() | st.integers(0, 12))
    def open_job(self, job: str, max_pages: int | None) -> None:
        self.stage.job(job, max_pages=max_pages)
        self.model.open_job(job, max_pages)

    @rule(job=jobs, batch=batches)
    def add(self, job: str, batch: list[Request]) -> None:
        if job in self.model.jobs:
            result = self.stage.add(job, batch)
            assert result.accepted == self.model.add(self.model.jobs[job], batch)

    @rule(worker=workers, limit=st.integers(0, 12))
    def lease(self, worker: str, limit: int) -> None:
        grant = self.stage.lease(worker, limit)
        if limit:
            self.model.wake()
        for lease in grant.leases:
            right = {(e.job.name, e.request.url): e for e in self.model.candidates()}
            assert (lease.job, lease.request.url) in right
            entry = right[lease.job, lease.request.url]
            given = (lease.request.priority, lease.tries, lease.holds)
            assert given == (entry.priority, entry.tries, entry.holds)
            self.model.lease(worker, entry, lease.token)
        if len(grant.leases) < limit:
            assert not self.model.candidates()
        self._check_next_due(grant.next_due_s)

    def _check_next_due(self, found_s: float | None) -> None:
        """Domains that only `max_pages` keeps back may be named as due, or not."""
        found = float("inf") if found_s is None else found_s
        bounds = []
        for mind_limits in (False, True):
            at = self.model.next_due(mind_limits=mind_limits)
            bounds.append(float("inf") if at is None else max(0.0, at - self.model.now))
        assert bounds[0] <= found <= bounds[1]

    @precondition(lambda self: self.model.leases)
    @rule(data=st.data(), worker=workers)
    def fetched(self, data: st.DataObject, worker: str) -> None:
        tokens = st.sampled_from(sorted(self.model.leases))
        ages_s = data.draw(st.dictionaries(tokens, st.none() | moments, max_size=4))
        self.stage.fetched(worker, ages_s)
        self.model.fetched(worker, ages_s)

    @precondition(lambda self: self.model.leases)
    @rule(data=st.data(), worker=workers)
    def complete(self, data: st.DataObject, worker: str) -> None:
        own = [t for t, lease in self.model.leases.items() if lease.worker == worker]
        tokens = st.sampled_from(sorted(own or self.model.leases)) | st.integers(1, 9)
        completions = data.draw(
            st.lists(
                st.builds(
                    Completion,
                    token=tokens,
                    outcome=st.sampled_from((Outcome.DONE, Outcome.RETRY, *Outcome)),
                    reason=st.sampled_from(("robots", "trap")),
                    after_s=moments,
                    costs_try=st.booleans(),
                    links=st.lists(requests, max_size=4).map(tuple),
                    body_bytes=st.integers(0, 9),
                ),
                max_size=6,
            )
        )
        verdicts = self.stage.complete(worker, completions)
        expected = [self.model.complete(worker, completion) for completion in completions]
        assert [verdict == "accepted" for verdict in verdicts] == expected

    @rule(worker=workers)
    def extend(self, worker: str) -> None:
        self.stage.extend(worker)
        self.model.extend(worker)

    @rule(worker=st.none() | workers)
    def reap(self, worker: str | None) -> None:
        assert self.stage.reap(worker) == self.model.reap(worker)

    @rule(domain=st.sampled_from(DOMAINS), retry_after_s=st.none() | moments)
    def hold(self, domain: str, retry_after_s: float | None) -> None:
        assert self.stage.hold(domain, retry_after_s, "x") == self.model.hold(domain, retry_after_s)

    @rule(
        domain=st.sampled_from(TUNABLE),
        rate=st.sampled_from(RATES),
        delay_s=st.sampled_from((None, 0.0, 0.75, 2.0)),
    )
    def set_manners(self, domain: str, rate: Rate | None, delay_s: float | None) -> None:
        # With a lease out, what its share was under the old rate is the frontier's own affair.
        if not self.model.in_flight(domain):
            self.stage.set_rate(domain, rate)
            self.stage.set_crawl_delay(domain, delay_s)
            self.model.set_manners(domain, rate, delay_s)

    @rule(domain=st.sampled_from(DOMAINS), blocked=st.booleans())
    def block(self, domain: str, blocked: bool) -> None:
        self.stage.block(domain, blocked=blocked)
        self.model.block(domain, blocked=blocked)

    @rule(job=jobs, state=st.sampled_from((JobState.RUNNING, JobState.RUNNING, *JobState)))
    def set_state(self, job: str, state: JobState) -> None:
        if job not in self.model.jobs:
            return
        if self.model.jobs[job].state is JobState.STOPPED and state is JobState.RUNNING:
            with pytest.raises(UsageError):
                self.stage.set_state(job, state)
            return
        self.stage.set_state(job, state)
        self.model.set_state(self.model.jobs[job], state)

    @rule(job=jobs, really=st.integers(0, 3))
    def delete_job(self, job: str, really: int) -> None:
        if job in self.model.jobs and not really:
            self.stage.delete_job(job)
            self.model.delete_job(job)

    @rule(seconds=moments | st.sampled_from((20.0, 60.0, 2_000.0)))
    def turn(self, seconds: float) -> None:
        self.stage.clock.turn(seconds)
        self._sync()

    @rule(killed=st.booleans())
    def reopen(self, killed: bool) -> None:
        (self.stage.kill if killed else self.stage.reopen)()
        self.model.reopen()

    @invariant()
    def same_counters(self) -> None:
        infos = self.stage.jobs()
        assert all(add_up(info) for info in infos)
        found = {info.name: (info.state, info.counts) for info in infos}
        jobs = self.model.jobs.values()
        assert found == {job.name: (job.state, self.model.counts(job)) for job in jobs}

    @invariant()
    def same_leases_and_queues(self) -> None:
        held = {x.token: worker for worker, given in self.stage.leases().items() for x in given}
        assert held == {token: lease.worker for token, lease in self.model.leases.items()}
        for found in self.stage.backlog():
            expected = (len(self.model.waiting(found.domain)), self.model.in_flight(found.domain))
            assert (found.queued, found.in_flight) == expected
            due_in_s = max(0.0, self.model.due_at(found.domain) - self.model.now)
            assert found.due_in_s == due_in_s


@pytest.mark.parametrize("memory_entries", [1_000, 4])
def test_the_frontier_agrees_with_its_model(
    monkeypatch: pytest.MonkeyPatch, memory_entries: int
) -> None:
    monkeypatch.setattr(policy, "HEAP_ENTRIES", 3)
    monkeypatch.setattr(policy, "MEMORY_ENTRIES", memory_entries)
    run_state_machine_as_test(
        Comparison,
        settings=settings(
            max_examples=60,
            stateful_step_count=50,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
