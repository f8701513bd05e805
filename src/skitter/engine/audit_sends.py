"""Manners of sending, from the fetch log: distance, how many at once, silence while held.

Each transfer is six numbers in an array of its domain, so a million cost 50 MB. Only lines of the
same boot are compared: between two boots nobody knows how much time passed.
"""

import heapq
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from skitter.engine.audit import Tally
from skitter.engine.logbook import Fetched, Held, InFlight, LogReader, Place

__all__ = ["SendsAudit"]

_Domain = tuple[str, str]
#: In `_Send.gap_s`: no gap holds for it.
_ROBOTS = -1.0
_LINE_BITS = 32


class _Send(NamedTuple):
    """One transfer; all floats, as the array has them."""

    sent: float
    ended: float
    gap_s: float
    concurrency: float
    run: float
    place: float


_WIDTH = len(_Send._fields)


class SendsAudit:
    """Takes the lines of a log in any order; `finish` judges."""

    def __init__(self, log: LogReader, tolerance_s: float) -> None:
        self.delay = Tally("the delay between two requests to a domain was kept")
        self.crawl_delay = Tally("the crawl-delay of robots.txt was kept")
        self.concurrency = Tally("no domain had more requests at once than allowed")
        self.holds = Tally("nothing was sent to a domain that was held")
        self._log = log
        self._tolerance_s = tolerance_s
        self._sends: dict[_Domain, array[float]] = {}
        self._held: dict[_Domain, list[tuple[float, float]]] = {}
        #: Sends where bursts are allowed: when, interval, how far ahead, where.
        self._bursty: dict[_Domain, list[tuple[float, float, float, float]]] = {}
        #: When, by which run, of which origin: what robots.txt asked for.
        self._crawl_delays: dict[_Domain, list[tuple[float, int, str, float]]] = {}
        #: Run and token of transfers that may end later or never.
        self._open: dict[tuple[int, int], InFlight] = {}
        self._open_places: dict[tuple[int, int], Place] = {}

    def add(self, place: Place, line: Fetched | InFlight | Held) -> None:
        """Take the next line."""
        domain = (self._log.runs[place.run].boot, line.domain)
        if isinstance(line, Held):
            self._held.setdefault(domain, []).append((line.at, line.at + line.wait_s))
        elif isinstance(line, InFlight):
            self._open[place.run, line.token] = line
            self._open_places[place.run, line.token] = place
        else:
            started = self._open.get((place.run, line.token)) if self._open else None
            if started is not None and line.token:
                del self._open[place.run, line.token]
                del self._open_places[place.run, line.token]
            self._keep(domain, place, line, line.ended)

    def add_crawl_delay(
        self, place: Place, domain: str, origin: str, at: float, delay_s: float
    ) -> None:
        """From `at` on an origin asks for this distance; 0: for none."""
        key = (self._log.runs[place.run].boot, domain)
        self._crawl_delays.setdefault(key, []).append((at, place.run, origin, delay_s))

    def finish(self) -> None:
        """All lines were there."""
        for key, line in self._open.items():
            place = self._open_places[key]
            self._keep((self._log.runs[place.run].boot, line.domain), place, line, line.seen)
        for domain, numbers in self._sends.items():
            sends = _sorted(numbers)
            self._judge_gaps(domain, [send for send in sends if send.gap_s != _ROBOTS])
            self._judge_overlaps(domain, sends)
            if domain in self._held:
                self._judge_holds(domain, sends)
            if domain in self._bursty:
                self._judge_bursts(domain)

    def _keep(self, domain: _Domain, place: Place, line: Fetched | InFlight, ended: float) -> None:
        numbers = self._sends.get(domain)
        if numbers is None:
            numbers = self._sends[domain] = array("d")
        gap_s = _ROBOTS if line.kind == "robots" else line.gap_s
        where = (place.file << _LINE_BITS) + place.line
        if line.interval_s:
            law = (line.sent, line.interval_s, line.burst_s, float(where))
            self._bursty.setdefault(domain, []).append(law)
        numbers.extend((line.sent, ended, gap_s, line.concurrency, place.run, where))

    def _judge_gaps(self, domain: _Domain, sends: list[_Send]) -> None:
        asked = _CrawlDelays(self._crawl_delays.get(domain, []))
        for index in range(1, len(sends)):
            before, send = sends[index - 1], sends[index]
            gap_s = send.sent - before.sent
            self.delay.checked += 1
            if gap_s < send.gap_s - self._tolerance_s:
                self._too_close(self.delay, domain, send, gap_s, send.gap_s)
            if not asked:
                continue
            asked_s = asked.law(before.sent, send.sent, int(send.run))
            self.crawl_delay.checked += asked_s > 0
            if gap_s < asked_s - self._tolerance_s:
                self._too_close(self.crawl_delay, domain, send, gap_s, asked_s)

    def _too_close(
        self, tally: Tally, domain: _Domain, send: _Send, gap_s: float, law_s: float
    ) -> None:
        short_ms = (law_s - gap_s) * 1000
        what = f"{domain[1]}: {gap_s:.3f} s after the last, {short_ms:.0f} ms short of {law_s:g} s"
        tally.find(self._where(send), what)

    def _judge_overlaps(self, domain: _Domain, sends: list[_Send]) -> None:
        ends: list[float] = []
        limit = next((send.concurrency for send in sends if send.concurrency), 0.0)
        for send in sends:
            limit = send.concurrency or limit
            while ends and ends[0] <= send.sent:
                heapq.heappop(ends)
            heapq.heappush(ends, send.ended)
            self.concurrency.checked += 1
            if limit and len(ends) > limit:
                what = f"{domain[1]}: {len(ends)} at once, {limit:g} allowed"
                self.concurrency.find(self._where(send), what)

    def _judge_holds(self, domain: _Domain, sends: list[_Send]) -> None:
        held = sorted(self._held[domain])
        begins = [begin for begin, _ in held]
        ends = list(_ends(held))
        for send in sends:
            at = bisect_left(begins, send.sent)
            if not at:
                continue
            self.holds.checked += 1
            early_s = ends[at - 1] - send.sent
            if early_s > self._tolerance_s:
                what = f"{domain[1]}: {early_s:.3f} s before the end of its hold"
                self.holds.find(self._where(send), what)

    def _judge_bursts(self, domain: _Domain) -> None:
        """The schedule of the rate, with one interval's grace: what was granted leaves later."""
        tat = float("-inf")
        for sent, interval_s, burst_s, place in sorted(self._bursty[domain]):
            self.delay.checked += 1
            early_s = tat - burst_s - sent - interval_s
            if early_s > self._tolerance_s:
                what = f"{domain[1]}: {early_s:.3f} s ahead of 1 every {interval_s:g} s with bursts"
                self.delay.find(self._place(place), what)
            tat = max(tat, sent) + interval_s

    def _where(self, send: _Send) -> str:
        return self._place(send.place)

    def _place(self, number: float) -> str:
        file, line = divmod(int(number), 1 << _LINE_BITS)
        return self._log.where(file, line)


class _CrawlDelays:
    """What a domain's hosts ask for as time goes on; the strictest speaks for all.

    A run obeys what it has read itself at once. What another run has read holds for two
    requests that both came after: before that it could not be known everywhere.
    """

    def __init__(self, read: list[tuple[float, int, str, float]]) -> None:
        self._read = sorted(read) if any(delay_s for *_, delay_s in read) else []
        self._by_all: dict[str, float] = {}
        self._by_run: dict[int, dict[str, float]] = {}
        self._all_at = self._run_at = 0

    def __bool__(self) -> bool:
        return bool(self._read)

    def law(self, before: float, now: float, run: int) -> float:
        """Seconds between requests at `before` and `now`, the later by `run`; times only grow."""
        read = self._read
        while self._all_at < len(read) and read[self._all_at][0] < before:
            _, _, origin, delay_s = read[self._all_at]
            self._by_all[origin] = delay_s
            self._all_at += 1
        while self._run_at < len(read) and read[self._run_at][0] < now:
            _, reader, origin, delay_s = read[self._run_at]
            self._by_run.setdefault(reader, {})[origin] = delay_s
            self._run_at += 1
        own = self._by_run.get(run)
        return max(
            max(self._by_all.values(), default=0.0), max(own.values(), default=0.0) if own else 0.0
        )


def _sorted(numbers: "array[float]") -> list[_Send]:
    rows = zip(*(numbers[field::_WIDTH] for field in range(_WIDTH)), strict=True)
    return sorted(map(_Send._make, rows))


def _ends(held: list[tuple[float, float]]) -> Iterator[float]:
    """The latest end so far; a hold of no length ends all before it."""
    latest = float("-inf")
    for begin, end in held:
        latest = begin if begin == end else max(latest, end)
        yield latest
