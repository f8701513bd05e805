"""Medians and ratios of a race. Nothing in it but what this race measured."""

import os
import platform
from collections.abc import Sequence
from statistics import median

from msgspec import Struct

from skitter.bench.contestants import BASE
from skitter.bench.race import Absence, Entrant, Run
from skitter.bench.sites import Site

__all__ = ["OverheadFigures", "Report", "Row", "make_report"]


class Row(Struct, frozen=True, kw_only=True):
    """A contestant; figures are medians over its runs, ratios are to Skitter with 1 worker."""

    name: str
    title: str
    does: str
    lacks: str
    pages: int
    #: Each of its runs got as many pages as Skitter's, or as the most that anybody got.
    same_pages: bool
    pages_per_second: float
    cpu_us_per_page: float
    #: Resident memory, all its processes together.
    peak_bytes: int
    #: Its CPU per page over ours; None: there is nobody to compare with.
    cpu_ratio: float | None
    #: Its pages per second over ours.
    speed_ratio: float | None
    runs: list[Run]


class OverheadFigures(Struct, frozen=True, kw_only=True):
    """Leases, checkpoints and heartbeats, per item and as a share of the item's own time."""

    workers: int
    item_s: float
    items: int
    cpu_s_per_item: float
    #: What a worker waits for the frontier between two items.
    wait_s_per_item: float
    cpu_share: float
    wait_share: float


class Report(Struct, frozen=True, kw_only=True):
    """One run of the bench."""

    site: str
    url: str
    rounds: int
    concurrency: int
    cores: int
    python: str
    system: str
    #: All contestants did the same work.
    same_pages: bool
    contestants: list[Row]
    absent: list[Absence]
    #: None: it was not measured.
    overhead: OverheadFigures | None = None


def make_report(
    site: Site,
    entrants: Sequence[Entrant],
    absences: Sequence[Absence],
    *,
    rounds: int,
    concurrency: int,
    overhead: OverheadFigures | None = None,
) -> Report:
    """What the race showed."""
    base = next((entrant for entrant in entrants if entrant.contestant.name == BASE), None)
    pages = max((run.pages for entrant in entrants for run in entrant.runs), default=0)
    expected = base.runs[0].pages if base else pages
    rows = [_row(entrant, base, expected) for entrant in entrants]
    return Report(
        site=site.title,
        url=site.url,
        rounds=rounds,
        concurrency=concurrency,
        cores=os.cpu_count() or 1,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        same_pages=all(row.same_pages for row in rows),
        contestants=rows,
        absent=list(absences),
        overhead=overhead,
    )


def _row(entrant: Entrant, base: Entrant | None, expected: int) -> Row:
    contestant, runs = entrant.contestant, entrant.runs
    return Row(
        name=contestant.name,
        title=contestant.title,
        does=contestant.does,
        lacks=contestant.lacks,
        pages=round(median(run.pages for run in runs)),
        same_pages=all(run.pages == expected for run in runs),
        pages_per_second=_speed(runs),
        cpu_us_per_page=_cpu_us(runs),
        peak_bytes=round(median(run.peak_bytes for run in runs)),
        cpu_ratio=_cpu_us(runs) / _cpu_us(base.runs) if base else None,
        speed_ratio=_speed(runs) / _speed(base.runs) if base else None,
        runs=runs,
    )


def _speed(runs: Sequence[Run]) -> float:
    return median(run.pages / run.seconds for run in runs)


def _cpu_us(runs: Sequence[Run]) -> float:
    return median(run.cpu_seconds / run.pages * 1e6 for run in runs)
