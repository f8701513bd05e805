"""How a report of `skitter chaos` looks."""

from collections.abc import Iterator, Sequence

import click

from skitter.chaos.report import FaultRow, Report
from skitter.cli.reading import printable

__all__ = ["show_report"]

#: Findings that are spelled out; all are counted.
_SHOWN = 20

_COLUMNS = ("fault", "times", "back p50", "p95", "max", "leased", "fetched again")


def show_report(report: Report) -> None:
    """Print it to standard output; the last line is the verdict."""
    for line in _aligned([_COLUMNS, *(_cells(row) for row in report.faults)]):
        click.echo(line)
    click.echo()
    for line in (*_notes(report), *_findings(report)):
        click.echo(line)
    click.echo(report.verdict)


def _cells(row: FaultRow) -> tuple[str, ...]:
    times = (_seconds(value) for value in (row.p50_s, row.p95_s, row.max_s))
    return (row.kind.value, str(row.times), *times, _number(row.leased), _number(row.again))


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _aligned(lines: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *rest in lines:
        texts = (text.rjust(width) for text, width in zip(rest, widths[1:], strict=True))
        yield "  ".join((first.ljust(widths[0]), *texts))


def _notes(report: Report) -> Iterator[str]:
    yield f"{report.target}, scenario {report.scenario}, seed {report.seed}."
    refused = f", {report.refused_starts} of them refused" if report.refused_starts else ""
    yield (
        f"{report.records:,} of {report.expected:,} records after {report.seconds:.0f} s; "
        f"the crawl was started {_times(report.starts)}{refused}."
    )
    if report.least_gap_s is not None:
        yield (
            f"By the origin's log: {report.pairs:,} pairs of requests to a domain, the nearest "
            f"{report.least_gap_s:.3f} s apart; at most {report.most_at_once} at once."
        )
    for usage in report.usage:
        yield (
            f"{usage.role}: {usage.early_bytes / 1e6:.0f} to {usage.late_bytes / 1e6:.0f} MB, "
            f"{usage.early_descriptors} to {usage.late_descriptors} descriptors."
        )
    yield from report.notes


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _findings(report: Report) -> Iterator[str]:
    for finding in report.findings[:_SHOWN]:
        yield f"{finding.blame}: {printable(finding.what)}"
    if len(report.findings) > _SHOWN:
        yield f"… {len(report.findings):,} in all"
