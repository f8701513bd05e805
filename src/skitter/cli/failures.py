"""When so many requests fail that somebody should do something, and what."""

__all__ = ["ADVICE", "share_failed"]

#: Share of failed requests that is nothing unusual.
_FEW = 0.05

ADVICE = "--delay and --concurrency slow down"


def share_failed(pages: int, failed: int) -> str | None:
    """The share in words if it is more than a few; None: nothing unusual."""
    tried = pages + failed
    if not failed or failed <= tried * _FEW:
        return None
    return f"{failed / tried:.0%} of requests" if pages else "every request"
