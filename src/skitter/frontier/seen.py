"""What a job has seen, in about twelve bytes per fingerprint.

A Python set of 64-bit numbers costs eighty to a hundred. Here they lie in small sorted arrays,
and which array a fingerprint belongs to is decided by linear hashing: arrays are split one at
a time, so no single `add` ever pays for moving all the others.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from secrets import randbits

__all__ = ["SeenSet"]

#: Fingerprints per array, on average, at which the next array is split.
_MEAN_ENTRIES = 96
#: Fingerprints met last, in a set as well: most links of a page were met a moment ago.
_RECENT_ENTRIES = 1 << 15
#: Arrays sorted in one step of `settle`; a step takes some milliseconds.
_STEP_ARRAYS = 128


class SeenSet:
    """Signed 64-bit fingerprints; they can be added and asked for, never removed."""

    __slots__ = ("_buckets", "_factor", "_length", "_mask", "_recent", "_split_at")

    def __init__(self, fingerprints: Iterable[int] = (), expected: int = 0) -> None:
        """`expected` fingerprints, about: only to take many of them in quickly."""
        self._buckets: list[array[int]] = [
            array("q") for _ in range(max(1, expected // _MEAN_ENTRIES))
        ]
        # Secret, so that nobody can choose URLs that all fall into one array.
        self._factor = (1 << 63) | randbits(63)
        self._mask = (1 << (len(self._buckets) - 1).bit_length()) - 1
        self._length = 0
        self._recent: set[int] = set()
        self._split_at = _MEAN_ENTRIES * len(self._buckets)
        # To settle nothing takes its time, too, where many are expected.
        if fingerprints:
            self.take(fingerprints)
            for _ in self.settle():
                pass

    def __len__(self) -> int:
        return self._length

    def __contains__(self, fingerprint: int) -> bool:
        bucket = self._buckets[self._place(fingerprint)]
        at = bisect_left(bucket, fingerprint)
        return at < len(bucket) and bucket[at] == fingerprint

    def add(self, fingerprint: int) -> bool:
        """True if it is new, False if it was known."""
        recent = self._recent
        if fingerprint in recent:
            return False
        if len(recent) >= _RECENT_ENTRIES:
            recent.clear()
        recent.add(fingerprint)
        bucket = self._buckets[self._place(fingerprint)]
        at = bisect_left(bucket, fingerprint)
        if at < len(bucket) and bucket[at] == fingerprint:
            return False
        bucket.insert(at, fingerprint)
        self._length += 1
        if self._length > self._split_at:
            self._split()
        return True

    def take(self, fingerprints: Iterable[int]) -> None:
        """Take in many at once; nothing can be asked or added until `settle` is through."""
        buckets, factor, mask = self._buckets, self._factor, self._mask
        count, half = len(buckets), mask >> 1
        for fingerprint in fingerprints:
            at = (fingerprint * factor >> 64) & mask
            buckets[at if at < count else at & half].append(fingerprint)

    def settle(self) -> Iterator[None]:
        """Put in order what was taken in, a little with each step."""
        buckets = self._buckets
        for start in range(0, len(buckets), _STEP_ARRAYS):
            for at in range(start, min(start + _STEP_ARRAYS, len(buckets))):
                buckets[at] = array("q", sorted(set(buckets[at])))
            yield
        self._length = sum(map(len, buckets))
        while self._length > self._split_at:
            self._split()

    def _place(self, fingerprint: int) -> int:
        at = (fingerprint * self._factor >> 64) & self._mask
        return at if at < len(self._buckets) else at & (self._mask >> 1)

    def _split(self) -> None:
        """Make one more array, from about half of the one whose turn it is."""
        new = len(self._buckets)
        old = new ^ (1 << (new.bit_length() - 1))
        self._mask = mask = (1 << new.bit_length()) - 1
        factor = self._factor
        kept: list[int] = []
        moved: list[int] = []
        for f in self._buckets[old]:
            (moved if (f * factor >> 64) & mask == new else kept).append(f)
        # Both are made anew, and exactly as long as needed.
        self._buckets[old] = array("q", kept)
        self._buckets.append(array("q", moved))
        self._split_at += _MEAN_ENTRIES
