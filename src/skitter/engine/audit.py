"""What an audit says, and its checks of requests, counters, records and output files.

Pure: rows and records are handed in one by one, in any number. What is kept of each is a few
bytes in an array, so a million of them fit into a few tens of megabytes. Manners are judged in
`skitter.engine.audit_sends` and `skitter.engine.audit_robots`.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from skitter.frontier.base import JobInfo
from skitter.frontier.inspect import RequestRow
from skitter.models import JobState, Outcome
from skitter.urls.fingerprint import fingerprint, record_id

__all__ = ["MAX_FINDINGS", "Check", "Finding", "Ids", "RecordsAudit", "RequestsAudit", "Tally"]

#: Findings that are spelled out per check; the rest is counted.
MAX_FINDINGS = 20

_OUTCOMES: tuple[Outcome | None, ...] = (None, *Outcome)
_LINED = frozenset({Outcome.DONE, Outcome.FAILED})


class Finding(Struct, frozen=True, kw_only=True):
    """Something that must not be."""

    #: `log/worker-1-0001.jsonl:17`, `frontier request 5`, a record's id …
    where: str
    what: str


class Check(Struct, frozen=True, kw_only=True):
    """One promise and how it fared. `checked` counts what it was held against."""

    name: str
    checked: int
    found: int
    findings: list[Finding]
    #: What else is worth knowing; where nothing was checked, why.
    note: str = ""

    @property
    def holds(self) -> bool:
        """True if nothing was found."""
        return self.found == 0


class Tally:
    """A check while it goes on."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.checked = 0
        self.note = ""
        self._found = 0
        self._findings: list[Finding] = []

    def find(self, where: str, what: str) -> None:
        """Note something that must not be."""
        self._found += 1
        if len(self._findings) < MAX_FINDINGS:
            self._findings.append(Finding(where=where, what=what))

    def result(self) -> Check:
        """What it came to."""
        return Check(
            name=self.name,
            checked=self.checked,
            found=self._found,
            findings=self._findings,
            note=self.note,
        )


class RequestsAudit:
    """A job's requests: one outcome each, and the counters agree. Rows come by fingerprint."""

    def __init__(self, job: JobInfo) -> None:
        self.job = job
        self.outcomes = Tally("every accepted request has one outcome")
        self.counters = Tally("counters agree with the requests")
        self.keys = array("q")
        self.generations = array("I")
        #: Number into `_OUTCOMES`.
        self.ends = bytearray()
        self._counts: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._queued = self._leased = 0

    def add(self, row: RequestRow) -> None:
        """Take the next row."""
        self.outcomes.checked += 1
        problem = self._problem(row)
        if problem:
            self.outcomes.find(f"frontier request {row.number}", f"{row.url}: {problem}")
        self.keys.append(row.fingerprint)
        self.generations.append(row.generation)
        self.ends.append(_OUTCOMES.index(row.outcome))
        if row.outcome is None:
            self._leased += row.leased
            self._queued += not row.leased
        elif row.outcome is Outcome.DROPPED:
            self._dropped[row.reason or "unknown"] += 1
        else:
            self._counts[row.outcome.value] += 1

    def _problem(self, row: RequestRow) -> str:
        if self.keys and self.keys[-1] == row.fingerprint:
            return "accepted twice"
        if not row.is_known_state:
            return f"its state {row.state} means nothing"
        if row.outcome is None:
            finished = self.job.state is JobState.FINISHED and self.job.max_pages is None
            return "still waits, though the job is finished" if finished else ""
        if row.leased:
            return f"{row.outcome}, and still leased"
        if row.outcome is Outcome.DROPPED and not row.reason:
            return "dropped without a reason"
        return ""

    def finish(self) -> None:
        """All rows were there: compare them with the counters."""
        if self._queued or self._leased:
            self.outcomes.note = (
                f"job {self.job.state}: {self._queued} queued, {self._leased} leased"
            )
        counts = self.job.counts
        stated = {"accepted": counts.accepted, "done": counts.done, "failed": counts.failed}
        stated |= {"redirected": counts.redirected}
        actual = dict(self._counts) | {"accepted": len(self.keys)}
        reasons = counts.dropped.keys() | self._dropped.keys()
        stated |= {f"dropped ({why})": counts.dropped.get(why, 0) for why in reasons}
        actual |= {f"dropped ({why})": number for why, number in self._dropped.items()}
        for name, number in stated.items():
            self.counters.checked += 1
            there = actual.get(name, 0)
            if number != there:
                self.counters.find(
                    f"job {self.job.name}", f"{name} is {number}, but there are {there}"
                )


class Ids:
    """Record ids, half of each: two different ones of a million look alike with odds of 3·10⁻⁸."""

    def __init__(self) -> None:
        self._halves = array("Q")

    def __len__(self) -> int:
        return len(self._halves)

    def add(self, record: str) -> None:
        """Take an id of 32 hex digits."""
        self._halves.append(int(record[:16], 16))

    def sorted(self) -> Sequence[int]:
        """In order, those that are there twice as neighbours."""
        return array("Q", sorted(self._halves))


class RecordsAudit:
    """A job's records against its requests, which were all handed in before."""

    def __init__(self, requests: RequestsAudit) -> None:
        self.tally = Tally("every outcome has one record, every record its request")
        self.once = Tally("no record is there twice")
        #: Those that have a line in output files.
        self.lined = Ids()
        #: Fingerprint, id and URL of records whose requests came after the rows were read.
        self.unknown: list[tuple[int, str, str]] = []
        self._requests = requests
        self._seen = bytearray(len(requests.keys))
        self._early = 0

    def add(self, record: str, url: str, outcome: Outcome, *, stored: bool) -> None:
        """Take the next record of the catalog."""
        self.tally.checked += 1
        self.once.checked += 1
        if outcome in _LINED:
            self.lined.add(record)
        if not stored:
            self.tally.find(f"record {record}", f"{url}: has no place in the store")
        key = fingerprint(url)
        keys = self._requests.keys
        at = bisect_left(keys, key)
        if at == len(keys) or keys[at] != key:
            self.unknown.append((key, record, url))
            return
        generation = self._requests.generations[at]
        if record == record_id(self._requests.job.job_id, key, generation):
            self._match(at, record, url, outcome)
        elif not self._is_older(record, key, generation):
            self.tally.find(f"record {record}", f"{url}: its id is not that of its request")

    def _match(self, at: int, record: str, url: str, outcome: Outcome) -> None:
        if self._seen[at]:
            self.once.find(f"record {record}", f"{url}: twice in the catalog")
        self._seen[at] = 1
        ended = _OUTCOMES[self._requests.ends[at]]
        if ended is None:
            self._early += 1
        elif ended is not outcome:
            self.tally.find(f"record {record}", f"{url}: {outcome}, but its request is {ended}")

    def _is_older(self, record: str, key: int, generation: int) -> bool:
        job = self._requests.job.job_id
        return any(record == record_id(job, key, older) for older in range(generation))

    def finish(self, known_now: Iterable[int]) -> None:
        """All records were there. `known_now`: the fingerprints of the frontier, read after."""
        if self.unknown:
            new = {key for key, _, _ in self.unknown}.intersection(known_now)
            for key, record, url in self.unknown:
                if key not in new:
                    self.tally.find(f"record {record}", f"{url}: there is no such request")
        for at, seen in enumerate(self._seen):
            ended = _OUTCOMES[self._requests.ends[at]]
            if ended is not None and not seen:
                self.tally.find(
                    f"frontier fingerprint {self._requests.keys[at]}", f"{ended}, but has no record"
                )
        if self._early:
            self.tally.note = f"{self._early} recorded, their requests not ended yet"
