"""The only place that reads the time.

Intervals (leases, rates, time-outs) use `monotonic`, so a wall clock that jumps changes
nothing; `time` is for what people and files see.
"""

from datetime import UTC, datetime
from functools import lru_cache
from time import monotonic as _monotonic
from time import time as _time
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

    def time(self) -> float:
        """Seconds since the epoch."""
        return _time()

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return _monotonic()


def timestamp(epoch_s: float) -> str:
    """UTC ISO-8601 with microseconds and no zone, the form every record carries."""
    seconds, fraction = divmod(round(epoch_s * 1_000_000), 1_000_000)
    return f"{_second(seconds)}.{fraction:06}"


@lru_cache(maxsize=4)
def _second(epoch_s: int) -> str:
    # Shared by all records of a second: a fifth of the time of formatting each.
    return datetime.fromtimestamp(epoch_s, UTC).isoformat()[:-6]
