"""Logs go to standard error: key=value in colour on a terminal, one JSON object a line elsewhere.

An event is `part.past_tense` (`robots.fetched`, `lease.expired`) with fields; never a sentence.
"""

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, TextIO

from skitter.clock import Clock, SystemClock, timestamp
from skitter.log import prepare

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

__all__ = ["configure"]


def configure(
    *, level: str = "warning", stream: TextIO | None = None, clock: Clock | None = None
) -> None:
    """Log from here on; calling it again replaces what was set before."""
    prepare(level, partial(_configure, level, stream or sys.stderr, clock or SystemClock()))


def _configure(level: str, stream: TextIO, clock: Clock) -> None:
    import structlog  # noqa: PLC0415  (see `skitter.log`)

    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            _stamp(clock),
            *(_for_people() if stream.isatty() else _for_machines()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=False,
    )


def _stamp(clock: Clock) -> "Processor":
    def stamp(_logger: "WrappedLogger", _method: str, event: "EventDict") -> "EventDict":
        event["timestamp"] = timestamp(clock.time())
        return event

    return stamp


def _for_people() -> "list[Processor]":
    import structlog  # noqa: PLC0415  (as above)

    renderer = structlog.dev.ConsoleRenderer(
        colors=not os.environ.get("NO_COLOR"),
        exception_formatter=structlog.dev.plain_traceback,
    )
    return [_without_controls, renderer]


def _for_machines() -> "list[Processor]":
    import structlog  # noqa: PLC0415  (as above)

    return [
        structlog.processors.format_exc_info,
        structlog.processors.UnicodeDecoder(),
        structlog.processors.JSONRenderer(ensure_ascii=False),
    ]


def _without_controls(_logger: "WrappedLogger", _method: str, event: "EventDict") -> "EventDict":
    """A title or URL from the web must not drive the operator's terminal."""
    for key, value in event.items():
        if isinstance(value, str) and not value.isprintable():
            event[key] = value.encode("unicode_escape").decode()
    return event
