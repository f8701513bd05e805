"""Log events, `part.past_tense` with fields.

The library behind them takes longer to load than the rest of a start, and most runs have nothing
to log: it is loaded for the first event that passes the level.
"""

from collections.abc import Callable
from typing import Any

__all__ = ["LEVELS", "Log", "prepare"]

#: Least level first.
LEVELS = ("debug", "info", "warning", "error")

#: Ranks below this are dropped; what to do before the first event that is not.
_threshold = 0
_first: Callable[[], None] | None = None


def prepare(level: str, first: Callable[[], None]) -> None:
    """Log events from `level` on; `first` is called once, before the first of them."""
    global _threshold, _first  # logs are the process's, not anybody's
    _threshold, _first = LEVELS.index(level), first


class Log:
    """Where one part of the product logs to. Fields are keywords."""

    def __init__(self, name: str) -> None:
        self._name = name

    def debug(self, event: str, **fields: object) -> None:
        """For whoever looks for a fault."""
        self._log(0, "debug", event, fields)

    def info(self, event: str, **fields: object) -> None:
        """For whoever wants to know what happens."""
        self._log(1, "info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Something is not as it should be; the crawl goes on."""
        self._log(2, "warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Something failed."""
        self._log(3, "error", event, fields)

    def exception(self, event: str, **fields: object) -> None:
        """The same, with the traceback of the exception that is being handled."""
        self._log(3, "exception", event, fields)

    def _log(self, rank: int, method: str, event: str, fields: dict[str, Any]) -> None:
        global _first
        if rank < _threshold:
            return
        import structlog  # noqa: PLC0415  (see above)

        if _first is not None:
            first, _first = _first, None
            first()
        getattr(structlog.get_logger(self._name), method)(event, **fields)
