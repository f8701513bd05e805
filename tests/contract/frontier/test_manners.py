"""Politeness lives in the frontier: whoever asks, a domain is asked only when it is due."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from skitter.politeness.rates import Rate

from .stage import BACKOFF, RANDOM, Stage, page

FIRST_HOLD_S = BACKOFF.first_s * (1 + BACKOFF.jitter * RANDOM)


def fill(stage: Stage, *domains: str, pages: int = 50) -> None:
    stage.job()
    stage.add("job", [page(n, domain) for n in range(pages) for domain in domains or ("a.test",)])


def test_requests_to_a_domain_are_spaced_whoever_asks(polite: Stage) -> None:
    fill(polite)
    sent = []
    for n in range(30):
        worker = f"w{n % 3}"
        for lease in polite.lease(worker, 5).leases:
            sent.append(polite.clock.monotonic())
            polite.fetched(worker, {lease.token: 0.0})
        polite.clock.turn(0.25)
    assert len(sent) == 8
    assert all(later - earlier >= 1.0 for earlier, later in pairwise(sent))


def test_an_empty_grant_says_when_to_ask_again(polite: Stage) -> None:
    assert polite.lease("w", 1).next_due_s is None
    fill(polite)
    polite.fetched("w", {polite.lease_one().token: 0.0})
    polite.clock.turn(0.25)
    grant = polite.lease("w", 1)
    assert (grant.leases, grant.next_due_s) == ([], 0.75)
    polite.clock.turn(0.75)
    assert polite.lease_urls() == ["http://a.test/1"]


def test_nothing_is_due_by_time_while_the_slot_is_taken(polite: Stage) -> None:
    fill(polite)
    lease = polite.lease_one()
    polite.clock.turn(20.0)
    grant = polite.lease("v", 1)
    assert (grant.leases, grant.next_due_s) == ([], None)
    polite.end(lease)
    assert len(polite.lease_urls()) == 1


def test_never_more_at_once_than_the_limit(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage(Rate.of_delay(0.0, concurrency=3))
    fill(stage)
    leases = stage.lease("w", 99).leases
    assert len(leases) == 3
    stage.fetched("w", {leases[0].token: 0.0, leases[1].token: 0.0})
    assert len(stage.lease("v", 99).leases) == 2
    assert stage.lease("v", 99).leases == []


def test_one_busy_domain_does_not_hold_up_another(polite: Stage) -> None:
    fill(polite, "a.test", "b.test", "c.test", pages=2)
    assert sorted(polite.lease_urls()) == [f"http://{d}.test/0" for d in "abc"]


def test_a_bursty_domain_gives_its_hits_at_once_and_then_keeps_the_rate(
    make_stage: Callable[..., Stage],
) -> None:
    stage = make_stage(Rate(hits=4, window_s=8.0, moderated=False, concurrency=9))
    fill(stage)
    assert len(stage.lease_urls()) == 4
    grant = stage.lease("w", 9)
    assert (grant.leases, grant.next_due_s) == ([], 2.0)
    stage.clock.turn(2.0)
    assert len(stage.lease_urls()) == 1
    for lease in stage.leases()["w"]:
        stage.end(lease)
    stage.clock.turn(100.0)
    assert len(stage.lease_urls()) == 4


def test_fetched_frees_the_slot_before_the_lease_ends(polite: Stage) -> None:
    fill(polite)
    lease = polite.lease_one()
    polite.clock.turn(1.0)
    polite.fetched("w", {lease.token: 1.0})
    assert len(polite.lease_urls()) == 1
    assert polite.info("job").counts.leased == 2


def test_only_the_holder_frees_a_slot_and_only_once(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage(Rate.of_delay(0.0, concurrency=2))
    fill(stage)
    first, _ = stage.lease("w", 2).leases
    stage.fetched("thief", {first.token: 0.0, 999: 0.0})
    assert stage.lease_urls() == []
    stage.fetched("w", {first.token: 0.0})
    stage.fetched("w", {first.token: 0.0})
    stage.end(first)
    assert len(stage.lease_urls()) == 1


def test_the_distance_is_kept_from_the_real_send(polite: Stage) -> None:
    fill(polite)
    lease = polite.lease_one()
    polite.clock.turn(2.0)
    polite.fetched("w", {lease.token: 0.25})
    assert polite.lease("w", 1).next_due_s == 0.75


def test_a_request_that_was_never_sent_gives_its_share_back(polite: Stage) -> None:
    fill(polite)
    polite.fetched("w", {polite.lease_one().token: None})
    assert len(polite.lease_urls()) == 1


def test_an_old_share_does_not_bring_two_requests_together(
    make_stage: Callable[..., Stage],
) -> None:
    stage = make_stage(Rate.of_delay(1.0, concurrency=9))
    fill(stage)
    unsent = stage.lease_one()
    stage.clock.turn(1.0)
    stage.lease_one()
    stage.clock.turn(0.5)
    stage.fetched("w", {unsent.token: None})
    assert stage.lease("w", 1).next_due_s == 0.5


def test_a_whole_unsent_burst_is_given_back(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage(Rate(hits=4, window_s=8.0, moderated=False, concurrency=9))
    fill(stage)
    leases = stage.lease("w", 9).leases
    stage.fetched("w", {lease.token: None for lease in leases})
    assert len(stage.lease_urls()) == 4


def test_a_lease_says_how_far_apart_its_domain_wants_requests(polite: Stage) -> None:
    fill(polite, "a.test", "b.test")
    polite.set_rate("b.test", Rate(hits=2, window_s=5.0, moderated=False))
    paces = {lease.request.domain: lease.pace_s for lease in polite.lease("w", 2).leases}
    assert paces == {"a.test": 1.0, "b.test": 0.0}


@pytest.mark.parametrize(("crawl_delay_s", "gap_s"), [(5.0, 5.0), (0.5, 1.0), (None, 1.0)])
def test_the_stricter_of_rate_and_crawl_delay_holds(
    polite: Stage, crawl_delay_s: float | None, gap_s: float
) -> None:
    polite.set_crawl_delay("a.test", crawl_delay_s)
    fill(polite)
    lease = polite.lease_one()
    polite.fetched("w", {lease.token: 0.0})
    assert (lease.pace_s, polite.lease("w", 1).next_due_s) == (gap_s, gap_s)


def test_a_crawl_delay_ends_bursts(polite: Stage) -> None:
    polite.set_rate("a.test", Rate(hits=5, window_s=10.0, moderated=False, concurrency=9))
    polite.set_crawl_delay("a.test", 1.0)
    fill(polite)
    assert len(polite.lease_urls()) == 1
    assert polite.lease("w", 1).next_due_s == 2.0


def test_new_manners_count_from_the_last_request(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage(Rate.of_delay(1.0, concurrency=9))
    fill(stage)
    stage.lease_one()
    stage.set_crawl_delay("a.test", 10.0)
    assert stage.lease("w", 1).next_due_s == 10.0
    stage.set_crawl_delay("a.test", None)
    assert stage.lease("w", 1).next_due_s == 1.0
    stage.set_rate("a.test", Rate.of_delay(3.0, concurrency=9))
    assert stage.lease("w", 1).next_due_s == 3.0
    stage.set_rate("a.test", None)
    assert stage.lease("w", 1).next_due_s == 1.0


def test_a_held_domain_waits_as_long_as_it_said(polite: Stage) -> None:
    fill(polite, "a.test", "b.test")
    assert polite.hold("a.test", 120.0, "http_429") == 120.0
    assert polite.lease_urls() == ["http://b.test/0"]
    polite.clock.turn(119.5)
    assert polite.lease("w", 1).next_due_s == 0.5
    polite.clock.turn(0.5)
    assert polite.lease_urls() == ["http://a.test/0"]


def test_never_earlier_than_told_however_long(polite: Stage) -> None:
    three_days_s = 3 * 86_400.0
    assert polite.hold("a.test", three_days_s, "http_503") == three_days_s


def test_the_latest_end_of_a_hold_wins(polite: Stage) -> None:
    polite.hold("a.test", 100.0, "http_429")
    polite.clock.turn(10.0)
    assert polite.hold("a.test", 20.0, "http_429") == 90.0
    assert polite.hold("a.test", 200.0, "http_429") == 200.0


def test_holds_climb_one_step_per_incident_and_are_forgiven(polite: Stage) -> None:
    waits = []
    for _ in range(3):
        waits.append(polite.hold("a.test", None, "http_503"))
        polite.clock.turn(1.0)
        # More answers of the same incident: requests that were in flight when it began.
        assert polite.hold("a.test", None, "http_503") == waits[-1] - 1.0
        polite.clock.turn(waits[-1] + 60.0)
    assert waits == [FIRST_HOLD_S, 2 * FIRST_HOLD_S, 4 * FIRST_HOLD_S]
    polite.clock.turn(BACKOFF.forgive_s)
    assert polite.hold("a.test", None, "http_503") == FIRST_HOLD_S


def test_a_blocked_domain_keeps_its_queue(polite: Stage) -> None:
    polite.block("a.test")
    fill(polite, pages=2)
    grant = polite.lease("w", 1)
    assert (grant.leases, grant.next_due_s) == ([], None)
    (domain,) = polite.backlog()
    assert (domain.queued, domain.blocked) == (2, True)
    polite.block("a.test", blocked=False)
    assert len(polite.drain()) == 2


def test_backlog_shows_the_longest_queues_first(polite: Stage) -> None:
    fill(polite, "a.test", pages=2)
    polite.add("job", [page(n, "b.test") for n in range(4)])
    polite.lease("w", 2)
    polite.hold("b.test", 30.0, "http_429")
    polite.add("job", [page(0, "c.test")])
    found = polite.backlog(2)
    assert [(d.domain, d.queued, d.in_flight, d.due_in_s, d.hold_reason) for d in found] == [
        ("b.test", 3, 1, 30.0, "http_429"),
        ("a.test", 1, 1, 1.0, None),
    ]
    polite.clock.turn(30.0)
    assert polite.backlog(1)[0].hold_reason is None
