"""The compact set of fingerprints, beside Python's own."""

from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.frontier import seen
from skitter.frontier.seen import SeenSet

numbers = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-50, 50)
EVERY_DAY = settings(max_examples=100, deadline=None, database=None, derandomize=True)


@EVERY_DAY
@given(st.lists(numbers, max_size=1_500), st.integers(0, 2_000))
def test_it_is_a_set(fingerprints: list[int], expected: int) -> None:
    known = set(fingerprints[::2])
    compact = SeenSet(fingerprints[::2], expected)
    for fingerprint in fingerprints:
        assert compact.add(fingerprint) is (fingerprint not in known)
        known.add(fingerprint)
        assert len(compact) == len(known)
    assert all(fingerprint in compact for fingerprint in known)
    assert [n for n in range(-60, 60) if n in compact] == [n for n in range(-60, 60) if n in known]


def test_what_is_no_longer_recent_is_still_known() -> None:
    many = range(0, (seen._RECENT_ENTRIES + 10) << 20, 1 << 20)
    compact = SeenSet()
    assert all(compact.add(n) for n in many)
    assert not any(compact.add(n) for n in many)
    assert len(compact) == len(many)


def test_the_arrays_take_less_than_twelve_bytes_each() -> None:
    count = 50_000
    compact = SeenSet(range(0, count << 32, 1 << 32), count)
    assert sum(bucket.__sizeof__() + 8 for bucket in compact._buckets) < 12 * count


def test_arrays_stay_short_however_it_grew() -> None:
    grown = SeenSet()
    for n in range(20_000):
        grown.add(n << 40)
    assert max(len(bucket) for bucket in grown._buckets) < 4 * seen._MEAN_ENTRIES
