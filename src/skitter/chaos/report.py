"""The figures of a run: what was done, how soon the crawl was back, what was broken."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from msgspec import Struct

from skitter.chaos.damage import Done
from skitter.chaos.processes import Sample
from skitter.chaos.schedule import FaultKind, Scenario
from skitter.chaos.verdict import Blame, Finding

__all__ = ["FaultRow", "Report", "Usage", "fault_rows", "late", "percentile", "usages"]

#: Fetching again within this; a restart of everything may take longer.
_BACK_S = 30.0
_RESTARTED_BACK_S = 60.0
_RESTARTS = frozenset({FaultKind.KILL_MAIN, FaultKind.KILL_ALL, FaultKind.TERM, FaultKind.SCALE})
#: SIGTERM to exit.
_MAX_STOP_S = 10.0

#: Growth from the second quarter of a run to the last one that is still flat.
_FLAT_DESCRIPTORS = 8
_FLAT_BYTES = 16_000_000
_FLAT_RATIO = 1.2
#: Memory is judged only where there was time to see it grow.
_FLAT_AFTER_S = 300.0
_LIFE_S = 150.0


class FaultRow(Struct, frozen=True, kw_only=True):
    """All faults of one kind."""

    kind: FaultKind
    times: int
    #: Fault to the next page request; None: the crawl had nothing left to ask for.
    p50_s: float | None
    p95_s: float | None
    max_s: float | None
    #: Leased and not completed by those victims that were asked; None: none was.
    leased: int | None
    #: Fetched again because of these faults; None: the origin's log is not ours to read.
    again: int | None


class Usage(Struct, frozen=True, kw_only=True):
    """What processes of one role had early and late in the run."""

    role: str
    early_bytes: int
    late_bytes: int
    early_descriptors: int
    late_descriptors: int

    @property
    def is_flat(self) -> bool:
        """Whether it would still be so in a week."""
        bytes_ = max(self.early_bytes * _FLAT_RATIO, self.early_bytes + _FLAT_BYTES)
        descriptors = self.early_descriptors + _FLAT_DESCRIPTORS
        return self.late_bytes <= bytes_ and self.late_descriptors <= descriptors


class Report(Struct, frozen=True, kw_only=True):
    """What `skitter chaos` says."""

    scenario: Scenario
    seed: int
    target: str
    seconds: float
    #: Records that there must be.
    expected: int
    records: int
    starts: int
    refused_starts: int
    faults: list[FaultRow]
    usage: list[Usage]
    #: By the origin's log: pairs of requests to one domain, the least gap, the most at once.
    pairs: int | None
    least_gap_s: float | None
    most_at_once: int | None
    findings: list[Finding]
    notes: list[str]

    @property
    def counts(self) -> Counter[Blame]:
        """How often which promise was broken."""
        return Counter(finding.blame for finding in self.findings)

    @property
    def verdict(self) -> str:
        """The last line."""
        found = self.counts
        return (
            f"lost={found[Blame.LOST]} duplicated={found[Blame.DUPLICATED]} "
            f"violations={found[Blame.VIOLATION]}"
        )


def fault_rows(
    faults: Sequence[Done], waits_s: Sequence[float | None], again: Sequence[int] | None
) -> list[FaultRow]:
    """One row for each kind that happened, in the order of the kinds."""
    rows = []
    for kind in FaultKind:
        numbers = [number for number, fault in enumerate(faults) if fault.kind is kind]
        if not numbers:
            continue
        waits = sorted(w for n in numbers if (w := waits_s[n]) is not None)
        weighed = [len(held) for n in numbers if (held := faults[n].held) is not None]
        rows.append(
            FaultRow(
                kind=kind,
                times=len(numbers),
                p50_s=percentile(waits, 0.5),
                p95_s=percentile(waits, 0.95),
                max_s=percentile(waits, 1.0),
                leased=sum(weighed) if weighed else None,
                again=sum(again[n] for n in numbers) if again is not None else None,
            )
        )
    return rows


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The least value that at least this share does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def late(faults: Iterable[Done], waits_s: Iterable[float | None]) -> list[Finding]:
    """Faults after which the crawl was not back, or not out, in time."""
    found = []
    for fault, wait_s in zip(faults, waits_s, strict=True):
        limit_s = _RESTARTED_BACK_S if fault.kind in _RESTARTS else _BACK_S
        if wait_s is not None and wait_s > limit_s:
            found.append(f"{fault.kind} ({fault.what}): fetching again after {wait_s:.1f} s")
        if fault.stop_s is not None and fault.stop_s > _MAX_STOP_S:
            found.append(f"{fault.kind}: out {fault.stop_s:.1f} s after SIGTERM")
        if fault.exit_code is not None and fault.exit_code != 3:
            found.append(f"{fault.kind}: exit code {fault.exit_code} after SIGTERM, not 3")
    return [Finding(blame=Blame.VIOLATION, what=what) for what in found]


def usages(samples: Sequence[Sample], seconds: float) -> list[Usage]:
    """Early and late medians of each role, and of each worker that lived long enough to tell.

    Empty for a run that was too short.
    """
    if seconds < _FLAT_AFTER_S:
        return []
    roles = [
        _usage(role, [s for s in samples if s.role == role], 0.0, seconds)
        for role in ("main", "coordinator", "worker")
    ]
    lives: dict[int, list[Sample]] = {}
    for entry in samples:
        if entry.role == "worker":
            lives.setdefault(entry.pid, []).append(entry)
    workers = [
        _usage(f"worker process {pid}", life, life[0].at_s, life[-1].at_s)
        for pid, life in lives.items()
        if life[-1].at_s - life[0].at_s >= _LIFE_S
    ]
    return [usage for usage in (*roles, *workers) if usage is not None]


def _usage(role: str, samples: Sequence[Sample], begin_s: float, end_s: float) -> Usage | None:
    """The second quarter of a time beside its last; the first is for warming up."""
    quarter_s = (end_s - begin_s) / 4
    early = [s for s in samples if begin_s + quarter_s <= s.at_s < begin_s + 2 * quarter_s]
    last = [s for s in samples if s.at_s >= end_s - quarter_s]
    if not early or not last:
        return None
    return Usage(
        role=role,
        early_bytes=int(median(s.memory_bytes for s in early)),
        late_bytes=int(median(s.memory_bytes for s in last)),
        early_descriptors=int(median(s.descriptors for s in early)),
        late_descriptors=int(median(s.descriptors for s in last)),
    )
