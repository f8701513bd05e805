"""A lease belongs to its worker until the deadline; then to somebody else."""

from collections.abc import Callable

from skitter.models import Completion, Outcome, Verdict
from skitter.politeness.rates import Rate

from .stage import LEASE_S, Stage, page


def test_a_retry_comes_back_when_its_time_has_come(free: Stage) -> None:
    free.job()
    free.add("job", [page(1)])
    free.end(free.lease_one(), Outcome.RETRY, after_s=5.0)
    grant = free.lease("w", 1)
    assert (grant.leases, grant.next_due_s) == ([], 5.0)
    free.clock.turn(4.75)
    assert free.lease_urls() == []
    free.clock.turn(0.25)
    assert free.lease_urls() == ["http://a.test/1"]


def test_a_counted_try_costs_priority_and_a_held_one_does_not(free: Stage) -> None:
    free.job()
    free.add("job", [page(1, priority=3)])
    free.end(free.lease_one(), Outcome.RETRY)
    lease = free.lease_one()
    assert (lease.tries, lease.holds, lease.request.priority) == (1, 0, -7)
    free.end(lease, Outcome.RETRY, costs_try=False)
    lease = free.lease_one()
    assert (lease.tries, lease.holds, lease.request.priority) == (1, 1, -7)
    free.kill()
    (survivor,) = free.leases()["w"]
    assert survivor == lease


def test_a_retry_falls_behind_what_was_its_equal(free: Stage) -> None:
    free.job()
    free.add("job", [page(1), page(2)])
    free.end(free.lease_one(), Outcome.RETRY)
    assert free.lease_urls() == ["http://a.test/2", "http://a.test/1"]


def test_leases_past_the_deadline_are_requeued_ahead_of_their_equals(free: Stage) -> None:
    free.job()
    free.add("job", [page(1), page(2), page(3)])
    lost = free.lease_one("dead")
    free.clock.turn(LEASE_S - 0.25)
    assert free.reap() == 0
    free.clock.turn(0.25)
    assert free.reap() == 1
    again = free.lease_one("w")
    assert again.request.url == lost.request.url
    assert again.token > lost.token
    assert again.tries == 0


def test_what_puts_a_request_ahead_is_not_its_priority_even_after_a_restart(free: Stage) -> None:
    """Links inherit the priority of their page: theirs must not depend on who died meanwhile."""
    free.job()
    free.add("job", [page(1), page("above", priority=5), page(2), page(3)])
    before = free.lease("dead", 4).leases
    free.end(before[0], Outcome.DONE, worker="dead")
    assert free.reap("dead") == 3
    free.add("job", [page("later", priority=5)])
    free.reopen()
    again = free.lease("w", 4).leases
    assert [lease.request for lease in again[:3]] == [lease.request for lease in before[1:]]
    free.end(again[0], Outcome.RETRY)
    free.reap("w")
    free.reopen()
    assert [lease.request.priority for lease in free.lease("w", 4).leases] == [0, 0, 5, -10]


def test_a_dead_worker_is_reaped_at_once_and_alone(free: Stage) -> None:
    free.job()
    free.add("job", [page(n) for n in range(4)])
    free.lease("dead", 2)
    free.lease("alive", 2)
    assert free.reap("dead") == 2
    assert free.reap("dead") == 0
    assert [lease.request.url for lease in free.leases()["alive"]] == [
        "http://a.test/2",
        "http://a.test/3",
    ]
    assert free.lease_urls() == ["http://a.test/0", "http://a.test/1"]


def test_a_heartbeat_renews_all_leases_of_its_worker(free: Stage) -> None:
    free.job()
    free.add("job", [page(1), page(2)])
    free.lease("alive", 1)
    free.lease("silent", 1)
    free.clock.turn(LEASE_S - 1.0)
    free.extend("alive")
    free.clock.turn(LEASE_S - 1.0)
    assert free.reap() == 1
    assert set(free.leases()) == {"alive"}
    free.clock.turn(1.0)
    assert free.reap() == 1


def test_a_new_lease_is_good_for_a_whole_lease_time_after_a_silence(free: Stage) -> None:
    free.job()
    free.add("job", [page(1)])
    free.extend("w")
    free.clock.turn(10 * LEASE_S)
    free.lease_one()
    assert free.reap() == 0
    free.clock.turn(LEASE_S)
    assert free.reap() == 1


def test_a_stale_completion_and_its_links_are_ignored(free: Stage) -> None:
    free.job()
    free.add("job", [page(1)])
    stale = free.lease_one("slow")
    free.reap("slow")
    fresh = free.lease_one("quick")
    before = free.info("job")
    assert free.end(stale, worker="slow", links=(page(2, is_seed=True),), body_bytes=9) == "stale"
    assert free.info("job") == before
    assert free.end(fresh, worker="quick") == "accepted"
    assert free.end(fresh, worker="quick") == "stale"
    assert free.info("job").counts.done == 1


def test_only_the_holder_may_complete(free: Stage) -> None:
    free.job()
    free.add("job", [page(1)])
    lease = free.lease_one("owner")
    assert free.end(lease, worker="thief") == Verdict.STALE
    assert free.end(lease, worker="owner") == Verdict.ACCEPTED


def test_one_verdict_per_completion_in_their_order(free: Stage) -> None:
    free.job()
    free.add("job", [page(1), page(2)])
    one, two = free.lease("w", 2).leases
    tokens = [one.token, 999, two.token, one.token]
    verdicts = free.complete("w", [Completion(token=t, outcome=Outcome.DONE) for t in tokens])
    assert verdicts == ["accepted", "stale", "accepted", "stale"]
    assert free.complete("w", []) == []


def test_a_lost_request_keeps_its_distance(polite: Stage) -> None:
    polite.job()
    polite.add("job", [page(1)])
    polite.lease_one("dead")
    polite.clock.turn(10.0)
    polite.reap("dead")
    assert polite.lease("w", 1).next_due_s == 1.0


def test_leases_show_who_holds_what(free: Stage) -> None:
    free.job()
    free.add("job", [page(n) for n in range(3)])
    given = {worker: free.lease(worker, 1).leases for worker in ("a", "b")}
    assert free.leases() == given
    free.kill()
    assert free.leases() == given


def test_a_reaped_retry_keeps_its_tries(free: Stage) -> None:
    free.job()
    free.add("job", [page(1)])
    free.end(free.lease_one(), Outcome.RETRY, after_s=1.0)
    free.clock.turn(1.0)
    free.lease_one("dead")
    free.kill()
    free.reap("dead")
    assert free.lease_one().tries == 1


def test_a_paced_domain_has_one_holder_at_a_time(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage(Rate.of_delay(1.0, concurrency=2))
    stage.job()
    stage.add("job", [page(number) for number in range(3)])
    first = stage.lease_one("w1")
    stage.clock.turn(1.0)
    assert stage.lease("w2", 5).leases == [], "w1 may not have sent yet, and only w1 knows"
    second = stage.lease_one("w1")
    stage.fetched("w1", {first.token: 0.5, second.token: 0.0})
    stage.clock.turn(1.0)
    assert len(stage.lease("w2", 5).leases) == 1


def test_a_worker_that_lost_touch_keeps_what_it_names(free: Stage) -> None:
    stage = free
    stage.job()
    stage.add("job", [page(1, "a.test"), page(2, "b.test")])
    kept, lost = stage.lease("w", 5).leases
    assert stage.still_held("w", [kept.token, lost.token]) == {kept.token, lost.token}
    assert stage.still_held("other", [kept.token]) == set()
    assert stage.retain("w", [kept.token]) == 1
    assert stage.still_held("w", [kept.token, lost.token]) == {kept.token}
    assert stage.end(lost) is Verdict.STALE
    assert stage.end(kept) is Verdict.ACCEPTED


def test_another_lease_time_counts_from_the_next_heartbeat(free: Stage) -> None:
    free.job()
    free.add("job", [page(1), page(2)])
    free.lease("old", 1)
    free.lease("new", 1)
    free.set_lease(2.0)
    free.extend("new")
    free.clock.turn(2.0)
    assert free.reap() == 1
    assert list(free.leases()) == ["old"]
    free.clock.turn(LEASE_S - 2.0)
    assert free.reap() == 1
