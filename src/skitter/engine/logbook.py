"""The fetch log: what its lines mean, and reading them back.

`DATA/log/<worker>-NNNN.jsonl`, one JSON object a line. A process writes files of its own, so
only the last line of a file can be torn; each file begins with a `Run`. Times are monotonic
seconds of one boot of one machine, so runs of the same boot can be compared, whoever made them.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

__all__ = [
    "LOG_FOLDER",
    "Event",
    "Fetched",
    "Held",
    "InFlight",
    "Line",
    "LogReader",
    "Place",
    "RobotsRead",
    "Run",
]

#: Below the data folder.
LOG_FOLDER = "log"

_NAME = re.compile(r"(.+)-(\d+)\.jsonl")


class Run(Struct, frozen=True, kw_only=True, tag="run", tag_field="event"):
    """Who wrote the lines below, until the end of the file."""

    #: Different for every process.
    run: str
    worker: str
    boot: str
    #: The same moment on both clocks.
    at: float
    wall_s: float
    #: The name that robots.txt addresses us by.
    agent: str
    #: Hosts that ask for more are not crawled; None: all are.
    max_crawl_delay_s: float | None = None


class Fetched(
    Struct, frozen=True, kw_only=True, gc=False, tag="fetch", tag_field="event", omit_defaults=True
):
    """A transfer that was sent and has ended; `gap_s` and `concurrency` are the law it was under.

    robots.txt belongs to no job and no lease; no gap holds for it.
    """

    url: str
    domain: str
    sent: float
    ended: float
    kind: Literal["page", "robots", "sitemap"] = "page"
    job: str = ""
    token: int = 0
    tries: int = 0
    status: int | None = None
    error: str | None = None
    gap_s: float = 0.0
    #: 0: not known.
    concurrency: int = 0
    #: Where bursts are allowed, instead of a gap: the long-run interval, and how far ahead of it.
    interval_s: float = 0.0
    burst_s: float = 0.0


class InFlight(
    Struct, frozen=True, kw_only=True, gc=False, tag="sent", tag_field="event", omit_defaults=True
):
    """A transfer that had not ended when lines were written; its `Fetched` comes later or never."""

    url: str
    domain: str
    sent: float
    #: Until when at least it was in flight.
    seen: float
    kind: Literal["page", "robots", "sitemap"] = "page"
    job: str = ""
    token: int = 0
    tries: int = 0
    gap_s: float = 0.0
    concurrency: int = 0
    #: Where bursts are allowed, instead of a gap: the long-run interval, and how far ahead of it.
    interval_s: float = 0.0
    burst_s: float = 0.0


class RobotsRead(Struct, frozen=True, kw_only=True, tag="robots", tag_field="event"):
    """What an origin's robots.txt answered in the end, redirects followed and tries made."""

    origin: str
    domain: str
    at: float
    #: None: there was no whole answer.
    status: int | None
    #: Bytes that are not UTF-8 are replaced, as the rules' reader does.
    body: str


class Held(Struct, frozen=True, kw_only=True, tag="hold", tag_field="event"):
    """From `at` on the domain is to be left alone for `wait_s`; 0 ends all holds there are."""

    domain: str
    at: float
    wait_s: float
    reason: str


Event = Fetched | InFlight | RobotsRead | Held
Line = Run | Event


class Place(Struct, frozen=True, gc=False):
    """Where a line is: numbers into `LogReader.files` and `LogReader.runs`."""

    file: int
    line: int
    run: int


class LogReader:
    """Reads a log folder once, in any state; whatever grows meanwhile is not waited for."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("*.jsonl"), key=_order)
        self.runs: list[Run] = []
        self._numbers: dict[str, int] = {}
        #: Lines that no crash explains, and why.
        self.damaged: list[tuple[Place, str]] = []
        #: Last lines that were not finished.
        self.torn = 0

    def __iter__(self) -> Iterator[tuple[Place, Event]]:
        for number, path in enumerate(self.files):
            yield from self._read(number, path)

    def where(self, file: int, line: int) -> str:
        """A place as people and editors write it."""
        return f"{LOG_FOLDER}/{self.files[file].name}:{line}"

    def _read(self, file: int, path: Path) -> Iterator[tuple[Place, Event]]:
        decode: Callable[[bytes], Line] = msgspec.json.Decoder(Line).decode
        run: int | None = None
        with path.open("rb") as lines:
            for number, text in enumerate(lines, start=1):
                if not text.endswith(b"\n"):
                    self.torn += 1
                    return
                try:
                    line = decode(text)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    self.damaged.append((Place(file, number, -1), str(error)))
                    continue
                if isinstance(line, Run):
                    run = self._number_of(line)
                elif run is None:
                    self.damaged.append((Place(file, number, -1), "nothing says who wrote it"))
                else:
                    yield Place(file, number, run), line

    def _number_of(self, run: Run) -> int:
        number = self._numbers.setdefault(run.run, len(self.runs))
        if number == len(self.runs):
            self.runs.append(run)
        return number


def _order(path: Path) -> tuple[str, int, str]:
    """By worker, then by number, which may have outgrown its four digits."""
    match = _NAME.fullmatch(path.name)
    return (match[1], int(match[2]), "") if match else (path.name, 0, path.name)
