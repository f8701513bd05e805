"""The circuit breaker: when it opens, how it probes, when it closes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.politeness.breaker import Breaker, BreakerPolicy, BreakerState

SMALL = BreakerPolicy(
    window=4, threshold=0.5, min_results=4, open_s=10.0, long_after=6, long_open_s=50.0
)


def opened(now: float = 0.0, policy: BreakerPolicy = SMALL) -> Breaker:
    breaker = Breaker(policy)
    while not breaker.record(ok=False, now=now):
        pass
    return breaker


def test_few_results_say_nothing() -> None:
    breaker = Breaker(SMALL)
    assert [breaker.record(ok=False, now=0.0) for _ in range(4)] == [False, False, False, True]
    assert breaker.state is BreakerState.OPEN


def test_half_of_the_window_opens_it() -> None:
    breaker = Breaker(SMALL)
    results = [True, True, True, True, False, True, True, True, False]
    changes = [breaker.record(ok=ok, now=0.0) for ok in results]
    assert not any(changes)
    assert breaker.record(ok=False, now=0.0)


def test_successes_before_it_was_made_count() -> None:
    breaker = Breaker(SMALL, successes=1_000)
    assert not breaker.record(ok=False, now=0.0)
    assert breaker.record(ok=False, now=0.0)


def test_what_left_the_window_is_forgotten() -> None:
    breaker = Breaker(SMALL)
    for ok in [False, True, True, True, True] * 50:
        assert not breaker.record(ok=ok, now=0.0)


def test_one_probe_per_wait() -> None:
    breaker = opened(now=100.0)
    assert not breaker.allows(109.9)
    assert breaker.allows(110.0)
    assert breaker.begin(110.0)
    assert breaker.state is BreakerState.HALF_OPEN
    assert not breaker.allows(119.9)
    assert not breaker.record(ok=False, now=112.0)
    assert breaker.state is BreakerState.OPEN
    assert not breaker.allows(121.9)
    assert breaker.allows(122.0)


def test_a_good_probe_closes_it_and_forgets() -> None:
    breaker = opened()
    breaker.begin(10.0)
    assert breaker.record(ok=True, now=10.1)
    assert breaker.state is BreakerState.CLOSED
    assert [breaker.record(ok=False, now=11.0) for _ in range(3)] == [False] * 3


def test_late_results_of_the_time_before_do_not_count() -> None:
    breaker = opened(now=0.0)
    assert not breaker.record(ok=True, now=5.0)
    assert not breaker.record(ok=False, now=9.0)
    assert breaker.allows(10.0)


def test_a_probe_that_was_never_sent_may_go_at_once() -> None:
    breaker = opened()
    breaker.begin(10.0)
    breaker.cancel(10.5)
    assert breaker.allows(10.5)


def test_a_probe_that_is_never_heard_of_is_replaced() -> None:
    breaker = opened()
    breaker.begin(10.0)
    assert breaker.allows(20.0)


def test_after_many_failures_in_a_row_the_wait_is_longer() -> None:
    breaker = opened()
    now = 0.0
    waits = []
    for _ in range(4):
        waits.append(breaker.until - now)
        now = breaker.until
        breaker.begin(now)
        breaker.record(ok=False, now=now)
    assert waits == [10.0, 10.0, 10.0, 50.0]


def test_an_open_one_is_restored() -> None:
    breaker = Breaker.restored(SMALL, until=70.0, in_a_row=7)
    assert not breaker.allows(69.0)
    breaker.begin(70.0)
    breaker.record(ok=False, now=71.0)
    assert breaker.until == 121.0


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(st.lists(st.tuples(st.floats(0, 30), st.booleans()), max_size=200))
def test_calls_while_opened_are_a_wait_apart(calls: list[tuple[float, bool]]) -> None:
    breaker, now, last = Breaker(SMALL), 0.0, None
    for pause_s, ok in calls:
        now += pause_s
        if not breaker.allows(now):
            continue
        was_open = breaker.opened
        breaker.begin(now)
        if was_open and last is not None:
            assert now - last >= SMALL.open_s
        breaker.record(ok=ok, now=now)
        last = now if breaker.opened else None


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(st.lists(st.booleans(), max_size=400), st.integers(1, 100), st.floats(0.01, 1.0))
def test_it_opens_exactly_when_the_share_is_reached(
    results: list[bool], window: int, threshold: float
) -> None:
    policy = BreakerPolicy(window=window, threshold=threshold, min_results=10)
    breaker, seen = Breaker(policy), []
    for ok in results:
        seen.append(ok)
        share = seen[-window:].count(False) / len(seen[-window:])
        enough = len(seen) >= min(10, window)
        expected = not ok and enough and share >= threshold
        assert breaker.record(ok=ok, now=0.0) == expected
        if expected:
            break
