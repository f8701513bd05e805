"""`skitter jobs`: the jobs of a data folder."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from skitter.catalog.base import SavedOutput
from skitter.cli.columns import print_columns
from skitter.cli.invocation import Invocation
from skitter.cli.options import examples
from skitter.cli.reading import choose_job, data_option, job_option, printable
from skitter.cli.units import size
from skitter.clock import timestamp
from skitter.config.settings import Settings
from skitter.engine.folder import DataFolder
from skitter.errors import UsageError
from skitter.frontier.base import JobInfo
from skitter.models import JobSpec, JobState
from skitter.wiring import hold_folder, open_backends

__all__ = ["jobs"]

#: Header fields whose values nobody should read over a shoulder.
_SECRET_FIELDS = frozenset({"authorization", "cookie", "proxy-authorization"})
_HIDDEN = "***"


class _Job(Struct, frozen=True, kw_only=True):
    """A job as people and scripts see it; the counts are those of a crawl's summary."""

    job: str
    id: str
    #: A run that was killed leaves what one that was interrupted by hand does: a paused job.
    state: JobState
    interrupted: bool
    pages: int
    failed: int
    redirected: int
    dropped: dict[str, int]
    queued: int
    accepted: int
    bytes: int
    max_pages: int | None
    created: str

    @property
    def shown_state(self) -> str:
        return "interrupted" if self.interrupted else self.state.value


class _JobDetails(Struct, frozen=True, kw_only=True):
    """The same with what defines the job and the files it writes."""

    summary: _Job
    spec: JobSpec
    outputs: list[SavedOutput]


@click.group()
def jobs() -> None:
    """Look at the jobs of a data folder, or delete one."""


@jobs.command(
    name="list", epilog=examples("skitter jobs list", "skitter jobs list --data crawls --json")
)
@data_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
@click.pass_obj
def list_jobs(invocation: Invocation, data: Path, as_json: bool) -> None:
    """List the jobs, oldest first."""
    found = asyncio.run(_all_jobs(invocation, data))
    held = DataFolder(data).is_held()
    rows = [_summary(info, held=held) for info in found]
    if as_json:
        click.echo(msgspec.json.encode(rows))
    else:
        _print_rows(rows)


@jobs.command(epilog=examples("skitter jobs show", "skitter jobs show news --json"))
@click.argument("name", required=False)
@data_option
@job_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def show(
    invocation: Invocation, name: str | None, data: Path, job_name: str | None, as_json: bool
) -> None:
    """Show one job: its counts, its settings and its output files."""
    details = asyncio.run(_details(invocation, data, _one_name(name, job_name)))
    fields = msgspec.to_builtins(details.summary)
    fields["spec"] = msgspec.to_builtins(details.spec)
    fields["outputs"] = msgspec.to_builtins(details.outputs)
    if as_json:
        click.echo(msgspec.json.encode(fields))
        return
    spec = fields.pop("spec")
    del fields["interrupted"]
    fields["state"] = details.summary.shown_state
    fields["bytes"] = size(details.summary.bytes)
    fields["outputs"] = [output.path for output in details.outputs]
    for label, value in (fields | spec).items():
        click.echo(f"{label:<12}{printable(_text(value))}")


@jobs.command(epilog=examples("skitter jobs delete news", "skitter jobs delete news --data crawls"))
@click.argument("name", required=False)
@data_option
@job_option
@click.option("--json", "as_json", is_flag=True, help="Print what was deleted as JSON.")
@click.pass_obj
def delete(
    invocation: Invocation, name: str | None, data: Path, job_name: str | None, as_json: bool
) -> None:
    """Delete a job: its queue, its records and its stored pages.

    Output files stay. There is no way back and no question asked. Stored pages that another
    job of the same settings shares stay as long as it does.
    """
    chosen = _one_name(name, job_name)
    if chosen is None:
        message = "name the job to delete; 'skitter jobs list' shows which there are"
        raise UsageError(message)
    summary = _summary(asyncio.run(_delete(invocation, data, chosen)))
    if as_json:
        click.echo(msgspec.json.encode(summary))
    else:
        click.echo(f"deleted {summary.job}: {summary.pages} pages, {summary.queued} queued")


async def _all_jobs(invocation: Invocation, data: Path) -> list[JobInfo]:
    async with open_backends(data, invocation.load().settings) as backends:
        return await backends.frontier.jobs()


async def _details(invocation: Invocation, data: Path, name: str | None) -> _JobDetails:
    async with open_backends(data, invocation.load().settings) as backends:
        info = await choose_job(backends.frontier, name, data)
        outputs = await backends.catalog.outputs(info.name)
        summary = _summary(info, held=DataFolder(data).is_held())
        return _JobDetails(summary=summary, spec=_masked(info.spec), outputs=outputs)


async def _delete(invocation: Invocation, data: Path, name: str) -> JobInfo:
    DataFolder(data).check()
    settings = invocation.load().settings
    with hold_folder(data):
        return await _delete_held(settings, data, name)


async def _delete_held(settings: Settings, data: Path, name: str) -> JobInfo:
    async with open_backends(data, settings, writing=True) as backends:
        info = await choose_job(backends.frontier, name, data)
        every = await backends.frontier.jobs()
        # The frontier last: whoever is killed in between finds the job and deletes it again.
        if not any(other.job_id == info.job_id for other in every if other.name != info.name):
            await backends.store.delete(info.job_id)
        await backends.catalog.delete_job(info.name)
        await backends.frontier.delete_job(info.name)
        return info


def _one_name(name: str | None, job_name: str | None) -> str | None:
    if name is not None and job_name is not None and name != job_name:
        message = f"two jobs are named, {name} and {job_name}: name one"
        raise UsageError(message)
    return name if name is not None else job_name


def _summary(info: JobInfo, *, held: bool = True) -> _Job:
    """`held`: somebody crawls into the folder; a job that nobody crawls does not run."""
    counts = info.told
    interrupted = info.state is JobState.RUNNING and not held
    return _Job(
        job=info.name,
        id=info.job_id,
        state=JobState.PAUSED if interrupted else info.state,
        interrupted=interrupted,
        pages=counts.done,
        failed=counts.failed,
        redirected=counts.redirected,
        dropped=counts.dropped,
        queued=counts.queued + counts.leased,
        accepted=counts.accepted,
        bytes=counts.body_bytes,
        max_pages=info.max_pages,
        created=timestamp(info.created_s),
    )


def _masked(spec: JobSpec) -> JobSpec:
    headers = tuple(
        (name, _HIDDEN if name.lower() in _SECRET_FIELDS else value) for name, value in spec.headers
    )
    cookie = None if spec.cookie is None else _HIDDEN
    return msgspec.structs.replace(spec, headers=headers, cookie=cookie)


def _print_rows(rows: Sequence[_Job]) -> None:
    if rows or sys.stdout.isatty():
        numbers = ("pages", "failed", "redirected", "dropped", "queued")
        titles = ("job", "state", *numbers, "created (UTC)")
        print_columns(titles, [_columns(row) for row in rows], right=numbers)


def _columns(row: _Job) -> tuple[str, ...]:
    numbers = (row.pages, row.failed, row.redirected, sum(row.dropped.values()), row.queued)
    return (
        printable(row.job),
        row.shown_state,
        *map(str, numbers),
        row.created[:19].replace("T", " "),
    )


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {number}" for key, number in value.items()) or "none"
    if isinstance(value, list | tuple):
        words = (": ".join(word) if isinstance(word, list | tuple) else str(word) for word in value)
        return ", ".join(words) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
