"""Autothrottle: when a server counts as slow, and that it never speeds anything up."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.politeness.rates import Rate
from skitter.politeness.throttle import Throttle, ThrottlePolicy

POLICY = ThrottlePolicy()


def factors(times_s: list[float], policy: ThrottlePolicy = POLICY) -> list[float]:
    throttle, found = Throttle(), []
    for elapsed_s in times_s:
        throttle.record(elapsed_s, policy)
        found.append(throttle.factor)
    return found


def test_a_server_is_compared_with_itself() -> None:
    assert factors([4.0] * 200)[-1] == 1.0
    assert factors([0.4] * 50 + [4.0] * 30)[-1] > 1.0


def test_what_nobody_would_notice_is_not_slow() -> None:
    assert max(factors([0.01] * 50 + [0.4] * 100)) == 1.0


def test_one_slow_page_changes_nothing() -> None:
    assert max(factors(([0.2] * 20 + [3.0]) * 10)) == 1.0


def test_it_goes_back_step_by_step_up_to_a_limit_and_returns() -> None:
    found = factors([0.2] * 50 + [6.0] * 60 + [0.2] * 200)
    assert max(found) == POLICY.max_factor
    assert {later / earlier for earlier, later in pairwise(found)} <= {
        0.5,
        1.0,
        2.0,
    }
    assert found[-1] == 1.0


def test_it_can_be_switched_off() -> None:
    off = ThrottlePolicy(enabled=False)
    assert max(factors([0.2] * 50 + [6.0] * 60, off)) == 1.0


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(st.lists(st.floats(0, 100), max_size=200))
def test_never_faster_than_allowed(times_s: list[float]) -> None:
    rate = Rate.of_delay(1.0, concurrency=4)
    for factor in factors(times_s):
        eased = rate.eased(factor)
        assert 1.0 <= factor <= POLICY.max_factor
        assert eased.interval_s >= rate.interval_s
        assert 1 <= eased.concurrency <= rate.concurrency
