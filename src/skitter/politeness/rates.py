"""How often a domain may be asked: GCRA, pure arithmetic on times that are passed in.

The state of a domain is one number, the theoretical arrival time (`tat`): when the next
request would be due if every request so far had come exactly on schedule.
"""

from math import isfinite

from msgspec import Struct
from msgspec.structs import replace

from skitter.errors import UsageError

__all__ = ["Rate"]

#: The `tat` of a domain that was never asked; it cannot be behind schedule.
_NEVER = float("-inf")


class Rate(Struct, frozen=True, kw_only=True):
    """`hits` per `window_s` seconds, and at most `concurrency` in flight."""

    hits: float = 1.0
    window_s: float = 1.0
    #: True: evenly spaced. False: up to `hits` at once after a quiet window.
    moderated: bool = True
    #: Share of `hits` really used, above 0 and at most 1.
    scale: float = 1.0
    concurrency: int = 1
    #: True: what was missed in the last window is made up for, at up to twice the even pace.
    elastic: bool = False

    def __post_init__(self) -> None:
        """Refuse what would never let a request through, or divide by zero."""
        if not (self.hits > 0 and isfinite(self.hits)):
            raise UsageError(f"a rate needs more than 0 hits, not {self.hits}; block the domain")
        if not (self.window_s >= 0 and isfinite(self.window_s)):
            raise UsageError(f"a rate's window is 0 seconds or longer, not {self.window_s}")
        if not 0 < self.scale <= 1:
            raise UsageError(f"a rate's scale is above 0 and at most 1, not {self.scale}")
        if self.concurrency < 1:
            raise UsageError(f"a rate needs a concurrency of 1 or more, not {self.concurrency}")

    @classmethod
    def of_delay(cls, delay_s: float, concurrency: int = 1) -> "Rate":
        """One request every `delay_s` seconds, start to start."""
        return cls(hits=1.0, window_s=delay_s, concurrency=concurrency)

    @property
    def interval_s(self) -> float:
        """Seconds between two requests on schedule."""
        return self.window_s / (self.hits * self.scale)

    @property
    def gap_s(self) -> float:
        """Least seconds between two requests, whatever the past was; 0 where bursts are allowed."""
        if not self.moderated:
            return 0.0
        return self.interval_s / 2 if self.elastic else self.interval_s

    @property
    def burst_s(self) -> float:
        """How far ahead of schedule a request may be sent."""
        return 0.0 if self.moderated else max(0.0, self.window_s - self.interval_s)

    def said(self) -> str:
        """In words: "1 every 5 s, 2 at once"."""
        at_once = f", {self.concurrency} at once" if self.concurrency > 1 else ""
        if not self.interval_s:
            return f"no delay{at_once or ', 1 at once'}"
        if not self.moderated:
            used = self.hits * self.scale
            return f"{used:g} in {self.window_s:g} s, bursts allowed{at_once}"
        elastic = ", elastic" if self.elastic else ""
        return f"1 every {self.interval_s:.4g} s{elastic}{at_once}"

    def due_at(self, tat: float) -> float:
        """The earliest time for the next request."""
        return tat - self.burst_s

    def spend(self, tat: float, at: float) -> float:
        """The new `tat` after a request at `at`."""
        if self.elastic and self.moderated and tat != _NEVER:
            return max(tat, at - self.window_s) + self.interval_s
        return max(tat, at) + self.interval_s

    def eased(self, factor: float) -> "Rate":
        """So many times gentler: further apart, and fewer at once, but always at least one."""
        if factor <= 1:
            return self
        fewer = max(1, int(self.concurrency / factor))
        return replace(self, scale=self.scale / factor, concurrency=fewer)
