"""What a frontier knows when it is opened again, after a clean end or a `kill -9`."""

from collections.abc import Callable

import pytest

from skitter.models import Completion, Outcome
from skitter.politeness.rates import Rate

from .stage import LEASE_S, Stage, page

ENDS = pytest.mark.parametrize("end", [Stage.reopen, Stage.kill])
End = Callable[[Stage], None]


@ENDS
def test_queue_counters_and_dedupe_survive(free: Stage, end: End) -> None:
    free.job()
    free.add("job", [page(n) for n in range(10)])
    leases = free.lease("w", 4).leases
    free.complete("w", [Completion(token=x.token, outcome=Outcome.DONE) for x in leases[:3]])
    before = free.jobs()
    end(free)
    assert free.jobs() == before
    assert free.add("job", [page(n) for n in range(11)]).accepted == 1
    assert free.lease_urls() == [f"http://a.test/{n}" for n in range(4, 11)]


@ENDS
def test_leases_survive_and_occupy_their_domain_until_reaped(polite: Stage, end: End) -> None:
    polite.job()
    polite.add("job", [page(1), page(2)])
    lease = polite.lease_one()
    end(polite)
    polite.clock.turn(LEASE_S - 0.25)
    grant = polite.lease("v", 1)
    assert (grant.leases, grant.next_due_s, polite.reap()) == ([], None, 0)
    polite.clock.turn(0.25)
    assert polite.reap() == 1
    polite.clock.turn(1.0)
    assert polite.lease_one("v").request.url == lease.request.url


@ENDS
def test_a_lease_can_be_completed_after_it(polite: Stage, end: End) -> None:
    polite.job()
    polite.add("job", [page(1), page(2)])
    lease = polite.lease_one()
    end(polite)
    polite.fetched("w", {lease.token: None})
    assert polite.end(lease, links=(page(3),)) == "accepted"
    assert len(polite.drain()) == 2


@ENDS
def test_a_slot_freed_before_is_taken_again_until_the_lease_ends(polite: Stage, end: End) -> None:
    polite.job()
    polite.add("job", [page(1), page(2)])
    lease = polite.lease_one()
    polite.fetched("w", {lease.token: 0.0})
    end(polite)
    polite.clock.turn(9.0)
    assert polite.lease_urls() == []
    polite.end(lease)
    assert len(polite.lease_urls()) == 1


@ENDS
@pytest.mark.parametrize("rate", [Rate.of_delay(4.0), Rate(hits=3, window_s=12.0, moderated=False)])
def test_every_known_domain_waits_a_full_delay(
    make_stage: Callable[..., Stage], end: End, rate: Rate
) -> None:
    stage = make_stage(rate)
    stage.job()
    stage.add("job", [page(n) for n in range(9)])
    stage.end(stage.lease_one())
    stage.clock.turn(100.0)
    end(stage)
    assert stage.lease("w", 9).next_due_s == 4.0
    stage.clock.turn(4.0)
    assert len(stage.lease_urls()) == 1


@ENDS
def test_manners_holds_and_blocks_survive(polite: Stage, end: End) -> None:
    polite.job()
    for domain in ("held", "slow", "own", "shut"):
        polite.add("job", [page(1, f"{domain}.test")])
    wait_s = polite.hold("held.test", None, "http_429")
    polite.set_crawl_delay("slow.test", 9.0)
    polite.set_rate("own.test", Rate(hits=2, window_s=7.0, moderated=False, scale=0.5))
    polite.block("shut.test")
    end(polite)
    found = {d.domain: d for d in polite.backlog()}
    assert (found["held.test"].due_in_s, found["held.test"].hold_reason) == (wait_s, "http_429")
    assert found["slow.test"].rate == Rate.of_delay(9.0)
    assert found["own.test"].rate.scale == 0.5
    assert found["shut.test"].blocked
    polite.clock.turn(wait_s)
    assert polite.hold("held.test", None, "http_429") == 2 * wait_s


@ENDS
def test_a_delayed_request_keeps_its_time(free: Stage, end: End) -> None:
    free.job()
    free.add("job", [page(1)])
    free.end(free.lease_one(), Outcome.RETRY, after_s=60.0)
    free.clock.turn(20.0)
    end(free)
    assert free.lease("w", 1).next_due_s == 40.0
    free.clock.turn(40.0)
    lease = free.lease_one()
    assert (lease.tries, lease.request.url) == (1, "http://a.test/1")


@ENDS
def test_a_heartbeat_counts_after_it(free: Stage, end: End) -> None:
    free.job()
    free.add("job", [page(1)])
    free.lease_one()
    free.clock.turn(20.0)
    free.extend("w")
    end(free)
    free.clock.turn(LEASE_S - 0.25)
    assert free.reap() == 0
    free.clock.turn(0.25)
    assert free.reap() == 1
