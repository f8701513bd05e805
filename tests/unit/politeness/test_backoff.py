"""The ladder of waits after a 429 or 503, and what Retry-After says."""

import os
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.politeness.backoff import BackoffPolicy, BackoffState, in_words, parse_retry_after

POLICY = BackoffPolicy()
#: 6 November 1994, 08:49:37 UTC: the example of RFC 9110.
RFC_DATE_S = 784_111_777.0


def climb(incidents: int, random: float = 0.0) -> list[float]:
    """The waits of so many incidents, each as soon as the last hold ended."""
    state, waits = BackoffState(), []
    for _ in range(incidents):
        now = state.until
        state = POLICY.next_state(state, now, None, random)
        waits.append(state.until - now)
    return waits


def test_waits_double_up_to_a_day() -> None:
    waits = climb(14)
    assert waits[:4] == [60.0, 120.0, 240.0, 480.0]
    assert waits[-1] == 86_400.0


def test_jitter_only_adds() -> None:
    assert climb(3, random=0.5) == pytest.approx([63.0, 126.0, 252.0])


def test_answers_during_a_hold_belong_to_its_incident() -> None:
    first = POLICY.next_state(BackoffState(), 1_000.0, None, 0.0)
    assert POLICY.next_state(first, 1_059.0, None, 0.9) == first
    told = POLICY.next_state(first, 1_059.0, 300.0, 0.0)
    assert (told.step, told.until) == (first.step, 1_359.0)


def test_a_quiet_time_forgives() -> None:
    state = BackoffState(step=5, until=1_000.0)
    soon = POLICY.next_state(state, 1_000.0 + POLICY.forgive_s, None, 0.0)
    late = POLICY.next_state(state, 1_001.0 + POLICY.forgive_s, None, 0.0)
    assert (soon.step, late.step) == (6, 1)


histories = st.lists(
    st.tuples(st.integers(0, 5_000), st.none() | st.integers(0, 200_000)), min_size=1, max_size=30
)


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(histories)
def test_never_earlier_than_told_and_never_shortened(
    history: list[tuple[int, int | None]],
) -> None:
    state, now = BackoffState(), 0.0
    for gap_s, retry_after_s in history:
        now += gap_s
        new = POLICY.next_state(state, now, retry_after_s, 0.5)
        assert new.until >= state.until
        assert new.until >= now + (retry_after_s or 0)
        assert new.step >= 1
        state = new


@pytest.fixture(params=["UTC", "Pacific/Auckland"])
def _zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    os.environ.setdefault("TZ", "UTC")
    time.tzset()


@pytest.mark.usefixtures("_zone")
@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("  7 ", 7.0),
        ("Sun, 06 Nov 1994 08:50:37 GMT", 60.0),
        ("Sunday, 06-Nov-94 08:50:37 GMT", 60.0),
        ("Sun Nov  6 08:50:37 1994", 60.0),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0.0),
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("²", None),
        ("Sun, 06 Nov 99999 08:50:37 GMT", None),
        ("Sun, 99 Nov 1994 08:50:37 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, wait_s: float | None) -> None:
    assert parse_retry_after(value, RFC_DATE_S) == wait_s


@pytest.mark.parametrize(
    ("reason", "words"),
    [("http_429", "it answered 429"), ("held by hand", "held by hand"), ("", "")],
)
def test_a_reason_is_told_in_words(reason: str, words: str) -> None:
    assert in_words(reason) == words


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(st.text(max_size=40) | st.from_regex(r"[0-9]{1,40}", fullmatch=True))
def test_any_header_gives_a_finite_wait_or_none(value: str) -> None:
    wait_s = parse_retry_after(value, RFC_DATE_S)
    assert wait_s is None or 0.0 <= wait_s < float("inf")
