"""How a report of the bench looks: a table, on a terminal with lines and colours."""

import os
from collections.abc import Iterator

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from skitter.bench.contestants import BASE
from skitter.bench.report import OverheadFigures, Report, Row

__all__ = ["show_report"]

_COLUMNS = ("", "pages", "pages/s", "CPU µs/page", "peak MB", "CPU ratio", "speed ratio")

#: Starting Python and its libraries takes up to a second or two.
_SHORT_S = 5


def show_report(report: Report) -> None:
    """Print it to standard output."""
    console = Console(highlight=False, no_color=bool(os.environ.get("NO_COLOR")) or None)
    cells = [_cells(row) for row in report.contestants]
    if console.is_terminal:
        console.print(_table(report, cells))
    else:
        for line in _aligned([_COLUMNS, *cells]):
            click.echo(line)
        click.echo()
    if report.overhead is not None:
        click.echo(_overhead(report.overhead))
    for note in _notes(report):
        click.echo(note)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.title,
        f"{row.pages:,}{'' if row.same_pages else ' !'}",
        f"{row.pages_per_second:,.0f}",
        f"{row.cpu_us_per_page:,.0f}",
        f"{row.peak_bytes / 1e6:,.0f}",
        _ratio(row.cpu_ratio),
        _ratio(row.speed_ratio),
    )


def _overhead(figures: OverheadFigures) -> str:
    return (
        f"Leases, checkpoints and heartbeats: {figures.workers} workers with items of "
        f"{figures.item_s * 1e3:.0f} ms wait {figures.wait_share:.2%} of that time for them; "
        f"they cost {figures.cpu_share:.2%} of it in CPU."
    )


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _table(report: Report, cells: list[tuple[str, ...]]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for number, column in enumerate(_COLUMNS):
        table.add_column(column, justify="right" if number else "left", no_wrap=number > 0)
    for row, texts in zip(report.contestants, cells, strict=True):
        table.add_row(*texts, style="bold" if row.name == BASE else "")
    return table


def _aligned(lines: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *rest in lines:
        texts = (text.rjust(width) for text, width in zip(rest, widths[1:], strict=True))
        yield "  ".join((first.ljust(widths[0]), *texts)).rstrip()


def _notes(report: Report) -> Iterator[str]:
    rounds = f"medians of {report.rounds} interleaved rounds" if report.rounds > 1 else "one round"
    yield (
        f"{report.site}: {rounds}, {report.concurrency} requests at once, no delay, robots.txt "
        f"ignored, links followed within the host."
    )
    yield (
        f"Time, CPU and memory are those of all processes of a crawler, its start included; "
        f"{report.cores} cores, Python {report.python}, {report.system}."
    )
    if any(row.cpu_ratio is not None for row in report.contestants):
        yield "Ratios are to Skitter with 1 worker: CPU per page, pages per second."
    yield from _same_pages(report)
    if any(run.seconds < _SHORT_S for row in report.contestants for run in row.runs):
        yield f"Runs of less than {_SHORT_S} s are start-up more than crawling: take a larger site."
    for row in report.contestants:
        yield f"  {row.title}: {row.does}{f' ({row.lacks})' if row.lacks else ''}"
    for absence in report.absent:
        yield f"  not measured: {absence.name}: {absence.reason}"


def _same_pages(report: Report) -> Iterator[str]:
    if not report.same_pages:
        yield "! got another number of pages, or not the same in every round: not the same work."
    elif len(report.contestants) > 1:
        yield "All got the same number of pages with status 200."
