"""`skitter audit`: did the crawl keep its promises? Told from what it left behind."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from skitter.cli.invocation import Invocation
from skitter.cli.options import examples
from skitter.cli.reading import data_option, printable
from skitter.engine.audit import MAX_FINDINGS, Check
from skitter.engine.auditor import Auditor, audit_log
from skitter.engine.folder import DataFolder
from skitter.engine.logbook import LOG_FOLDER, LogReader
from skitter.errors import UsageError
from skitter.frontier.base import JobInfo
from skitter.frontier.inspect import FrontierRows
from skitter.outputs.ids import read_ids
from skitter.wiring import open_backends

__all__ = ["audit"]


@click.command(
    epilog=examples(
        "skitter audit",
        "skitter audit --data crawls/monday --deep",
        "skitter audit --job news --json | jq .holds",
    )
)
@data_option
@click.option("--job", "job_name", metavar="NAME", help="Only this job.  [default: all]")
@click.option("--deep", is_flag=True, help="Read every stored page and compare its digest.")
@click.option(
    "--tolerance-ms",
    type=click.FloatRange(min=0),
    default=20.0,
    show_default=True,
    metavar="MS",
    help="What a gap or a hold may be short of.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def audit(
    invocation: Invocation,
    data: Path,
    job_name: str | None,
    deep: bool,
    tolerance_ms: float,
    as_json: bool,
) -> int:
    """Check that a crawl lost nothing, doubled nothing and was polite.

    Compares frontier, catalog, output files and fetch log. Reads only, and works while the crawl
    runs. Exit code 1: a promise was broken; the lines that show it are listed.
    """
    checks = asyncio.run(_audit(invocation, data, job_name, tolerance_ms / 1000, deep=deep))
    holds = all(check.holds for check in checks)
    if as_json:
        click.echo(msgspec.json.encode({"holds": holds, "checks": checks}))
    else:
        _print(checks)
    return 0 if holds else 1


async def _audit(
    invocation: Invocation, data: Path, job_name: str | None, tolerance_s: float, *, deep: bool
) -> Sequence[Check]:
    folder = DataFolder(data)
    folder.check()
    rows = FrontierRows(folder.frontier)
    try:
        async with open_backends(data, invocation.load().settings) as backends:
            auditor = Auditor(
                rows,
                catalog=backends.catalog,
                store=backends.store,
                read_ids=read_ids,
                deep=deep,
            )
            jobs = rows.jobs()
            checks = await auditor.audit(_chosen(jobs, job_name, data))
            return [*checks, *audit_log(LogReader(data / LOG_FOLDER), jobs, tolerance_s)]
    finally:
        await rows.aclose()


def _chosen(jobs: Sequence[JobInfo], name: str | None, data: Path) -> list[str]:
    names = [job.name for job in jobs]
    if name is None:
        return names
    if name not in names:
        message = f"no job named {name!r} in {data}; `skitter jobs list` shows those there are"
        raise UsageError(message)
    return [name]


def _print(checks: Sequence[Check]) -> None:
    color = False if os.environ.get("NO_COLOR") else None
    width = max(len(check.name) for check in checks)
    for check in checks:
        note = click.style(f"  ({check.note})", dim=True) if check.note else ""
        click.echo(f"{_mark(check)}  {check.name:<{width}}  {check.checked:>9,}{note}", color=color)
        for finding in check.findings:
            click.echo(f"     {printable(finding.where)}  {printable(finding.what)}")
        if check.found > MAX_FINDINGS:
            click.echo(f"     … {check.found:,} in all")


def _mark(check: Check) -> str:
    if not check.holds:
        return click.style("✗", fg="red")
    return click.style("✓", fg="green") if check.checked else click.style("-", dim=True)
