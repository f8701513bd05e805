"""`skitter chaos`: a crawl whose processes are killed and frozen, compared with the truth."""

import contextlib
import math
import sys
import tempfile
from pathlib import Path
from random import SystemRandom

import click
import msgspec
from msgspec import Struct

from skitter.chaos.crawl import CrawlOptions
from skitter.chaos.report import Report
from skitter.chaos.schedule import Plan, Scenario
from skitter.chaos.target import Target, simulated, url_target
from skitter.chaos.trial import Trial, TrialOptions
from skitter.chaos.wallclock import INSTALL, has_faketime
from skitter.cli.chaos_table import show_report
from skitter.cli.options import examples
from skitter.clock import SystemClock
from skitter.errors import UsageError
from skitter.urls.normalize import operator_url

__all__ = ["chaos"]

_HOSTS = 50
_EVERY_S = (2.0, 5.0)
_SOAK_EVERY_S = (60.0, 60.0)
_MAX_SEED = 10**6

_seconds = click.FloatRange(min=0, min_open=True)


class _Flags(Struct, frozen=True, kw_only=True):
    """The command line."""

    urls: tuple[str, ...]
    scenario: Scenario
    seed: int | None
    workers: int
    hosts: int | None
    pages: int | None
    duration: float
    every: tuple[float, float] | None
    delay: float
    lease: float
    tolerance_ms: float
    keep: Path | None
    as_json: bool


@click.command(
    epilog=examples(
        "skitter chaos",
        "skitter chaos --scenario freeze --seed 7 --duration 30",
        "skitter chaos --scenario kill-all --keep evidence",
        "skitter chaos --scenario kill-workers http://127.0.0.1:8000/ --delay 0.1",
    )
)
@click.argument("urls", nargs=-1, metavar="[URL]...")
@click.option(
    "--scenario",
    type=click.Choice([scenario.value for scenario in Scenario]),
    default=Scenario.EVERYTHING.value,
    show_default=True,
    help="What is done to the crawl.",
)
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Repeat the run of this number.")
@click.option(
    "--workers",
    type=click.IntRange(min=2, max=64),
    default=4,
    show_default=True,
    metavar="N",
    help="Worker processes of the crawl.",
)
@click.option(
    "--hosts", type=click.IntRange(1), metavar="N", help="Simulated hosts.  [default: 50]"
)
@click.option(
    "--pages",
    type=click.IntRange(1),
    metavar="N",
    help="Pages of each.  [default: as many as the duration needs]",
)
@click.option(
    "--duration",
    type=_seconds,
    default=60.0,
    show_default=True,
    metavar="S",
    help="How long faults go on; then the crawl is left to finish.",
)
@click.option(
    "--every",
    type=_seconds,
    nargs=2,
    metavar="S S",
    help="Least and most time between two faults.  [default: 2 5; soak: 60 60]",
)
@click.option(
    "--delay",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    metavar="S",
    help="Seconds between two requests to a domain.",
)
@click.option(
    "--lease", type=_seconds, default=3.0, show_default=True, metavar="S", help="Lease of a worker."
)
@click.option(
    "--tolerance-ms",
    type=click.FloatRange(min=0),
    default=20.0,
    show_default=True,
    metavar="MS",
    help="What a gap may be short of.",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Leave data, logs and manifest there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def chaos(**flags: object) -> int:
    """Kill and freeze a crawl's processes and compare its result with the truth.

    Crawls a simulated web, or the URLs given, which are crawled once undisturbed before. Whenever
    the whole crawl was killed, it is run again. Exit code 1: something was lost, doubled or
    impolite; the same --seed does the same again.
    """
    run = msgspec.convert(flags, _Flags)
    _check(run)
    seed = SystemRandom().randrange(_MAX_SEED) if run.seed is None else run.seed
    _say(f"seed {seed}")
    with contextlib.ExitStack() as stack:
        folder = _folder(stack, run.keep)
        target = _target(stack, run, folder, seed)
        trial = Trial(target, _options(run, seed), folder=folder, clock=SystemClock(), say=_say)
        report = trial.run()
    _show(report, as_json=run.as_json)
    return 1 if report.findings else 0


def _check(run: _Flags) -> None:
    if sys.platform != "linux":
        raise UsageError("skitter chaos needs Linux: it finds the processes of a crawl in /proc")
    if run.scenario is Scenario.CLOCK and not has_faketime():
        raise UsageError(f"--scenario clock needs faketime: {INSTALL}")
    if run.every and run.every[0] > run.every[1]:
        raise UsageError("--every: the least time is greater than the most")
    if run.urls and (run.hosts or run.pages):
        raise UsageError("--hosts and --pages are for the simulated web; leave out them or the URL")


def _options(run: _Flags, seed: int) -> TrialOptions:
    default_s = _SOAK_EVERY_S if run.scenario is Scenario.SOAK else _EVERY_S
    plan = Plan(
        scenario=run.scenario,
        seed=seed,
        duration_s=run.duration,
        every_s=run.every or default_s,
    )
    crawl = CrawlOptions(workers=run.workers, delay_s=run.delay, lease_s=run.lease)
    return TrialOptions(plan=plan, crawl=crawl, tolerance_s=run.tolerance_ms / 1000)


def _folder(stack: contextlib.ExitStack, keep: Path | None) -> Path:
    if keep is None:
        name = tempfile.TemporaryDirectory(prefix="skitter-chaos-", ignore_cleanup_errors=True)
        return Path(stack.enter_context(name))
    try:
        keep.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(f"--keep {keep} is there already: name a new folder") from None
    return keep.resolve()


def _target(stack: contextlib.ExitStack, run: _Flags, folder: Path, seed: int) -> Target:
    if run.urls:
        return url_target(tuple(operator_url(url) for url in run.urls))
    # Politeness makes a crawl of so many pages last that long.
    pages = run.pages or math.ceil(run.duration / max(run.delay, 0.05))
    hosts = run.hosts or _HOSTS
    return stack.enter_context(
        simulated(folder, seed=seed, hosts=hosts, pages=pages, delay_s=run.delay)
    )


def _say(line: str) -> None:
    click.echo(f"chaos: {line}", err=True)


def _show(report: Report, *, as_json: bool) -> None:
    if as_json:
        counts = {blame.value: number for blame, number in report.counts.items()}
        click.echo(msgspec.json.encode(msgspec.structs.asdict(report) | {"counts": counts}))
    else:
        show_report(report)
