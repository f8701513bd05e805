"""What a fetch result means for its request: done, redirected, try again, failed, dropped.

Pure policy. The ladder: the first try and one more after each of the delays; 429 and 503 hold
the whole domain instead and cost no try, up to a number of them. Each judgement also says what
the transfer tells about its site; the frontier draws the conclusions.
"""

from msgspec import Struct

from skitter.config.settings import Settings
from skitter.fetch.base import FetchResult
from skitter.models import DropReason, ErrorCode, Lease, Outcome, Sign
from skitter.politeness.backoff import parse_retry_after
from skitter.politeness.blocking import challenge

__all__ = ["REDIRECTS", "Judgement", "judge"]

REDIRECTS = (301, 302, 303, 307, 308)
_HOLDS = (429, 503)
#: The site's fault, or the way's. A name that does not resolve asks nothing of a site.
_FAILURES = frozenset(
    {
        ErrorCode.CONNECT,
        ErrorCode.TLS,
        ErrorCode.TIMEOUT,
        ErrorCode.TOO_SLOW,
        ErrorCode.RESET,
        ErrorCode.PROTOCOL,
    }
)
#: What walls are served with; nothing else is searched for their marks.
_SUSPECT = frozenset({202, 401, 403, 405, 406, 429, 503})


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
    #: What it says about the site; None: nothing.
    sign: Sign | None = None


def judge(
    lease: Lease, result: FetchResult, settings: Settings, now_s: float, random: float = 0.0
) -> Judgement:
    """The judgement on one try.

    `now_s` is the wall clock, for dates in headers; `random`, in [0, 1), spreads retries.
    """
    if result.forbidden:
        return Judgement(outcome=Outcome.DROPPED, reason=DropReason.FORBIDDEN_ADDRESS)
    if result.error is not None:
        error = f"{result.error.value}: {result.detail}" if result.detail else result.error.value
        return _broken(lease, result, error, settings, random)
    status = result.status_code or 0
    delays = settings.retry.delays_s
    wall = challenge(status, result.head, result.body) if status in _SUSPECT else None
    if wall is not None:
        error = f"{ErrorCode.BLOCKED.value}: challenge by {wall}"
        return _again(lease, error, Sign.CHALLENGED, _spread(delays, settings, random))
    if status in _HOLDS:
        return _hold(lease, result, settings, now_s)
    if status == 408 or status >= 500:
        error = f"{ErrorCode.HTTP.value}{status}"
        return _again(lease, error, Sign.FAILED, _spread(delays, settings, random))
    return _final(status)


def _final(status: int) -> Judgement:
    if status in REDIRECTS:
        return Judgement(outcome=Outcome.REDIRECTED, sign=Sign.OK)
    return Judgement(outcome=Outcome.DONE, sign=Sign.FORBIDDEN if status == 403 else Sign.OK)


def _spread(delays_s: tuple[float, ...], settings: Settings, random: float) -> tuple[float, ...]:
    """Never earlier than the ladder says, and not all at once."""
    longer = 1 + settings.retry.jitter * random
    return tuple(delay_s * longer for delay_s in delays_s)


def _again(lease: Lease, error: str, sign: Sign | None, delays_s: tuple[float, ...]) -> Judgement:
    if lease.tries >= len(delays_s):
        return Judgement(outcome=Outcome.FAILED, error=error, sign=sign)
    after_s = delays_s[lease.tries]
    return Judgement(outcome=Outcome.RETRY, error=error, after_s=after_s, sign=sign)


def _broken(
    lease: Lease, result: FetchResult, error: str, settings: Settings, random: float
) -> Judgement:
    """There was no answer, or not the whole of it."""
    if result.by_proxy and result.retry_after_s is not None:
        return _patient(lease, error, result.retry_after_s, settings)
    if result.error is ErrorCode.DNS:
        return _unresolved(lease, result, error, settings)
    sign = Sign.FAILED if result.error in _FAILURES else None
    return _again(lease, error, sign, _spread(settings.retry.delays_s, settings, random))


def _unresolved(lease: Lease, result: FetchResult, error: str, settings: Settings) -> Judgement:
    """A ladder of its own; while our name servers are down no try is spent, only patience."""
    after_s = result.retry_after_s
    if after_s is None:
        return _again(lease, error, None, (settings.dns.retry_delay_s,) * settings.dns.retries)
    return _patient(lease, error, after_s, settings)


def _patient(lease: Lease, error: str, after_s: float, settings: Settings) -> Judgement:
    """What failed is ours: the site is asked later, as often as one that holds us off."""
    last = lease.holds + 1 >= settings.retry.max_holds
    outcome = Outcome.FAILED if last else Outcome.RETRY
    return Judgement(outcome=outcome, error=error, after_s=after_s, costs_try=False)


def _hold(lease: Lease, result: FetchResult, settings: Settings, now_s: float) -> Judgement:
    error = f"{ErrorCode.HTTP.value}{result.status_code}"
    last = lease.holds + 1 >= settings.retry.max_holds
    return Judgement(
        outcome=Outcome.FAILED if last else Outcome.RETRY,
        error=error,
        costs_try=False,
        holds_domain=True,
        sign=Sign.LIMITED,
        retry_after_s=parse_retry_after(_retry_after(result), now_s),
    )


def _retry_after(result: FetchResult) -> str | None:
    for line in result.head:
        if line[:12].lower() == b"retry-after:":
            return line[12:].decode("latin-1")
    return None
