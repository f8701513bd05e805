"""`skitter crawl`: the main command."""

import asyncio
import contextlib
import gc
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct

from skitter.cli.crawl_job import (
    CrawlJob,
    Resolve,
    check_header_value,
    make_job,
    parse_header,
    parse_resolve,
    read_seeds,
)
from skitter.cli.crawl_report import describe, say_summary, warn_of_failure
from skitter.cli.invocation import Invocation
from skitter.cli.live import View, make_view
from skitter.cli.options import examples
from skitter.config.settings import Settings
from skitter.engine.crawl import Stopwatch, Summary, begin, end, is_finished, open_job, summarise
from skitter.engine.folder import announced
from skitter.engine.process import cause_of
from skitter.engine.run import Run
from skitter.errors import UsageError
from skitter.frontier.base import JobInfo
from skitter.models import JobSpec, JobState, Scope
from skitter.outputs.base import OutputFile, parse_outputs
from skitter.outputs.set import OutputSet
from skitter.wiring import (
    Assignment,
    Backends,
    hold_folder,
    make_fleet,
    make_solo,
    open_backends,
)

__all__ = ["crawl"]

EXIT_INTERRUPTED = 3


class Options(Struct, frozen=True, kw_only=True):
    """Everything a run needs, checked."""

    job: CrawlJob
    settings: Settings
    resolve: tuple[Resolve, ...]
    max_pages: int | None
    workers: int
    data: Path
    outputs: tuple[OutputFile, ...]
    body: bool
    json: bool
    command: str


@click.command(
    epilog=examples(
        "skitter crawl https://example.com",
        "skitter crawl https://example.com/docs/ --scope prefix --depth 3 -o docs.jsonl",
        "skitter crawl @seeds.txt --delay 0.5 --max-pages 1000 -o pages.parquet -o pages.warc.gz",
        "skitter crawl https://example.com --deny '\\.pdf$' --json | jq .pages",
    )
)
@click.argument("urls", nargs=-1, required=True, metavar="URL...|@FILE|-")
@click.option(
    "--depth", type=click.IntRange(min=0), help="Links to follow from a seed.  [default: 10]"
)
@click.option(
    "--scope",
    type=click.Choice([scope.value for scope in Scope]),
    default="host",
    show_default=True,
    help="Which links belong to the crawl, seen from any seed.",
)
@click.option(
    "--max-pages",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop after N pages; raise it to go on.",
)
@click.option(
    "--allow", multiple=True, metavar="RE", help="Follow only links that match (RE2); repeatable."
)
@click.option(
    "--deny",
    multiple=True,
    metavar="RE",
    help="Never follow links that match; wins over --allow; repeatable.",
)
@click.option(
    "--delay",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Seconds between two requests to a domain.  [default: 1]",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1, max=10_000),
    metavar="N",
    help="Requests at once, per domain and in all.  [default: 1 and 256]",
)
@click.option(
    "--robots", type=click.Choice(["obey", "ignore"]), help="What robots.txt says.  [default: obey]"
)
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=256),
    metavar="N",
    help="Worker processes; 1 works inside the command itself.  [default: one per core]",
)
@click.option("--sitemaps", is_flag=True, help="Read the seeds' sitemaps too.")
@click.option(
    "--header",
    multiple=True,
    metavar="H",
    help="'Name: value' to send; repeatable. Authorization goes to the seeds' origins only.",
)
@click.option("--cookie", metavar="C", help="'name=value; …' to send to the seeds' origins.")
@click.option("--user-agent", metavar="UA", help="Send this User-Agent.")
@click.option(
    "-o",
    "--output",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write records to FILE: .jsonl .csv .parquet .warc.gz; repeatable.",
)
@click.option("--body", is_flag=True, help="Put bodies into the output files too.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=Path("skitter-data"),
    show_default=True,
    metavar="DIR",
    help="Where the crawl is kept.",
)
@click.option(
    "--job", metavar="NAME", help="Name of the job.  [default: host and a hash of the settings]"
)
@click.option(
    "--resolve",
    multiple=True,
    metavar="HOST:PORT:ADDR",
    help="Use this address for a host, * for any; repeatable.",
)
@click.option(
    "--dry-run", is_flag=True, help="Check everything, print the job, fetch and write nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON summary and nothing else.")
@click.pass_obj
def crawl(invocation: Invocation, /, **flags: Any) -> int:  # noqa: ANN401 - as click gives them
    """Crawl web sites from their seed URLs and record every page.

    The same command on the same --data resumes where it was interrupted, whatever interrupted it.
    """
    invocation.start_logs()
    options = _options(invocation, flags)
    if flags["dry_run"]:
        describe(options.job, options.settings, as_json=options.json, **_places(options))
        return 0
    if options.settings.fetch.contact is None and options.job.spec.user_agent is None:
        click.echo(
            "skitter: set fetch.contact or SKITTER_FETCH__CONTACT so that webmasters can reach you",
            err=True,
        )
    _calm_collector()
    # Before and after the crawl itself both signals just end the run, cleaning up on the way.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return asyncio.run(_run(options))
    except ExceptionGroup as group:
        raise cause_of(group) from group


def _calm_collector() -> None:
    """Pages are freed by their reference counts; looking for cycles among them finds none.

    What is loaded now stays for good, and forked workers share its memory as long as nobody
    writes to it: the collector would.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def _options(invocation: Invocation, flags: dict[str, Any]) -> Options:
    settings = invocation.load(
        {
            "politeness.delay_s": flags["delay"],
            "politeness.concurrency": flags["concurrency"],
            "fetch.concurrency": flags["concurrency"],
            "politeness.robots": flags["robots"],
            "limits.max_depth": flags["depth"],
        }
    ).settings
    spec = JobSpec(
        seeds=read_seeds(flags["urls"]),
        scope=Scope(flags["scope"]),
        depth=settings.limits.max_depth,
        allow=flags["allow"],
        deny=flags["deny"],
        robots=settings.politeness.robots,
        sitemaps=flags["sitemaps"],
        headers=tuple(parse_header(text) for text in flags["header"]),
        cookie=_checked(flags["cookie"], "--cookie"),
        user_agent=_checked(flags["user_agent"], "--user-agent"),
    )
    for seed in spec.seeds:
        if len(seed) > settings.limits.max_url_length:
            raise UsageError(
                f"{seed[:80]}… has {len(seed)} characters, more than limits.max_url_length"
                f" ({settings.limits.max_url_length})"
            )
    return Options(
        job=make_job(spec, flags["job"]),
        settings=settings,
        resolve=tuple(parse_resolve(text) for text in flags["resolve"]),
        max_pages=flags["max_pages"],
        workers=flags["workers"] or os.cpu_count() or 1,
        data=flags["data"],
        outputs=parse_outputs(flags["output"]),
        body=flags["body"],
        json=flags["as_json"],
        command=shlex.join(["skitter", *sys.argv[1:]]),
    )


def _checked(value: str | None, flag: str) -> str | None:
    return None if value is None else check_header_value(value, flag)


async def _run(options: Options) -> int:
    with hold_folder(options.data):
        async with open_backends(options.data, options.settings, writing=True) as backends:
            info = await _open(options, backends)
            watch = Stopwatch(backends.clock, info)
            fresh = info.state is not JobState.FINISHED or not is_finished(info)
            if fresh:
                await begin(backends.frontier, info)
                if options.workers == 1:
                    await _crawl_alone(options, backends)
        if fresh and options.workers > 1:
            await _crawl_together(options)
        async with open_backends(options.data, options.settings, writing=True) as backends:
            summary = await _close(options, backends, watch, fresh=fresh)
    if options.json:
        sys.stdout.write(msgspec.json.encode(summary).decode() + "\n")
    else:
        say_summary(summary, options.command, finished_before=not fresh)
    warn_of_failure(summary)
    return 0 if summary.state is JobState.FINISHED else EXIT_INTERRUPTED


async def _open(options: Options, backends: Backends) -> JobInfo:
    """The job, with its output files as long as they should be."""
    job = options.job
    info = await open_job(backends.frontier, job.name, job.job_id, job.spec, options.max_pages)
    with contextlib.closing(_outputs(options, backends)) as outputs:
        await outputs.prepare(backends.catalog, backends.store, job.name)
    return info


async def _close(options: Options, backends: Backends, watch: Stopwatch, *, fresh: bool) -> Summary:
    """Settle the job's state and write the files that are written whole."""
    name = options.job.name
    info = await end(backends.frontier, name)
    await _outputs(options, backends).finish(backends.catalog, backends.store, name)
    if fresh:
        return watch.summary(info, **_places(options))
    return summarise(info, seconds=0.0, cpu_seconds=0.0, new_pages=0, **_places(options))


def _places(options: Options) -> dict[str, Any]:
    return {"data": str(options.data), "outputs": [str(output.path) for output in options.outputs]}


def _outputs(options: Options, backends: Backends) -> OutputSet:
    return OutputSet(options.outputs, clock=backends.clock, include_body=options.body)


def _assignment(options: Options) -> Assignment:
    return Assignment(
        data=options.data,
        settings=options.settings,
        job=options.job.name,
        hosts=options.job.hosts,
        resolve={resolve.entry: resolve.addresses for resolve in options.resolve},
        outputs=options.outputs,
        include_body=options.body,
        workers=options.workers,
    )


async def _crawl_alone(options: Options, backends: Backends) -> None:
    with contextlib.closing(_outputs(options, backends)) as outputs:
        await outputs.prepare(backends.catalog, backends.store, options.job.name)
        with make_view(options.job.name) as view:
            await _watched(make_solo(backends, _assignment(options), outputs), view)


async def _crawl_together(options: Options) -> None:
    # Not in the data folder: the path of a socket may have 107 bytes.
    with (
        tempfile.TemporaryDirectory(prefix="skitter-") as sockets,
        announced(options.data, Path(sockets)),
        make_view(options.job.name) as view,
    ):
        await _watched(make_fleet(_assignment(options), Path(sockets), view.say), view)


async def _watched(run: Run, view: View) -> None:
    """Run under a live view until finished or interrupted."""
    with _interruptible(run, view):
        async with asyncio.TaskGroup() as group:
            showing = group.create_task(_show(view, run))
            await run.run()
            showing.cancel()


async def _show(view: View, run: Run) -> None:
    while True:
        await asyncio.sleep(view.interval_s)
        snapshot = await run.snapshot()
        if snapshot is not None:
            view.update(snapshot)


@contextlib.contextmanager
def _interruptible(run: Run, view: View) -> Iterator[None]:
    """Ctrl+C once: finish what is in flight. Twice: stop at once. SIGTERM likewise."""
    loop = asyncio.get_running_loop()
    pressed = 0

    def interrupt() -> None:
        nonlocal pressed
        pressed += 1
        if pressed == 1:
            view.say("Finishing what is in flight; once more to stop at once.")
        run.interrupt()

    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, interrupt)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.default_int_handler)
