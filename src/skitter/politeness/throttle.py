"""Slows down when a server does. Pure: it is told how long transfers took.

A server is compared with itself: a slow mean over its past is the baseline, a quick one over the
last few transfers is the present. Well above the baseline, and slow enough that a person would
notice, requests are spread out; the delay that was configured is never undercut.
"""

from msgspec import Struct

__all__ = ["Throttle", "ThrottlePolicy"]

#: Weight of a new transfer in the present and in the baseline.
_PRESENT = 0.2
_BASELINE = 0.01


class ThrottlePolicy(Struct, frozen=True, kw_only=True):
    """When a server counts as slow, and how far we go back."""

    #: False: never slow down.
    enabled: bool = True
    #: So many times its baseline is slow,
    slow_ratio: float = 3.0
    #: if it is also so long.
    slow_s: float = 1.0
    #: At most so many times gentler.
    max_factor: float = 8.0
    #: Transfers before there is a baseline.
    min_transfers: int = 10


class Throttle:
    """One domain's. `factor` is 1, 2, 4 … and changes seldom, one step at a time."""

    __slots__ = ("_baseline_s", "_present_s", "_seen", "factor")

    def __init__(self, factor: float = 1.0) -> None:
        self._baseline_s = self._present_s = 0.0
        #: Transfers since the start, then since the last step.
        self._seen = 0
        self.factor = factor

    @property
    def baseline_s(self) -> float:
        """How long its transfers usually take; 0: not known yet."""
        return self._baseline_s

    @property
    def present_s(self) -> float:
        """How long they take at present."""
        return self._present_s

    def record(self, elapsed_s: float, policy: ThrottlePolicy) -> bool:
        """A transfer took so long. True: `factor` has changed."""
        self._seen += 1
        if not self._baseline_s:
            self._learn(elapsed_s, policy.min_transfers)
            return False
        self._baseline_s += (elapsed_s - self._baseline_s) * _BASELINE
        self._present_s += (elapsed_s - self._present_s) * _PRESENT
        # A step shows its effect only in the transfers after it.
        if self._seen < policy.min_transfers:
            return False
        wanted = self._wanted(policy)
        if wanted == self.factor:
            return False
        self.factor, self._seen = wanted, 0
        return True

    def _learn(self, elapsed_s: float, needed: int) -> None:
        self._present_s += (elapsed_s - self._present_s) / self._seen
        if self._seen >= needed:
            # Never 0, which means "not known".
            self._baseline_s = max(self._present_s, 1e-6)

    def _wanted(self, policy: ThrottlePolicy) -> float:
        ratio = self._present_s / self._baseline_s
        slow = ratio >= policy.slow_ratio and self._present_s >= policy.slow_s
        if slow and policy.enabled:
            return min(self.factor * 2, policy.max_factor)
        # Between the two bounds nothing changes, or it would swing to and fro.
        if ratio < policy.slow_ratio / 2 or self._present_s < policy.slow_s / 2:
            return max(1.0, self.factor / 2)
        return self.factor
