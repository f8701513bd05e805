"""A circuit breaker: stop asking what only fails, look again now and then. Pure; time is passed in.

Closed, every call is allowed and its result is remembered. Once the share of failures among the
last `window` results reaches `threshold` it opens: nothing is allowed for `open_s`, then one call,
the probe. A probe that succeeds closes it and forgets the past; one that fails, or is never heard
of again, costs another wait. So there is at most one probe per wait, whoever does the asking.

    if breaker.allows(now):
        breaker.begin(now)
        ...
        breaker.record(ok=True, now=now)
"""

from enum import StrEnum

from msgspec import Struct

__all__ = ["Breaker", "BreakerPolicy", "BreakerState"]


class BreakerState(StrEnum):
    """`HALF_OPEN`: a probe is under way."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class BreakerPolicy(Struct, frozen=True, kw_only=True):
    """The numbers; one value serves any number of breakers."""

    #: Results that are remembered.
    window: int = 100
    #: Share of failures among them that opens the breaker.
    threshold: float = 0.5
    #: Fewer results than this say nothing.
    min_results: int = 20
    #: The wait before each probe.
    open_s: float = 60.0
    #: After more failures than this without a success between them,
    long_after: int = 100
    #: the wait is this.
    long_open_s: float = 300.0


_DEFAULT = BreakerPolicy()


class Breaker:
    """One guarded thing. Whoever calls `begin` owes a `record`, or a `cancel` if nothing was sent.

    Calls begun before it opened may end while it is open; their results are not counted.
    """

    __slots__ = ("_failures", "_in_a_row", "_policy", "_probing", "_results", "opened", "until")

    def __init__(self, policy: BreakerPolicy = _DEFAULT, *, successes: int = 0) -> None:
        """`successes` came before it: who seldom fails gets a breaker at the first failure only."""
        self._policy = policy
        #: One bit per result, the newest lowest; 1 is a failure.
        self._failures = 0
        self._results = min(successes, policy.window)
        self._in_a_row = 0
        self._probing = False
        #: Not closed.
        self.opened = False
        #: No call before this time, while opened.
        self.until = 0.0

    @classmethod
    def restored(cls, policy: BreakerPolicy, until: float, in_a_row: int = 0) -> "Breaker":
        """One that was open, from `until` and `in_a_row` of its former self."""
        breaker = cls(policy)
        breaker.opened, breaker.until, breaker._in_a_row = True, until, in_a_row
        return breaker

    @property
    def in_a_row(self) -> int:
        """Failures since the last success."""
        return self._in_a_row

    @property
    def state(self) -> BreakerState:
        """What it is now; an open one whose wait is over stays open until somebody probes."""
        if not self.opened:
            return BreakerState.CLOSED
        return BreakerState.HALF_OPEN if self._probing else BreakerState.OPEN

    def allows(self, now: float) -> bool:
        """Whether a call may begin."""
        return not self.opened or now >= self.until

    def begin(self, now: float) -> bool:
        """A call begins. True: it is the probe, and there is none beside it for a whole wait."""
        if self.opened:
            self._probing, self.until = True, now + self._wait_s
        return self.opened

    def cancel(self, now: float) -> None:
        """The call was never made: the probe, if it was that, may go at once."""
        if self._probing:
            self._probing, self.until = False, now

    def record(self, *, ok: bool, now: float) -> bool:
        """A call ended. True: that opened or closed the breaker."""
        if self.opened:
            return self._probing and self._record_probe(ok=ok, now=now)
        self._in_a_row = 0 if ok else self._in_a_row + 1
        window = self._policy.window
        self._failures = (self._failures << 1 | (not ok)) & ((1 << window) - 1)
        self._results = min(self._results + 1, window)
        if ok or self._results < min(self._policy.min_results, window):
            return False
        if self._failures.bit_count() < self._policy.threshold * self._results:
            return False
        self.opened, self.until = True, now + self._wait_s
        return True

    def _record_probe(self, *, ok: bool, now: float) -> bool:
        self._probing = False
        if ok:
            self.opened = False
            self._failures = self._results = self._in_a_row = 0
        else:
            self._in_a_row += 1
            self.until = now + self._wait_s
        return ok

    @property
    def _wait_s(self) -> float:
        policy = self._policy
        return policy.long_open_s if self._in_a_row > policy.long_after else policy.open_s
