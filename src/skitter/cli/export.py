"""`skitter export`: write a crawl's records to files, during the crawl or long after."""

import asyncio
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from skitter.cli.invocation import Invocation
from skitter.cli.options import examples
from skitter.cli.reading import choose_job, data_option, job_option
from skitter.cli.units import near, size
from skitter.errors import UsageError
from skitter.frontier.base import JobInfo
from skitter.models import JobState
from skitter.outputs.base import OutputFile, Source, parse_outputs
from skitter.outputs.whole import write_whole
from skitter.wiring import Backends, open_backends

__all__ = ["export"]


class _Written(Struct, frozen=True, kw_only=True):
    """A file as `--json` tells of it."""

    path: str
    records: int
    bytes: int


@click.command(
    epilog=examples(
        "skitter export pages.csv",
        "skitter export pages.parquet pages.warc.gz --data crawls/monday",
        "skitter export everything.jsonl --all --body --job news",
    )
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@data_option
@job_option
@click.option("--all", "everything", is_flag=True, help="Redirected and dropped requests too.")
@click.option("--body", is_flag=True, help="Add the bodies, as text or base64.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
@click.pass_obj
def export(
    invocation: Invocation,
    files: tuple[str, ...],
    data: Path,
    job_name: str | None,
    everything: bool,
    body: bool,
    as_json: bool,
) -> None:
    """Write the records of a job to files.

    The format follows from the name: .jsonl, .csv, .parquet or .warc.gz. A file is there whole
    or not at all; one of the same name is replaced. Works while the crawl runs.
    """
    outputs = parse_outputs(files)
    written = asyncio.run(
        _export(invocation, outputs, data, job_name, everything=everything, include_body=body)
    )
    if as_json:
        click.echo(msgspec.json.encode(written))
        return
    for file in written:
        click.echo(f"{near(file.path)}: {file.records:,} records, {size(file.bytes)}")


async def _export(
    invocation: Invocation,
    outputs: tuple[OutputFile, ...],
    data: Path,
    job_name: str | None,
    *,
    everything: bool,
    include_body: bool,
) -> list[_Written]:
    async with open_backends(data, invocation.load().settings) as backends:
        job = await choose_job(backends.frontier, job_name, data)
        await _refuse_growing_files(backends, job, outputs)
        source = Source(
            catalog=backends.catalog,
            store=backends.store,
            clock=backends.clock,
            job=job.name,
            include_body=include_body,
            everything=everything,
        )
        return [await _write(output, source) for output in outputs]


async def _write(output: OutputFile, source: Source) -> _Written:
    records = await write_whole(output, source)
    length = output.path.stat().st_size
    return _Written(path=str(output.path), records=records, bytes=length)


async def _refuse_growing_files(
    backends: Backends, job: JobInfo, outputs: tuple[OutputFile, ...]
) -> None:
    """A crawl that goes on appending to a file must find it as it left it."""
    if job.state is JobState.FINISHED:
        return
    growing = {saved.path for saved in await backends.catalog.outputs(job.name) if saved.length}
    for output in outputs:
        if str(output.path) in growing:
            message = f"{output.path} is written by the crawl itself: export to another name"
            raise UsageError(message)
