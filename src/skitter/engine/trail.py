"""What the fetch log has of one URL: its tries, and the robots.txt it was judged by.

A log may have hundreds of millions of lines, so only those that hold the URL's bytes are read.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from skitter.engine.logbook import Fetched, InFlight, Line, RobotsRead, Run

__all__ = ["RobotsCopy", "Trail", "Try", "read_trail"]

_RUN = b'"event":"run"'


class Try(Struct, frozen=True, kw_only=True):
    """One time that the URL was asked for."""

    #: Epoch.
    sent_s: float
    worker: str
    #: None: nobody saw its end.
    elapsed_s: float | None = None
    status: int | None = None
    error: str | None = None


class RobotsCopy(Struct, frozen=True, kw_only=True):
    """An answer to a request for robots.txt."""

    read_s: float
    status: int | None
    body: str
    #: The name that groups address us by.
    agent: str


class Trail(Struct, frozen=True, kw_only=True):
    """Oldest try first. `robots` is the last copy of which something is known."""

    tries: list[Try]
    robots: RobotsCopy | None


def read_trail(folder: Path, *, job: str, url: str, origin: str) -> Trail:
    """All files of a log, whoever wrote them; what is torn or damaged is passed over."""
    tries: dict[tuple[str, int, float], Try] = {}
    robots: RobotsCopy | None = None
    for run, line in _lines(folder, url, origin):
        if isinstance(line, RobotsRead):
            copy = RobotsCopy(
                read_s=_wall(run, line.at), status=line.status, body=line.body, agent=run.agent
            )
            if robots is None or _is_better(copy, robots):
                robots = copy
        elif isinstance(line, Fetched | InFlight) and line.url == url and line.job == job:
            # A slow transfer has two lines; the second tells how it ended.
            tries[run.run, line.token, line.sent] = _try(run, line)
    return Trail(tries=sorted(tries.values(), key=lambda one: one.sent_s), robots=robots)


def _is_better(copy: RobotsCopy, than: RobotsCopy) -> bool:
    """Newer, unless it is a failure: then the copy before stays in force."""
    usable = copy.status is not None and copy.status < 500
    was_usable = than.status is not None and than.status < 500
    return (usable, copy.read_s) > (was_usable, than.read_s)


def _lines(folder: Path, url: str, origin: str) -> Iterator[tuple[Run, Line]]:
    decode = msgspec.json.Decoder(Line).decode
    of_url = msgspec.json.encode(url)
    of_origin = b'"origin":' + msgspec.json.encode(origin)
    for path in sorted(folder.glob("*.jsonl")):
        run = None
        with path.open("rb") as lines:
            for text in lines:
                if of_url not in text and of_origin not in text and _RUN not in text:
                    continue
                try:
                    line = decode(text)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    continue
                if isinstance(line, Run):
                    run = line
                elif run is not None:
                    yield run, line


def _try(run: Run, line: Fetched | InFlight) -> Try:
    sent_s = _wall(run, line.sent)
    if isinstance(line, InFlight):
        return Try(sent_s=sent_s, worker=run.worker)
    return Try(
        sent_s=sent_s,
        worker=run.worker,
        elapsed_s=line.ended - line.sent,
        status=line.status,
        error=line.error,
    )


def _wall(run: Run, monotonic_s: float) -> float:
    return run.wall_s + monotonic_s - run.at
