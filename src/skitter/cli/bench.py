"""`skitter bench`: Skitter beside other crawlers, on one machine, in one run."""

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from skitter.bench.contestants import Contestant, contestants
from skitter.bench.plot import check_plot, write_plot
from skitter.bench.race import Race
from skitter.bench.report import OverheadFigures, Report, make_report
from skitter.bench.sites import QUICK_PAGES, SIM_PAGES, Site, jdk_site, sim_site
from skitter.cli.options import examples
from skitter.clock import SystemClock
from skitter.errors import UsageError
from skitter.urls.normalize import operator_url

__all__ = ["bench"]

#: Some four seconds of 25 workers.
_OVERHEAD_ITEMS = 500


@click.command(
    epilog=examples(
        "skitter bench --quick",
        "skitter bench --site jdk --rounds 5 --plot bench.png",
        "skitter bench --url http://127.0.0.1:8000/ --only skitter-1 --only scrapy --json",
    )
)
@click.option(
    "--site",
    type=click.Choice(["sim", "jdk"]),
    help="Start a site: a simulated one, or openjdk-17-doc behind nginx.  [default: sim]",
)
@click.option(
    "--url", metavar="URL", help="Crawl this site of yours instead: at full speed, every round."
)
@click.option("--quick", is_flag=True, help="A small simulated site, to see that all works.")
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Crawls of each, in turn.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1, max=1000),
    default=16,
    show_default=True,
    metavar="N",
    help="Requests at once, for every crawler.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Worker processes of Skitter's second run.  [default: cores]",
)
@click.option("--only", multiple=True, metavar="NAME", help="Measure this one; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.png",
    help="Draw the figures, too.",
)
def bench(
    site: str | None,
    url: str | None,
    quick: bool,
    rounds: int,
    concurrency: int,
    workers: int | None,
    only: tuple[str, ...],
    as_json: bool,
    plot: Path | None,
) -> int:
    """Measure Skitter beside other crawlers on the same site.

    Skitter with 1 and with N workers, Scrapy, Scrapy with JOBDIR, Crawlee, and a floor that only
    fetches and finds links, each as its documentation advises for speed. They take turns; medians
    count. Below the table: what leases, checkpoints and heartbeats cost beside the work itself.
    Exit code 1: one of them failed.
    """
    if bool(site) + bool(url) + quick > 1:
        message = "--site, --url and --quick name different sites; give one of them"
        raise UsageError(message)
    if plot:
        check_plot(plot)
    everybody = contestants(workers or os.cpu_count() or 1)
    chosen = _choose(everybody, only)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="skitter-bench-")))
        place = _open_site(stack, site, url, quick=quick, folder=folder)
        race = Race(place, concurrency=concurrency, folder=folder, clock=SystemClock(), say=_say)
        if place.warm_up:
            race.warm_up(everybody[-1])
        entrants = race.run(chosen, rounds)
        overhead = _measure_overhead(folder)
    report = make_report(
        place,
        entrants,
        race.absences,
        rounds=rounds,
        concurrency=concurrency,
        overhead=overhead,
    )
    _show(report, as_json=as_json)
    if plot:
        write_plot(report, plot)
    return 1 if any(absence.failed for absence in report.absent) else 0


def _choose(everybody: Sequence[Contestant], only: Sequence[str]) -> list[Contestant]:
    names = [contestant.name for contestant in everybody]
    unknown = [name for name in only if name not in names]
    if unknown:
        raise UsageError(f"--only {unknown[0]}: choose from {', '.join(names)}")
    return [contestant for contestant in everybody if not only or contestant.name in only]


def _open_site(
    stack: contextlib.ExitStack, site: str | None, url: str | None, *, quick: bool, folder: Path
) -> Site:
    if url:
        return Site(url=operator_url(url), title=operator_url(url), warm_up=False)
    if site == "jdk":
        return stack.enter_context(jdk_site(folder))
    return stack.enter_context(sim_site(QUICK_PAGES if quick else SIM_PAGES))


def _measure_overhead(folder: Path) -> OverheadFigures:
    # Only now, as with the table.
    from skitter.bench.overhead import measure_overhead  # noqa: PLC0415

    _say("leases, checkpoints and heartbeats beside items of 100 ms")
    return measure_overhead(items=_OVERHEAD_ITEMS, folder=folder)


def _say(line: str) -> None:
    click.echo(f"bench: {line}", err=True)


def _show(report: Report, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(report))
        return
    # Only now: what the bench itself has in memory counts for each process it starts.
    from skitter.cli.bench_table import show_report  # noqa: PLC0415

    show_report(report)
