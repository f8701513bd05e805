"""Writes the fetch log, a hook; see `skitter.engine.logbook` for what is in it.

Lines are written in groups and never synced: the log proves manners, it restores nothing. What a
`kill -9` takes with it is what happened in the last quarter of a second.
"""

import errno
import itertools
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from skitter.clock import Clock
from skitter.engine.hooks import Hook
from skitter.engine.logbook import Fetched, Held, InFlight, Line, RobotsRead, Run
from skitter.fetch.base import FetchResult
from skitter.log import Log
from skitter.models import Lease, RequestKind
from skitter.urls.domain import domain_of_url

__all__ = ["FetchLog"]

#: A group is written when it has so many lines,
_GROUP_LINES = 256
#: or when its first line is so old.
_GROUP_S = 0.25
#: Who did not get to look for so long stood still, and knows nothing of what happened meanwhile.
_STOOD_STILL_S = 1.0
#: Beyond this a new file is begun.
_FILE_BYTES = 64 * 1024 * 1024
#: RFC 9309 2.5 asks for 500 KiB; whoever reads more is judged by so much.
_MAX_ROBOTS_BYTES = 512_000

#: Looking up is quicker than asking an enum for its value.
_KINDS: dict[RequestKind, Literal["page", "sitemap"]] = {
    RequestKind.PAGE: "page",
    RequestKind.SITEMAP: "sitemap",
}

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_log = Log("skitter.engine")

#: `call_later` of an event loop.
CallLater = Callable[[float, Callable[[], None]], object]


class FetchLog(Hook):
    """One worker's log. Nothing is created before there is something to write."""

    def __init__(
        self,
        folder: Path,
        worker: str,
        *,
        clock: Clock,
        agent: str,
        max_crawl_delay_s: float | None = None,
        call_later: CallLater,
        file_bytes: int = _FILE_BYTES,
    ) -> None:
        self._folder = folder
        self._worker = worker
        self._agent = agent
        self._max_crawl_delay_s = max_crawl_delay_s
        self._clock = clock
        self._monotonic = clock.monotonic
        self._call_later = call_later
        self._file_bytes = file_bytes
        self._run = uuid.uuid4().hex
        self._lines: list[Line] = []
        #: Token -> lease and send of what is in flight and has no line yet.
        self._in_flight: dict[int, tuple[Lease, float]] = {}
        self._waiting = self._closed = False
        #: When we last looked; from the first line on, at least once for each group.
        self._awake_at = float("inf")
        #: From when to when we last stood still.
        self._stood = (0.0, 0.0)
        self._file: BinaryIO | None = None
        self._written_bytes = 0
        self._encoder = msgspec.json.Encoder()

    # What is logged

    def sent(self, lease: Lease, at: float) -> None:
        """Remember it, in case its end is never seen."""
        self._in_flight[lease.token] = (lease, at)
        if not self._waiting:
            self._wait()

    def fetched(self, lease: Lease, result: FetchResult) -> None:
        """A transfer ended; one that never left has no line."""
        self._in_flight.pop(lease.token, None)
        if result.sent_at is None:
            return
        request = lease.request
        self._add(
            Fetched(
                url=request.url,
                domain=request.domain,
                sent=result.sent_at,
                ended=self._end_of(result.sent_at),
                kind=_KINDS[request.kind],
                job=lease.job,
                token=lease.token,
                tries=lease.tries,
                status=result.status_code,
                error=None if result.error is None else result.error.value,
                gap_s=lease.pace_s,
                concurrency=lease.concurrency,
                interval_s=lease.interval_s,
                burst_s=lease.burst_s,
            )
        )

    def robots_fetched(self, url: str, result: FetchResult) -> None:
        """One transfer on the way to a robots.txt."""
        if result.sent_at is not None:
            self._add(
                Fetched(
                    url=url,
                    domain=domain_of_url(url),
                    sent=result.sent_at,
                    ended=self._end_of(result.sent_at),
                    kind="robots",
                    status=result.status_code,
                    error=None if result.error is None else result.error.value,
                )
            )

    def robots_read(self, origin: str, result: FetchResult) -> None:
        """The rules from now on."""
        whole = result.error is None
        self._add(
            RobotsRead(
                origin=origin,
                domain=domain_of_url(f"{origin}/"),
                at=self._monotonic(),
                status=result.status_code if whole else None,
                body=result.body[:_MAX_ROBOTS_BYTES].decode("utf-8", "replace") if whole else "",
            )
        )

    def held(self, domain: str, wait_s: float, reason: str) -> None:
        """A domain is to be left alone."""
        self._add(Held(domain=domain, at=self._monotonic(), wait_s=wait_s, reason=reason))

    # Writing

    def flush(self) -> None:
        """Write what there is; a failure costs these lines and ends the file."""
        self._flush(self._monotonic() - _GROUP_S)

    def _flush(self, sent_before: float) -> None:
        lines, self._lines = self._lines, []
        lines += self._unfinished(sent_before)
        if not lines:
            return
        try:
            self._write(lines)
        except OSError as error:
            _log.info("fetch_log.failed", error=str(error), lines=len(lines))
            self._close_file()  # it may end within a line

    def close(self) -> None:
        """Write the rest and let go of the file; safe to call twice."""
        self._flush(float("inf"))
        self._close_file()
        self._closed = True

    def _add(self, line: Line) -> None:
        self._lines.append(line)
        if len(self._lines) >= _GROUP_LINES:
            self.flush()
        elif not self._waiting:
            self._wait()

    def _wait(self) -> None:
        self._waiting = True
        self._awake_at = self._monotonic()
        self._call_later(_GROUP_S, self._time_is_up)

    def _time_is_up(self) -> None:
        if self._closed:
            return
        if self._seen_until() == self._awake_at:
            self._stood = (self._awake_at, self._monotonic())
            self._flush(float("inf"))
        self.flush()
        self._wait()

    def _seen_until(self) -> float:
        """Until when what is in flight is known to have been; now, unless we stood still."""
        now = self._monotonic()
        return self._awake_at if now - self._awake_at > _STOOD_STILL_S else now

    def _end_of(self, sent_at: float) -> float:
        """When a transfer ended that we hear of now; the earliest moment if we stood still."""
        since, until = self._stood
        seen = self._seen_until()
        if sent_at < until and seen - until < _STOOD_STILL_S:
            seen = since
        return max(sent_at, seen)

    def _unfinished(self, sent_before: float) -> list[Line]:
        """A line, once, for each transfer that is taking long: most end before they need one."""
        seen = self._seen_until()
        slow = list(
            itertools.takewhile(lambda item: item[1] < sent_before, self._in_flight.values())
        )
        for lease, _ in slow:
            del self._in_flight[lease.token]
        return [
            InFlight(
                url=lease.request.url,
                domain=lease.request.domain,
                sent=at,
                seen=max(at, seen),
                kind=_KINDS[lease.request.kind],
                job=lease.job,
                token=lease.token,
                tries=lease.tries,
                gap_s=lease.pace_s,
                concurrency=lease.concurrency,
                interval_s=lease.interval_s,
                burst_s=lease.burst_s,
            )
            for lease, at in slow
        ]

    def _write(self, lines: list[Line]) -> None:
        if self._file is None:
            self._file = self._next_file()
            self._written_bytes = 0
            lines.insert(0, self._introduction())
        data = self._encoder.encode_lines(lines)
        if self._file.write(data) != len(data):
            raise OSError(errno.ENOSPC, "no room for all lines")
        self._written_bytes += len(data)
        if self._written_bytes >= self._file_bytes:
            self._close_file()

    def _introduction(self) -> Run:
        return Run(
            run=self._run,
            worker=self._worker,
            boot=_boot_id() or self._run,
            at=self._clock.monotonic(),
            wall_s=self._clock.time(),
            agent=self._agent,
            max_crawl_delay_s=self._max_crawl_delay_s,
        )

    def _next_file(self) -> BinaryIO:
        self._folder.mkdir(parents=True, exist_ok=True)
        numbers = [int(path.stem[-4:]) for path in self._folder.glob(f"{self._worker}-????.jsonl")]
        number = max(numbers, default=0)
        while True:
            number += 1
            try:
                return (self._folder / f"{self._worker}-{number:04}.jsonl").open("xb", buffering=0)
            except FileExistsError:
                continue

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _boot_id() -> str:
    """Empty where the system does not tell: then nothing is compared with other runs."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
