"""What every command that reads a crawl has in common: `--data`, `--job`, and choosing a job."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from skitter.errors import UsageError
from skitter.frontier.base import Frontier, JobInfo

__all__ = ["choose_job", "data_option", "job_option", "printable", "printable_json"]

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

#: Names that are listed when one has to be chosen.
_LISTED_JOBS = 10

data_option: _Decorator = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("skitter-data"),
    metavar="DIR",
    show_default=True,
    help="The data folder of the crawl.",
)
job_option: _Decorator = click.option(
    "--job", "job_name", metavar="NAME", help="The job; needed if the folder has several."
)


async def choose_job(frontier: Frontier, name: str | None, data: Path) -> JobInfo:
    """The job of that name, or the only one there is."""
    jobs = await frontier.jobs()
    if not jobs:
        message = f"{data} has no jobs yet: crawl into it first, or name another with --data"
        raise UsageError(message)
    if name is None and len(jobs) == 1:
        return jobs[0]
    for job in jobs:
        if job.name == name:
            return job
    listed = _names(jobs)
    if name is None:
        message = f"{data} has {len(jobs)} jobs, choose one with --job: {listed}"
    else:
        message = f"no job named {name!r} in {data}; there is {listed}"
    raise UsageError(message)


def printable(text: str) -> str:
    """Text of strangers, harmless to a terminal: what controls it is replaced."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def printable_json(line: bytes) -> bytes:
    """The same JSON, harmless to a terminal."""
    return "".join(
        char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1]
        for char in line.decode()
    ).encode()


def _names(jobs: Sequence[JobInfo]) -> str:
    more = f" … ({len(jobs)} in all)" if len(jobs) > _LISTED_JOBS else ""
    return ", ".join(job.name for job in jobs[:_LISTED_JOBS]) + more
