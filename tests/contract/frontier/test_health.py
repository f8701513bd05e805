"""What transfers say about their site, and what the frontier makes of it."""

from collections.abc import Callable

import pytest

from skitter.errors import UsageError
from skitter.frontier.health import Rules
from skitter.models import Outcome, Sign, Transfer
from skitter.politeness.blocking import BlockingPolicy
from skitter.politeness.breaker import BreakerPolicy
from skitter.politeness.rates import Rate
from skitter.politeness.throttle import ThrottlePolicy

from .stage import Stage, page

Make = Callable[..., Stage]

FREE = Rate.of_delay(0.0, concurrency=8)
RULES = Rules(
    breaker=BreakerPolicy(window=4, min_results=4, open_s=60.0),
    blocking=BlockingPolicy(challenges=3, forbidden=5, rest_s=3_600.0, forgive_transfers=4),
    throttle=ThrottlePolicy(min_transfers=4),
    give_up_s=600.0,
)


def fill(stage: Stage, *domains: str, pages: int = 60) -> None:
    stage.job()
    stage.add("job", [page(n, domain) for n in range(pages) for domain in domains or ("a.test",)])


def report(stage: Stage, sign: Sign, elapsed_s: float = 0.0) -> list[str]:
    """Lease one request, end its transfer like this; returns what that led to."""
    lease = stage.lease_one()
    stage.fetched("w", {lease.token: Transfer(age_s=0.0, elapsed_s=elapsed_s, sign=sign)})
    stage.end(lease)
    return [news.event for news in stage.lease("w", 0).news]


def broken(make_stage: Make, *domains: str) -> Stage:
    stage = make_stage(FREE, RULES)
    fill(stage, *domains)
    for _ in range(4):
        lease = stage.lease_one()
        stage.fetched("w", {lease.token: Transfer(age_s=0.0, sign=Sign.FAILED)})
        stage.end(lease)
    return stage


def test_a_domain_that_only_fails_is_asked_once_per_wait(make_stage: Make) -> None:
    stage = broken(make_stage)
    probes = []
    for _ in range(40):
        for lease in stage.lease("w", 8).leases:
            probes.append(stage.clock.monotonic())
            stage.fetched("w", {lease.token: Transfer(age_s=0.0, sign=Sign.FAILED)})
            stage.end(lease, Outcome.RETRY, after_s=1.0)
        stage.clock.turn(5.0)
    assert len(probes) == 3
    assert stage.domain("a.test").breaker == "open"


def test_its_worker_hears_that_a_breaker_opened_and_for_how_long(make_stage: Make) -> None:
    stage = broken(make_stage)
    (news,) = stage.lease("w", 1).news
    assert (news.domain, news.event, news.wait_s) == ("a.test", "breaker_opened", 60.0)
    assert stage.lease("w", 1).news == []


def test_a_good_probe_brings_the_full_rate_back(make_stage: Make) -> None:
    stage = broken(make_stage)
    stage.clock.turn(60.0)
    (probe,) = stage.lease("w", 8).leases
    assert stage.domain("a.test").breaker == "half_open"
    stage.fetched("w", {probe.token: Transfer(age_s=0.0, sign=Sign.OK)})
    assert len(stage.lease("w", 8).leases) == 8
    assert stage.domain("a.test").breaker == "closed"


def test_a_probe_that_was_not_sent_is_no_probe(make_stage: Make) -> None:
    stage = broken(make_stage)
    stage.clock.turn(60.0)
    stage.fetched("w", {stage.lease_one().token: None})
    assert len(stage.lease("w", 8).leases) == 1


def test_other_domains_do_not_notice(make_stage: Make) -> None:
    stage = make_stage(Rate(), RULES)
    fill(stage, "a.test", "b.test")
    asked = {"a.test": 0, "b.test": 0}
    for _ in range(30):
        for lease in stage.lease("w", 8).leases:
            domain = lease.request.domain
            asked[domain] += 1
            sign = Sign.FAILED if domain == "a.test" else Sign.OK
            stage.fetched("w", {lease.token: Transfer(age_s=0.0, sign=sign)})
            stage.end(lease)
        stage.clock.turn(1.0)
    assert asked == {"a.test": 4, "b.test": 30}


@pytest.mark.parametrize("end", [Stage.reopen, Stage.kill])
def test_an_open_breaker_survives(make_stage: Make, end: Callable[[Stage], None]) -> None:
    stage = broken(make_stage)
    stage.clock.turn(20.0)
    end(stage)
    assert stage.lease("w", 8).next_due_s == 40.0
    assert stage.domain("a.test").breaker == "open"


def test_what_waits_for_a_dead_domain_fails_after_long_enough(make_stage: Make) -> None:
    stage = broken(make_stage)
    for _ in range(10):
        stage.clock.turn(60.0)
        report(stage, Sign.FAILED)
    leases = stage.lease("w", 60).leases
    assert len(leases) == 60 - 4 - 10
    assert {lease.refused for lease in leases} == {"unreachable: nothing but failures for 600 s"}
    for lease in leases:
        stage.fetched("w", {lease.token: None})
        assert stage.end(lease, Outcome.FAILED) == "accepted"
    stage.add("job", [page(n) for n in range(100, 103)])
    stage.kill()
    assert {lease.refused is None for lease in stage.lease("w", 2).leases} == {False}
    stage.clock.turn(600.0)
    (probe,) = stage.lease("w", 9).leases
    assert probe.refused is None


def test_who_is_told_to_wait_for_days_does_neither_wait_nor_ask(make_stage: Make) -> None:
    stage = make_stage(FREE, RULES)
    fill(stage, pages=3)
    assert stage.hold("a.test", 200_000.0, "http_429") == 200_000.0
    refused = [lease.refused for lease in stage.lease("w", 2).leases]
    why = "http_429: told to wait 200000 s, more than backoff.max_retry_after_s (86400 s)"
    assert refused == [f"unreachable: {why}"] * 2
    stage.clock.turn(200_000.0)
    assert stage.lease_one().refused is None


def test_a_site_that_challenges_us_rests_an_hour_and_is_asked_less(make_stage: Make) -> None:
    stage = make_stage(Rate.of_delay(1.0, concurrency=8), RULES)
    fill(stage)
    events = []
    for _ in range(3):
        events += report(stage, Sign.CHALLENGED)
        stage.clock.turn(1.0)
    assert events == ["blocked"]
    grant = stage.lease("w", 8)
    assert (grant.leases, grant.next_due_s) == ([], 3_599.0)
    stage.clock.turn(3_599.0)
    lease = stage.lease_one()
    assert (lease.identity, lease.pace_s, lease.concurrency) == (1, 2.0, 4)
    info = stage.domain("a.test")
    assert (info.lowered, info.law.interval_s, info.rate.interval_s) == (2.0, 1.0, 2.0)


def test_good_answers_bring_the_rate_back(make_stage: Make) -> None:
    stage = make_stage(FREE, RULES)
    fill(stage)
    for _ in range(3):
        report(stage, Sign.CHALLENGED)
    stage.clock.turn(3_600.0)
    events = [event for _ in range(4) for event in report(stage, Sign.OK)]
    assert stage.domain("a.test").rate == FREE
    assert events == ["forgiven"]


def test_only_many_403s_in_a_row_count_as_blocked(make_stage: Make) -> None:
    stage = make_stage(FREE, RULES)
    fill(stage)
    for sign in (*[Sign.FORBIDDEN] * 4, Sign.OK, *[Sign.FORBIDDEN] * 4):
        report(stage, sign)
    assert stage.domain("a.test").hold_reason is None
    report(stage, Sign.FORBIDDEN)
    assert stage.domain("a.test").hold_reason == "blocked: 5 times 403 in a row"


@pytest.mark.parametrize("end", [Stage.reopen, Stage.kill])
def test_a_rest_a_lower_rate_and_the_next_identity_survive(
    make_stage: Make, end: Callable[[Stage], None]
) -> None:
    stage = make_stage(FREE, RULES)
    fill(stage)
    for _ in range(3):
        report(stage, Sign.CHALLENGED)
    stage.clock.turn(100.0)
    end(stage)
    info = stage.domain("a.test")
    assert (info.due_in_s, info.identity, info.rate.concurrency) == (3_500.0, 1, 4)


def test_each_rate_limit_met_halves_the_number_at_once(make_stage: Make) -> None:
    stage = make_stage(FREE, RULES)
    fill(stage)
    at_once = []
    for _ in range(5):
        stage.hold("a.test", 1.0, "http_429")
        stage.hold("a.test", 1.0, "http_429")
        stage.clock.turn(1.0)
        at_once.append(stage.domain("a.test").rate.concurrency)
    assert at_once == [4, 2, 1, 1, 1]


def test_a_server_that_becomes_slow_is_asked_less_until_it_recovers(make_stage: Make) -> None:
    stage = make_stage(FREE, RULES)
    fill(stage, pages=200)
    factors, events = [], set()
    for elapsed_s in [0.1] * 8 + [3.0] * 8 + [0.1] * 60:
        events |= {*report(stage, Sign.OK, elapsed_s)}
        factors.append(stage.domain("a.test").slowed)
    assert factors[7] == 1.0
    assert max(factors) > 1.0
    assert factors[-1] == 1.0
    assert events == {"slowed", "sped_up"}


def test_a_person_may_hold_a_domain_and_end_any_hold(make_stage: Make) -> None:
    stage = broken(make_stage)
    stage.hold("a.test", None, "http_429")
    stage.rest("a.test", 0.0, "")
    assert len(stage.lease("w", 2).leases) == 2
    stage.rest("a.test", 90.0, "held by hand")
    (*_, news) = stage.lease("w", 1).news
    assert (news.event, news.wait_s, news.reason) == ("held", 90.0, "held by hand")
    stage.kill()
    assert stage.domain("a.test").due_in_s == 90.0


def test_a_request_that_was_given_back_lost_nothing(make_stage: Make) -> None:
    stage = make_stage(FREE)
    fill(stage, pages=1)
    lease = stage.lease_one()
    stage.fetched("w", {lease.token: None})
    stage.end(lease, Outcome.RETRY, refused=True)
    again = stage.lease_one()
    assert (again.request, again.tries, again.holds) == (lease.request, 0, 0)


def test_configured_domains_keep_their_own_rate_or_none(make_stage: Make) -> None:
    rules = Rules(rates={"slow.test": Rate.of_delay(30.0)}, barred=frozenset({"shut.test"}))
    stage = make_stage(Rate(), rules)
    fill(stage, "slow.test", "shut.test", "a.test", pages=1)
    paces = {lease.request.domain: lease.pace_s for lease in stage.lease("w", 9).leases}
    assert paces == {"slow.test": 30.0, "a.test": 1.0}
    assert stage.domain("shut.test").blocked
    with pytest.raises(UsageError, match="configuration"):
        stage.block("shut.test", blocked=False)
    stage.reopen()
    assert stage.domain("slow.test").rate.interval_s == 30.0


def test_an_elastic_domain_makes_up_at_twice_the_pace_at_most(make_stage: Make) -> None:
    stage = make_stage(Rate(hits=10, window_s=10.0, elastic=True))
    fill(stage)
    stage.end(stage.lease_one())
    stage.clock.turn(5.0)
    sent = []
    while stage.clock.monotonic() < 5_020.0:
        for lease in stage.lease("w", 5).leases:
            sent.append(stage.clock.monotonic() - 5_000.0)
            stage.fetched("w", {lease.token: 0.0})
            stage.end(lease)
        stage.clock.turn(0.25)
    assert sent[:9] == [5.0 + n / 2 for n in range(9)]
    assert sent[9:] == [float(n) for n in range(10, 20)]
