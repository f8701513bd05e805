"""Was every URL allowed by the robots.txt that was in force? Read again, from the fetch log."""

import zlib
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from skitter.engine.audit import Tally
from skitter.engine.audit_sends import SendsAudit
from skitter.engine.logbook import Fetched, LogReader, Place, RobotsRead
from skitter.politeness.robots import RobotsRules, read_robots
from skitter.urls.normalize import origin_of

__all__ = ["JobRobots", "RobotsAudit"]

#: Parsed files that are kept at hand; the others are kept packed.
_MAX_PARSED = 8_192


class JobRobots(Struct, frozen=True, kw_only=True):
    """What the audit must know of a job. Older lines are of a deleted job of the same name."""

    obeys: bool
    created_s: float


class _Answer(Struct, frozen=True, gc=False):
    at: float
    status: int
    packed: bytes


class RobotsAudit:
    """Takes the lines of a log in the order of the reader.

    A run keeps its own copies, so only what it has read itself counts for it.
    """

    def __init__(self, log: LogReader, jobs: Mapping[str, JobRobots], sends: SendsAudit) -> None:
        self.tally = Tally("robots.txt allowed every URL that was sent")
        self._log = log
        self._jobs = jobs
        self._sends = sends
        #: By run and origin the last two; the older is for what was sent before the newer.
        self._answers: dict[tuple[int, str], list[_Answer]] = {}
        #: Most hosts of a site say the same.
        self._bodies: dict[bytes, bytes] = {}
        self._skipped = 0

    def read(self, place: Place, line: RobotsRead) -> None:
        """An answer came. An unreachable robots.txt leaves the copy before in force."""
        if line.status is None or line.status >= 500:
            return
        packed = zlib.compress(line.body.encode(), 1)
        packed = self._bodies.setdefault(packed, packed)
        answers = self._answers.setdefault((place.run, line.origin), [])
        answers.append(_Answer(line.at, line.status, packed))
        del answers[:-2]
        delay_s = self._rules(place, answers[-1]).crawl_delay_s or 0.0
        if self._is_refused(place, delay_s):
            delay_s = 0.0  # nothing is sent there, and its neighbours need not wait for it
        self._sends.add_crawl_delay(place, line.domain, line.origin, line.at, delay_s)

    def judge(self, place: Place, line: Fetched) -> None:
        """A request was sent."""
        if line.kind == "robots":
            return
        job = self._jobs.get(line.job)
        run = self._log.runs[place.run]
        if job is None or line.sent - run.at + run.wall_s < job.created_s:
            self._skipped += 1
            return
        if not job.obeys:
            return
        self.tally.checked += 1
        problem = self._problem(place, line)
        if problem:
            where = self._log.where(place.file, place.line)
            self.tally.find(where, f"{line.url}: {problem}")

    def finish(self) -> None:
        """All lines were there."""
        if self._skipped:
            self.tally.note = f"{self._skipped} lines of deleted or other jobs left out"

    def _problem(self, place: Place, line: Fetched) -> str:
        answers = self._answers.get((place.run, origin_of(line.url)), [])
        in_force = next((answer for answer in reversed(answers) if answer.at <= line.sent), None)
        if in_force is None:
            return "sent before any robots.txt was read"
        rules = self._rules(place, in_force)
        if not rules.allows(line.url):
            return "robots.txt forbids it"
        too_slow = self._is_refused(place, rules.crawl_delay_s or 0.0)
        return "its crawl-delay is longer than was accepted" if too_slow else ""

    def _is_refused(self, place: Place, delay_s: float) -> bool:
        limit_s = self._log.runs[place.run].max_crawl_delay_s
        return limit_s is not None and delay_s > limit_s

    def _rules(self, place: Place, answer: _Answer) -> RobotsRules:
        return _parsed(answer.status, answer.packed, self._log.runs[place.run].agent)


@lru_cache(maxsize=_MAX_PARSED)
def _parsed(status: int, packed: bytes, agent: str) -> RobotsRules:
    rules = read_robots(status, zlib.decompress(packed), agent)
    if rules is None:
        message = f"a robots.txt of status {status} has no rules"
        raise ValueError(message)
    return rules
