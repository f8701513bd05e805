"""How often a worker must be heard. May change while a crawl runs."""

from typing import Self

from msgspec import Struct

from skitter.config.settings import Settings
from skitter.errors import UsageError

__all__ = ["Pulse"]


class Pulse(Struct, frozen=True, kw_only=True):
    """Heartbeats, and the silence after which a worker counts as dead."""

    heartbeat_s: float
    timeout_s: float

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """As configured."""
        return cls(
            heartbeat_s=settings.frontier.heartbeat_s, timeout_s=settings.frontier.lease_s
        ).checked()

    @property
    def max_silence_s(self) -> float:
        """A worker that could not make itself heard for so long lets go of what it holds.

        Sooner than others may take it, later than the next heartbeat is due.
        """
        return max(self.timeout_s * 2 / 3, (self.heartbeat_s + self.timeout_s) / 2)

    def checked(self) -> Self:
        """Itself, if a worker can live with it."""
        if not 0 < self.heartbeat_s < self.timeout_s:
            raise UsageError(
                f"a heartbeat every {self.heartbeat_s:g} s and a time-out of {self.timeout_s:g} s:"
                " the heartbeat must be more than 0 and less than the time-out"
            )
        return self
