"""The only place that reads the time.

Intervals (leases, rates, time-outs) use `monotonic`, so a wall clock that jumps changes
nothing; `time` is for what people and files see.
"""

import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock", "timestamp"]


class Clock(Protocol):
    """What the rest of the code knows of time; tests pass one they can turn."""

    def time(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back and never jump."""
        ...


class SystemClock:
    """The machine's clocks."""

    time = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)


def timestamp(epoch_s: float) -> str:
    """UTC ISO-8601 with microseconds and no zone, the form every record carries."""
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
