"""GCRA: what a rate allows, over any schedule of askers."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.errors import UsageError
from skitter.politeness.rates import Rate

EVERY_DAY = settings(max_examples=200, deadline=None, database=None, derandomize=True)

rates = st.builds(
    Rate,
    hits=st.integers(1, 12).map(float),
    window_s=st.sampled_from((0.5, 1.0, 8.0, 60.0)),
    scale=st.sampled_from((0.25, 0.5, 1.0)),
    moderated=st.booleans(),
)
#: Seconds between one attempt and the next, in units that floats hold exactly.
attempts = st.lists(st.integers(0, 400).map(lambda n: n / 16), max_size=80)


def granted(rate: Rate, gaps_s: list[float]) -> list[float]:
    """The times at which somebody who asks after each gap is let through."""
    now, tat, times = 0.0, float("-inf"), []
    for gap_s in gaps_s:
        now += gap_s
        if rate.due_at(tat) <= now:
            tat = rate.spend(tat, now)
            times.append(now)
    return times


@EVERY_DAY
@given(rates, attempts)
def test_moderated_grants_are_never_closer_than_the_interval(
    rate: Rate, gaps_s: list[float]
) -> None:
    times = granted(Rate(hits=rate.hits, window_s=rate.window_s, scale=rate.scale), gaps_s)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert all(gap >= rate.interval_s - 1e-9 for gap in gaps)


@EVERY_DAY
@given(rates, attempts)
def test_no_span_holds_more_than_a_burst_and_what_came_back_since(
    rate: Rate, gaps_s: list[float]
) -> None:
    times = granted(rate, gaps_s)
    burst = 1.0 if rate.moderated else max(1.0, rate.hits * rate.scale)
    for first, start in enumerate(times):
        for last in range(first, len(times)):
            span_s = times[last] - start
            assert last - first + 1 <= burst + span_s / rate.interval_s + 1e-6


@EVERY_DAY
@given(rates)
def test_after_a_quiet_window_a_bursty_domain_gives_its_hits_at_once(rate: Rate) -> None:
    bursty = Rate(hits=rate.hits, window_s=rate.window_s, scale=rate.scale, moderated=False)
    expected = max(1, int(rate.hits * rate.scale))
    # A microsecond apart: sums of thirds may fall short of the moment by the last bit.
    assert len(granted(bursty, [100.0] + [1e-6] * 40)) == expected


@pytest.mark.parametrize(
    ("rate", "interval_s"),
    [
        (Rate(), 1.0),
        (Rate(hits=10, window_s=60.0), 6.0),
        (Rate(hits=10, window_s=60.0, scale=0.5), 12.0),
        (Rate.of_delay(2.5), 2.5),
        (Rate.of_delay(0.0), 0.0),
    ],
)
def test_the_interval_is_the_window_divided_by_what_is_used_of_its_hits(
    rate: Rate, interval_s: float
) -> None:
    assert rate.interval_s == interval_s


def test_without_a_delay_everything_is_due() -> None:
    assert granted(Rate.of_delay(0.0), [0.0] * 10) == [0.0] * 10


@pytest.mark.parametrize(
    "values",
    [
        {"hits": 0},
        {"hits": -1.0},
        {"hits": float("nan")},
        {"hits": float("inf")},
        {"window_s": -1.0},
        {"window_s": float("nan")},
        {"scale": 0},
        {"scale": 1.5},
        {"concurrency": 0},
    ],
)
def test_a_rate_that_makes_no_sense_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="a rate"):
        Rate(**values)
    with pytest.raises(UsageError, match="a rate"):
        msgspec.convert(values, Rate)


@EVERY_DAY
@given(rates, attempts)
def test_elastic_grants_never_exceed_twice_the_even_pace(rate: Rate, gaps_s: list[float]) -> None:
    elastic = Rate(hits=rate.hits, window_s=rate.window_s, scale=rate.scale, elastic=True)
    now, tat, times = 0.0, float("-inf"), []
    for gap_s in gaps_s:
        now += gap_s
        due_at = max(elastic.due_at(tat), times[-1] + elastic.gap_s if times else 0.0)
        if due_at <= now:
            tat = elastic.spend(tat, now)
            times.append(now)
    assert all(later - earlier >= elastic.interval_s / 2 for earlier, later in pairwise(times))
    # In the long run the rate holds: whatever is made up was missed before, within a window.
    for first, start in enumerate(times):
        for last in range(first, len(times)):
            most = (times[last] - start + elastic.window_s) / elastic.interval_s + 2
            assert last - first + 1 <= most + 1e-6


@EVERY_DAY
@given(rates, st.floats(1, 64))
def test_an_eased_rate_is_gentler_and_never_stalls(rate: Rate, factor: float) -> None:
    eased = rate.eased(factor)
    assert eased.interval_s >= rate.interval_s
    assert eased.concurrency >= 1
    assert eased.interval_s <= rate.interval_s * factor * 1.000_001


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (Rate(), "1 every 1 s"),
        (Rate.of_delay(0.0), "no delay, 1 at once"),
        (Rate.of_delay(0.0, 8), "no delay, 8 at once"),
        (Rate(hits=10, window_s=60.0, scale=0.5, concurrency=2), "1 every 12 s, 2 at once"),
        (Rate(hits=10, window_s=60.0, elastic=True), "1 every 6 s, elastic"),
        (Rate(hits=10, window_s=60.0, moderated=False), "10 in 60 s, bursts allowed"),
    ],
)
def test_a_rate_is_said_in_words(rate: Rate, words: str) -> None:
    assert rate.said() == words
