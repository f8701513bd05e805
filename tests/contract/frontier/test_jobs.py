"""A job's states, limits and counters."""

import pytest

from skitter.errors import UsageError
from skitter.frontier.base import AddResult
from skitter.models import Completion, JobCounts, JobState, Outcome

from .stage import Stage, add_up, page


def test_a_new_job_runs_with_its_seeds_as_scope(free: Stage) -> None:
    info = free.job(max_pages=3)
    assert (info.name, info.job_id, info.state) == ("job", "id-of-job", JobState.RUNNING)
    assert (info.scope_seeds, info.version, info.max_pages) == (("http://a.test/",), 0, 3)
    assert info.counts == JobCounts()
    assert info.created_s == free.clock.time()
    assert free.info("job") == info


def test_opening_again_takes_the_job_up(free: Stage) -> None:
    free.job(max_pages=3)
    free.add("job", [page(1)])
    again = free.job(max_pages=5)
    assert (again.counts.accepted, again.max_pages) == (1, 5)


def test_jobs_are_listed_oldest_first(free: Stage) -> None:
    for name in ("c", "a", "b"):
        free.job(name)
    assert [info.name for info in free.jobs()] == ["c", "a", "b"]
    free.kill()
    assert [info.name for info in free.jobs()] == ["c", "a", "b"]


@pytest.mark.parametrize("state", [s for s in JobState if s is not JobState.RUNNING])
def test_only_a_running_job_is_leased_from(free: Stage, state: JobState) -> None:
    free.job()
    free.job("other")
    free.add("job", [page(n) for n in range(3)])
    lease = free.lease_one()
    free.set_state("job", state)
    free.add("other", [page(7)])
    assert free.lease_urls() == ["http://a.test/7"]
    assert free.lease("w", 1).next_due_s is None
    assert free.end(lease) == "accepted"
    assert free.info("job").counts.done == 1
    free.kill()
    assert (free.info("job").state, free.lease_urls()) == (state, [])


def test_a_paused_job_takes_requests_and_goes_on(free: Stage) -> None:
    free.job()
    free.add("job", [page(1)])
    free.set_state("job", JobState.PAUSED)
    assert free.add("job", [page(2)]) == AddResult(accepted=1)
    free.set_state("job", JobState.RUNNING)
    assert len(free.lease_urls()) == 2


def test_a_stopped_job_takes_no_requests_and_no_links(free: Stage) -> None:
    free.job()
    free.add("job", [page(1)])
    lease = free.lease_one()
    free.set_state("job", JobState.STOPPED)
    assert free.add("job", [page(2), page(3)]) == AddResult(refused=2)
    free.end(lease, links=(page(4),))
    assert free.info("job").counts == JobCounts(accepted=1, done=1)


def test_a_stop_drops_what_waits_with_a_count(free: Stage) -> None:
    free.job()
    free.add("job", [page(n) for n in range(6)])
    leases = free.lease("w", 4).leases
    free.end(leases[0], Outcome.RETRY, after_s=60.0)
    free.set_state("job", JobState.STOPPED)
    assert free.info("job").counts == JobCounts(accepted=6, leased=3, dropped={"stopped": 3})
    free.end(leases[1])
    free.end(leases[2], Outcome.RETRY, after_s=1.0)
    free.reap("w")
    ended = JobCounts(accepted=6, done=1, dropped={"stopped": 5})
    assert free.info("job").counts == ended
    assert free.backlog() == []
    free.kill()
    free.clock.turn(90.0)
    assert (free.lease_urls(), free.lease("w", 1).next_due_s) == ([], None)
    assert (free.info("job").counts, free.backlog()) == (ended, [])


def test_a_stopped_job_stays_stopped(free: Stage) -> None:
    free.job()
    free.add("job", [page(1)])
    free.set_state("job", JobState.STOPPED)
    with pytest.raises(UsageError, match="was stopped"):
        free.set_state("job", JobState.RUNNING)
    for state in (JobState.PAUSED, JobState.FINISHED, JobState.STOPPED):
        free.set_state("job", state)
        info = free.info("job")
        assert (info.state, info.counts.dropped) == (JobState.STOPPED, {"stopped": 1})
    assert free.lease_urls() == []


def test_never_more_done_than_max_pages(free: Stage) -> None:
    free.job(max_pages=3)
    free.add("job", [page(n, f"d{n}.test") for n in range(10)])
    leases = free.lease("w", 9).leases
    assert len(leases) == 3
    free.end(leases[0], links=(page("more"),))
    assert free.lease_urls() == []
    assert free.lease("w", 1).next_due_s is None
    free.end(leases[1], Outcome.FAILED)
    free.end(leases[2], Outcome.REDIRECTED)
    assert len(free.drain(1)) == 2
    counts = free.info("job").counts
    assert (counts.done, counts.failed, counts.redirected, counts.queued) == (3, 1, 1, 6)


def test_a_retry_frees_its_place_under_max_pages(free: Stage) -> None:
    free.job(max_pages=1)
    free.add("job", [page(1), page(2)])
    free.end(free.lease_one(), Outcome.RETRY, after_s=60.0)
    assert free.lease_urls() == ["http://a.test/2"]


def test_a_raised_max_pages_goes_on(free: Stage) -> None:
    free.job(max_pages=1)
    free.add("job", [page(n) for n in range(3)])
    assert len(free.drain()) == 1
    free.kill()
    assert free.drain() == []
    free.job(max_pages=2)
    assert len(free.drain()) == 1
    free.job(max_pages=None)
    assert len(free.drain()) == 1


def test_one_job_at_its_limit_does_not_stop_another(free: Stage) -> None:
    free.job("small", max_pages=0)
    free.job("large")
    free.add("small", [page(1, priority=99)])
    free.add("large", [page(2)])
    assert free.lease_urls() == ["http://a.test/2"]


def test_every_outcome_is_counted(free: Stage) -> None:
    free.job()
    free.add("job", [page(n) for n in range(8)])
    done, gone, failed, robots, trap, again, _ = free.lease("w", 7).leases
    free.complete(
        "w",
        [
            Completion(token=done.token, outcome=Outcome.DONE, body_bytes=100),
            Completion(token=gone.token, outcome=Outcome.REDIRECTED, body_bytes=10),
            Completion(token=failed.token, outcome=Outcome.FAILED),
            Completion(token=robots.token, outcome=Outcome.DROPPED, reason="robots"),
            Completion(token=trap.token, outcome=Outcome.DROPPED, reason="trap"),
            Completion(token=again.token, outcome=Outcome.RETRY, after_s=1.0),
        ],
    )
    expected = JobCounts(
        accepted=8,
        done=1,
        redirected=1,
        failed=1,
        dropped={"robots": 1, "trap": 1},
        leased=1,
        queued=2,
        body_bytes=110,
    )
    assert free.info("job").counts == expected
    assert add_up(free.info("job"))
    free.kill()
    assert free.info("job").counts == expected


def test_links_of_a_page_are_queued_with_its_completion(free: Stage) -> None:
    free.job()
    free.add("job", [page(1)])
    free.end(free.lease_one(), links=(page(1), page(2), page(3), page(2)))
    assert free.info("job").counts == JobCounts(accepted=3, done=1, queued=2)
    assert free.lease_urls() == ["http://a.test/2", "http://a.test/3"]


def test_what_a_seed_redirects_to_widens_the_scope(free: Stage) -> None:
    free.job()
    free.add("job", [page("", is_seed=True), page(1)])
    seed, other = free.lease("w", 2).leases
    target = page("", "b.test", is_seed=True, hops=1)
    free.end(seed, Outcome.REDIRECTED, links=(target,))
    free.end(other, links=(page("x", "c.test"), target))
    assert free.lease_one().job_version == 1
    info = free.info("job")
    assert (info.scope_seeds, info.version) == (("http://a.test/", "http://b.test/"), 1)
    free.kill()
    assert free.info("job") == info


def test_a_deleted_job_is_forgotten_and_the_others_stay(free: Stage) -> None:
    for name in ("gone", "kept"):
        free.job(name)
        free.add(name, [page(n) for n in range(4)])
    gone, kept = free.lease("w", 2).leases
    late = free.lease_one()
    free.end(late, Outcome.RETRY, after_s=5.0)
    free.delete_job("gone")
    assert free.info("gone") is None
    assert [info.name for info in free.jobs()] == ["kept"]
    assert (free.end(gone), free.end(kept)) == ("stale", "accepted")
    free.kill()
    free.clock.turn(9.0)
    assert {lease.job for lease in free.lease("w", 99).leases} == {"kept"}
    free.job("gone")
    assert free.add("gone", [page(n) for n in range(4)]) == AddResult(accepted=4)


def test_deleting_a_job_gives_its_slots_back(polite: Stage) -> None:
    polite.job("gone")
    polite.job("kept")
    polite.add("gone", [page(1)])
    polite.lease_one()
    polite.add("kept", [page(2)])
    polite.delete_job("gone")
    polite.clock.turn(1.0)
    assert polite.lease_urls() == ["http://a.test/2"]


def test_what_max_pages_left_is_told_as_dropped_once_the_job_is_finished(free: Stage) -> None:
    free.job(max_pages=1)
    free.add("job", [page(n) for n in range(3)])
    free.end(free.lease_one())
    before = free.info("job")
    assert before.told == before.counts
    free.set_state("job", JobState.FINISHED)
    after = free.info("job")
    assert (after.counts.queued, after.counts.dropped) == (2, {})
    assert (after.told.queued, after.told.dropped) == (0, {"max_pages": 2})
