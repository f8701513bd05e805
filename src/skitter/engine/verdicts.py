"""What a fetch result means for its request: done, redirected, try again, failed, dropped.

Pure policy. The ladder: the first try and one more after each of the delays; 429 and 503 hold
the whole domain instead and cost no try, up to a number of them.
"""

from msgspec import Struct

from skitter.config.settings import Settings
from skitter.fetch.base import FetchResult
from skitter.models import DropReason, ErrorCode, Lease, Outcome
from skitter.politeness.backoff import parse_retry_after

__all__ = ["REDIRECTS", "Judgement", "judge"]

REDIRECTS = (301, 302, 303, 307, 308)
_HOLDS = (429, 503)
#: A name that does not resolve is asked for twice more, not through the whole ladder.
_DNS_DELAYS_S = (1.0, 1.0)


class Judgement(Struct, frozen=True, kw_only=True):
    """The outcome, and for a retry when."""

    outcome: Outcome
    reason: DropReason | None = None
    error: str | None = None
    after_s: float = 0.0
    costs_try: bool = True
    #: The domain must be left alone; `retry_after_s` if it said for how long.
    holds_domain: bool = False
    retry_after_s: float | None = None


def judge(lease: Lease, result: FetchResult, settings: Settings, now_s: float) -> Judgement:
    """The judgement on one try; `now_s` is the wall clock, for dates in headers."""
    if result.forbidden:
        return Judgement(outcome=Outcome.DROPPED, reason=DropReason.FORBIDDEN_ADDRESS)
    if result.error is not None:
        error = f"{result.error.value}: {result.detail}" if result.detail else result.error.value
        delays = _DNS_DELAYS_S if result.error is ErrorCode.DNS else settings.retry.delays_s
        return _again(lease, error, delays)
    status = result.status_code or 0
    if status in _HOLDS:
        return _hold(lease, result, settings, now_s)
    if status == 408 or status >= 500:
        return _again(lease, f"{ErrorCode.HTTP.value}{status}", settings.retry.delays_s)
    if status in REDIRECTS:
        return Judgement(outcome=Outcome.REDIRECTED)
    return Judgement(outcome=Outcome.DONE)


def _again(lease: Lease, error: str, delays_s: tuple[float, ...]) -> Judgement:
    if lease.tries >= len(delays_s):
        return Judgement(outcome=Outcome.FAILED, error=error)
    return Judgement(outcome=Outcome.RETRY, error=error, after_s=delays_s[lease.tries])


def _hold(lease: Lease, result: FetchResult, settings: Settings, now_s: float) -> Judgement:
    error = f"{ErrorCode.HTTP.value}{result.status_code}"
    last = lease.holds + 1 >= settings.retry.max_holds
    return Judgement(
        outcome=Outcome.FAILED if last else Outcome.RETRY,
        error=error,
        costs_try=False,
        holds_domain=True,
        retry_after_s=parse_retry_after(_retry_after(result), now_s),
    )


def _retry_after(result: FetchResult) -> str | None:
    for line in result.head:
        if line[:12].lower() == b"retry-after:":
            return line[12:].decode("latin-1")
    return None
