"""A fault that happened, and what it may cost."""

from msgspec import Struct

from skitter.chaos.schedule import FaultKind

__all__ = ["Done"]


class Done(Struct, frozen=True, kw_only=True):
    """What was done to whom and when."""

    kind: FaultKind
    #: Monotonic; when the signal was sent.
    at_s: float
    #: From then on the victim sent nothing.
    over_s: float
    what: str
    #: URLs that may be fetched again: what the victim had leased. None: nobody knows exactly.
    held: tuple[str, ...] | None = None
    #: URLs whose leases were taken from a victim that lived on.
    stale: tuple[str, ...] = ()
    #: Its results that were refused for that.
    refused: int = 0
    #: How long the crawl took to end, where it was asked to.
    stop_s: float | None = None
    exit_code: int | None = None
