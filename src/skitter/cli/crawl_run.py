"""A crawl from the command line: begun, watched, ended."""

import asyncio
import contextlib
import gc
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from skitter.cli.crawl_job import reaches_strangers
from skitter.cli.crawl_options import Options
from skitter.cli.crawl_report import say_summary, warn_of_failure
from skitter.cli.errors import EXIT_INTERRUPTED
from skitter.cli.live import View, make_view
from skitter.engine.crawl import Stopwatch, Summary, begin, end, is_finished, open_job, summarise
from skitter.engine.folder import announced
from skitter.engine.process import cause_of
from skitter.engine.run import Run
from skitter.frontier.base import JobInfo
from skitter.models import JobState
from skitter.outputs.set import OutputSet
from skitter.wiring import (
    Assignment,
    Backends,
    hold_folder,
    make_fleet,
    make_solo,
    open_backends,
)

__all__ = ["run"]


def run(options: Options) -> int:
    """The exit code."""
    _calm_collector()
    try:
        with hold_folder(options.data):
            # A loop for each part: none of its threads is left when the next one forks.
            watch = asyncio.run(_begin(options))
            if watch is not None and options.workers > 1:
                asyncio.run(_crawl_together(options))
            summary = asyncio.run(_close(options, watch))
    except ExceptionGroup as group:
        raise cause_of(group) from group
    if options.json:
        sys.stdout.write(msgspec.json.encode(summary).decode() + "\n")
    else:
        say_summary(summary, options.command, finished_before=watch is None)
    warn_of_failure(summary)
    return 0 if summary.state is JobState.FINISHED else EXIT_INTERRUPTED


def _calm_collector() -> None:
    """Pages are freed by their reference counts; looking for cycles among them finds none.

    What is loaded now stays for good, and forked workers share its memory as long as nobody
    writes to it: the collector would.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


async def _begin(options: Options) -> Stopwatch | None:
    """Take up the job, and crawl it if one worker is enough. None: it was finished before."""
    async with open_backends(options.data, options.settings, writing=True) as backends:
        info = await _open(options, backends)
        if info.state is JobState.FINISHED and is_finished(info):
            return None
        _hint_at_contact(options)
        watch = Stopwatch(backends.clock, info)
        await begin(backends.frontier, info)
        if options.workers == 1:
            await _crawl_alone(options, backends)
        return watch


def _hint_at_contact(options: Options) -> None:
    is_named = options.settings.fetch.contact or options.job.spec.user_agent
    if not is_named and reaches_strangers(options.job, options.resolve):
        click.echo(
            "skitter: set fetch.contact or SKITTER_FETCH__CONTACT so that webmasters can reach you",
            err=True,
        )


async def _open(options: Options, backends: Backends) -> JobInfo:
    """The job, with its output files as long as they should be."""
    job = options.job
    info = await open_job(
        backends.frontier,
        job.name,
        job.job_id,
        job.spec,
        max_pages=options.max_pages,
        priority=options.priority,
    )
    with contextlib.closing(_outputs(options, backends)) as outputs:
        await outputs.prepare(backends.catalog, backends.store, job.name)
    return info


async def _close(options: Options, watch: Stopwatch | None) -> Summary:
    """Settle the job's state and write the files that are written whole."""
    name = options.job.name
    async with open_backends(options.data, options.settings, writing=True) as backends:
        info = await end(backends.frontier, name)
        await _outputs(options, backends).finish(backends.catalog, backends.store, name)
    if watch is not None:
        return watch.summary(info, **options.places)
    return summarise(info, seconds=0.0, cpu_seconds=0.0, new_pages=0, **options.places)


def _outputs(options: Options, backends: Backends) -> OutputSet:
    return OutputSet(options.outputs, clock=backends.clock, include_body=options.body)


def _assignment(options: Options) -> Assignment:
    return Assignment(
        data=options.data,
        settings=options.settings,
        job=options.job.name,
        hosts=options.job.hosts,
        resolve={resolve.entry: resolve.addresses for resolve in options.resolve},
        proxies=options.proxies,
        outputs=options.outputs,
        include_body=options.body,
        workers=options.workers,
    )


async def _crawl_alone(options: Options, backends: Backends) -> None:
    with contextlib.closing(_outputs(options, backends)) as outputs:
        await outputs.prepare(backends.catalog, backends.store, options.job.name)
        with (
            tempfile.TemporaryDirectory(prefix="skitter-") as sockets,
            announced(options.data, Path(sockets)),
            make_view(options.job.name) as view,
        ):
            run = make_solo(backends, _assignment(options), outputs, Path(sockets))
            await _watched(run, view)


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
