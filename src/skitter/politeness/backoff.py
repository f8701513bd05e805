"""How long a domain is left alone after a 429 or 503. Pure; times are passed in.

Steps double from `first_s` to `max_s`. Responses that arrive while the domain is already
held belong to the same incident and do not add a step; a quiet time forgives them all.
"""

from datetime import UTC
from email.utils import parsedate_to_datetime

from msgspec import Struct

__all__ = ["BackoffPolicy", "BackoffState", "in_words", "parse_retry_after"]


class BackoffState(Struct, frozen=True, kw_only=True):
    """A domain's history; the default is a clean one."""

    step: int = 0
    #: When the domain may be asked again.
    until: float = 0.0


class BackoffPolicy(Struct, frozen=True, kw_only=True):
    """The numbers of the ladder."""

    first_s: float = 60.0
    max_s: float = 86_400.0
    #: Share of the wait added at random, so that a fleet does not come back as one.
    jitter: float = 0.1
    #: Quiet seconds after the end of a hold until the ladder starts anew.
    forgive_s: float = 1_800.0

    def next_state(
        self, state: BackoffState, now: float, retry_after_s: float | None, random: float
    ) -> BackoffState:
        """The state after a 429 or 503 at `now`; `random` is in [0, 1)."""
        same_incident = now < state.until
        forgiven = now > state.until + self.forgive_s
        step = state.step if same_incident else 1 if forgiven else state.step + 1
        if retry_after_s is not None:
            wait_s = retry_after_s
        elif same_incident:
            return state
        else:
            wait_s = min(self.first_s * 2.0 ** min(step - 1, 32), self.max_s)
            wait_s += wait_s * self.jitter * random
        return BackoffState(step=step, until=max(state.until, now + wait_s))


def in_words(reason: str) -> str:
    """Why a domain is held, for people: `http_429` is "it answered 429", the rest is words."""
    status = reason.removeprefix("http_")
    return f"it answered {status}" if status != reason else reason


def parse_retry_after(value: str | None, now_epoch_s: float) -> float | None:
    """Seconds to wait by a `Retry-After` header (seconds or a date); None if it says nothing."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        when = parsedate_to_datetime(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)  # the old asctime form names no zone and means UTC
    return max(0.0, when.timestamp() - now_epoch_s)
