"""`skitter why`: why a URL was fetched, skipped, or is waiting."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from msgspec.structs import replace

from skitter.cli.invocation import Invocation
from skitter.cli.options import examples
from skitter.cli.reading import choose_job, data_option, job_option, printable
from skitter.cli.units import size
from skitter.engine.folder import DataFolder
from skitter.engine.logbook import LOG_FOLDER
from skitter.engine.reasons import TRAPS
from skitter.engine.story import Story
from skitter.engine.why import Inquiry, explain
from skitter.frontier.lookup import FrontierLookup
from skitter.models import JobState
from skitter.urls.normalize import operator_url
from skitter.wiring import open_backends

__all__ = ["why"]

#: Pages that led to a URL, shown from either end of the way.
_SHOWN_STEPS = 12


@click.command(
    epilog=examples(
        "skitter why https://example.com/missing.html",
        "skitter why example.com/private/ --data crawls/monday --job news",
        "skitter why example.com/a --json | jq -r .why",
    )
)
@click.argument("url")
@data_option
@job_option
@click.option("--json", "as_json", is_flag=True, help="Print the whole story as JSON.")
@click.pass_obj
@click.pass_context
def why(
    ctx: click.Context,
    invocation: Invocation,
    url: str,
    data: Path,
    job_name: str | None,
    as_json: bool,
) -> None:
    """Say why a URL was fetched, skipped, or is waiting.

    Scope, depth, traps, robots.txt, budgets, tries, its place in the queue, its record, and the
    pages that led to it. Works while the crawl runs. Exit code 1: the job has no request for it;
    then the rules are told as if a page had led to it.
    """
    story = asyncio.run(_explain(invocation, url, data, job_name))
    if as_json:
        click.echo(msgspec.json.encode(story))
    else:
        for label, text in _rows(story):
            click.echo(f"{label:<13}{printable(text)}".rstrip())
    ctx.exit(0 if story.is_known else 1)


async def _explain(invocation: Invocation, url: str, data: Path, job_name: str | None) -> Story:
    normal = operator_url(url)
    settings = invocation.load().settings
    async with open_backends(data, settings) as backends:
        job = await choose_job(backends.frontier, job_name, data)
        folder = DataFolder(data)
        if job.state is JobState.RUNNING and not folder.is_held():
            job = replace(job, state=JobState.PAUSED)
        lookup = FrontierLookup(folder.frontier)
        try:
            inquiry = Inquiry(
                job=job,
                frontier=backends.frontier,
                lookup=lookup,
                catalog=backends.catalog,
                log=data / LOG_FOLDER,
                settings=settings,
                clock=backends.clock,
            )
            return await explain(inquiry, normal, url.strip())
        finally:
            await lookup.aclose()


def _rows(story: Story) -> Iterator[tuple[str, str]]:
    yield "url", story.url
    if story.same_as is not None:
        yield "same as", story.same_as
    yield "job", story.job
    yield story.fate, story.why
    inside = "inside" if story.scope.inside else "outside"
    yield "scope", f"{inside}: {story.scope.rule}"
    if story.depth is not None:
        yield "depth", f"{story.depth} of {story.max_depth}"
    yield "trap", TRAPS[story.trap] if story.trap else "no rule is broken"
    yield "robots.txt", _robots(story)
    yield "budget", _budget(story)
    yield from _tries(story)
    if story.record is not None:
        yield from _record(story)
    yield from _found_on(story)


def _robots(story: Story) -> str:
    robots = story.robots
    if robots is None:
        return "not asked for, or not in the fetch log: nothing is known of it"
    if robots.status is None or robots.status >= 500:
        return f"could not be had ({robots.status or 'no answer'}), at {_when(robots.read)}"
    verdict = "allowed" if robots.allowed else "forbidden"
    line = "no line is about it"
    if robots.line_number is not None:
        line = f"line {robots.line_number}, {robots.line!r}, for {robots.agent}"
    delay = f"; crawl-delay {robots.crawl_delay_s:g} s" if robots.crawl_delay_s else ""
    return f"{verdict}: {line}{delay}; read at {_when(robots.read)}"


def _when(timestamp: str) -> str:
    """A record's timestamp for people: milliseconds, and the zone that scripts know."""
    return f"{timestamp[:23].replace('T', ' ')} UTC"


def _budget(story: Story) -> str:
    budget = story.budget
    spent = f"{budget.pages:,} of {budget.max_pages:,} pages of {budget.domain}"
    if budget.credit is None:
        return f"{spent}; its pattern is {budget.pattern}"
    left = max(0.0, budget.credit)
    return f"{spent}; {left:g} barren pages left for {budget.account}"


def _tries(story: Story) -> Iterator[tuple[str, str]]:
    for number, one in enumerate(story.tries):
        end = "its end was not seen"
        if one.elapsed_ms is not None:
            end = f"{one.error or one.status} after {one.elapsed_ms} ms"
        yield ("" if number else "tries"), f"{_when(one.sent)} {one.worker}: {end}"


def _record(story: Story) -> Iterator[tuple[str, str]]:
    record = story.record
    if record is None:
        return
    yield "record", f"{record.id}, {_when(record.timestamp)}, {size(record.length)}"
    if record.segment is not None:
        yield "stored", f"{record.segment} at {record.offset}"


def _found_on(story: Story) -> Iterator[tuple[str, str]]:
    steps = story.found_on
    left_out = len(steps) - 2 * _SHOWN_STEPS
    for number, step in enumerate(steps):
        if left_out > 0 and _SHOWN_STEPS <= number < len(steps) - _SHOWN_STEPS:
            if number == _SHOWN_STEPS:
                yield "", f"… {left_out} more …"
            continue
        depth = "" if step.depth is None else f", depth {step.depth}"
        yield ("" if number else "found on"), f"{step.url} ({step.by}{depth})"
