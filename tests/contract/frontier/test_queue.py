"""What is accepted, and in which order it comes out."""

from random import Random

import pytest

from skitter.errors import UsageError
from skitter.frontier import policy
from skitter.frontier.base import AddResult
from skitter.models import Completion, JobState, Outcome, RequestKind
from skitter.politeness.rates import Rate

from .stage import Stage, page


def test_a_request_is_accepted_once_per_job(free: Stage) -> None:
    free.job("one")
    free.job("two")
    assert free.add("one", [page(1), page(2), page(1)]) == AddResult(accepted=2, duplicate=1)
    assert free.add("one", [page(2), page(3)]) == AddResult(accepted=1, duplicate=1)
    assert free.add("two", [page(1)]) == AddResult(accepted=1)


def test_what_is_done_stays_known(free: Stage) -> None:
    free.job()
    free.add("job", [page(1)])
    free.end(free.lease_one())
    assert free.add("job", [page(1)]) == AddResult(duplicate=1)
    assert free.lease("w", 1).leases == []


def test_an_unknown_job_is_a_usage_error_and_harms_nothing(free: Stage) -> None:
    with pytest.raises(UsageError, match="nobody"):
        free.add("nobody", [])
    with pytest.raises(UsageError, match="nobody"):
        free.set_state("nobody", JobState.PAUSED)
    with pytest.raises(UsageError, match="nobody"):
        free.delete_job("nobody")
    assert free.info("nobody") is None
    free.job()
    assert free.add("job", [page(1)]) == AddResult(accepted=1)


def test_a_request_comes_out_as_it_went_in(free: Stage) -> None:
    free.job()
    given = page(
        1,
        depth=3,
        priority=-30,
        parent="http://a.test/",
        redirected_from="http://a.test/0",
        hops=2,
        kind=RequestKind.SITEMAP,
        is_seed=True,
        generation=4,
    )
    free.add("job", [given])
    free.kill()
    assert free.lease_one().request == given


def test_highest_priority_first_then_first_in(free: Stage) -> None:
    free.job()
    free.add("job", [page("low", priority=-10), page("a"), page("high", priority=5), page("b")])
    assert free.lease_urls() == [f"http://a.test/{path}" for path in ("high", "a", "b", "low")]


def test_jobs_of_equal_priority_take_turns(free: Stage) -> None:
    for name in ("one", "two"):
        free.job(name)
        free.add(name, [page(f"{name}{n}") for n in range(3)])
    free.add("two", [page("first", priority=1)])
    assert [lease.job for lease in free.lease("w", 100).leases] == [
        *("two", "one", "two", "one", "two", "one", "two")
    ]


def test_a_job_that_always_has_one_request_does_not_starve_the_others(polite: Stage) -> None:
    polite.job("chain")
    polite.job("heap")
    polite.add("chain", [page(0)])
    polite.add("heap", [page(f"heap{n}") for n in range(5)])
    served = []
    for n in range(1, 11):
        lease = polite.lease_one()
        served.append(lease.job)
        links = (page(n),) if lease.job == "chain" else ()
        polite.fetched("w", {lease.token: 0.0})
        polite.end(lease, links=links)
        polite.clock.turn(1.0)
    assert served == ["chain", "heap"] * 5


def test_the_domain_due_first_comes_first(polite: Stage) -> None:
    polite.job()
    polite.set_rate("slow.test", Rate.of_delay(3.0))
    polite.add("job", [page(n, domain) for n in range(2) for domain in ("slow.test", "a.test")])
    for lease in polite.lease("w", 9).leases:
        polite.fetched("w", {lease.token: 0.0})
    polite.clock.turn(10.0)
    assert polite.lease_urls() == ["http://a.test/1", "http://slow.test/1"]


def test_no_more_than_asked_for(free: Stage) -> None:
    free.job()
    free.add("job", [page(n) for n in range(5)])
    assert free.lease_urls(0) == []
    assert free.lease("w", 0).next_due_s == 0.0
    assert len(free.lease_urls(2)) == 2
    assert len(free.lease_urls(9)) == 3


def test_tokens_only_grow(free: Stage) -> None:
    free.job()
    free.add("job", [page(n) for n in range(6)])
    tokens = [lease.token for lease in free.lease("w", 2).leases]
    free.kill()
    tokens += [lease.token for lease in free.lease("w", 2).leases]
    for lease in free.leases()["w"]:
        free.end(lease)
    free.reopen()
    tokens += [lease.token for lease in free.lease("w", 2).leases]
    assert tokens == sorted(set(tokens))


@pytest.mark.parametrize("killed", [False, True])
def test_a_queue_larger_than_memory_keeps_its_order(free: Stage, killed: bool) -> None:
    free.job()
    order = Random(7)
    pages = [page(n, priority=order.randrange(-3, 4)) for n in range(5 * policy.HEAP_ENTRIES)]
    added = pages[:-500]
    free.add("job", added)
    if killed:
        free.kill()
    ranked = sorted(added, key=lambda request: -request.priority)
    assert free.lease_urls(700) == [request.url for request in ranked[:700]]
    free.add("job", pages[-500:])
    ranked = sorted(ranked[700:] + pages[-500:], key=lambda request: -request.priority)
    assert free.lease_urls(9_999) == [request.url for request in ranked]


def test_delayed_requests_find_their_place_in_a_large_queue(free: Stage) -> None:
    free.job()
    size = policy.HEAP_ENTRIES
    tried = [page(f"t{n}", priority=20 - n % 25) for n in range(3 * size)]
    free.add("job", tried)
    leases = free.lease("w", len(tried)).leases
    again = [Completion(token=x.token, outcome=Outcome.RETRY, after_s=5.0) for x in leases]
    free.complete("w", again)
    fresh = [page(f"f{n}", priority=-(n % 17)) for n in range(3 * size)]
    free.add("job", fresh)
    free.clock.turn(5.0)
    key = {request.url: -(request.priority - 10) for request in tried}
    key |= {request.url: -request.priority for request in fresh}
    # Equal ones in the order of their acceptance: all of `tried` came before `fresh`.
    expected = sorted((r.url for r in tried + fresh), key=key.__getitem__)
    assert free.lease_urls(9_999) == expected
