"""`skitter workers`: the worker processes of a crawl that is running in another terminal."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click
import msgspec

from skitter.cli.columns import print_columns
from skitter.cli.options import examples
from skitter.cli.reading import data_option
from skitter.engine.folder import DataFolder, control_socket
from skitter.engine.places import WorkerState, WorkerStatus
from skitter.engine.pulse import Pulse
from skitter.errors import UsageError
from skitter.rpc import Channel

__all__ = ["workers"]

T = TypeVar("T")

#: A supervisor that does not answer within this is gone.
_ANSWER_S = 10.0

_TITLES = ("id", "state", "pid", "items", "done", "failed", "restarts", "heard s ago")

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(
    epilog=examples(
        "skitter workers list",
        "skitter workers show 1 --json",
        "skitter workers restart 2",
        "skitter workers drain 2",
        "skitter workers set --heartbeat 5 --timeout 15",
    )
)
def workers() -> None:
    """Look at the workers of a running crawl, restart or drain one.

    Run it in another terminal while `skitter crawl` runs with more than one worker.
    """


@workers.command("list", epilog=examples("skitter workers list", "skitter workers list --json"))
@data_option
@_as_json
def list_workers(data: Path, as_json: bool) -> None:
    """List the workers: state, work, last heartbeat."""
    found = _statuses(data)
    if as_json:
        click.echo(msgspec.json.encode([_row(status) for status in found]))
        return
    rows = [[_shown(value) for value in _row(status).values()] for status in found]
    print_columns(_TITLES, [row[: len(_TITLES)] for row in rows], right=_TITLES[2:])
    click.echo(_rule(found[0]))


@workers.command("show", epilog=examples("skitter workers show 1", "skitter workers show 1 --json"))
@click.argument("id_", metavar="ID")
@data_option
@_as_json
def show(id_: str, data: Path, as_json: bool) -> None:
    """Show one worker, its checkpoints and the files with its results.

    Checkpoints are the items it is working on. The files are WARC segments, readable at any time.
    """
    status = _status(data, id_)
    files = [str(path) for path in DataFolder(data).worker_segments(status.id)]
    if as_json:
        click.echo(msgspec.json.encode({**msgspec.structs.asdict(status), "segments": files}))
        return
    for name, value in _row(status).items():
        click.echo(f"{name + ':':<13}{_shown(value)}")
    click.echo(f"{'segments:':<13}{' '.join(files) or '-'}")
    for lease in status.leases:
        request = lease.request
        click.echo(f"  {request.url}  (depth {request.depth}, try {lease.tries + 1})")


@workers.command("restart", epilog=examples("skitter workers restart 2"))
@click.argument("id_", metavar="ID")
@data_option
def restart(id_: str, data: Path) -> None:
    """Replace one worker by a new process while the rest go on."""
    status = _status(data, id_)
    if status.state is WorkerState.DRAINED:
        raise UsageError(f"worker {id_} was drained and does not come back in this run")
    if status.pid is None:
        raise UsageError(f"worker {id_} is not running: one that died is replaced anyway")
    _ask(data, lambda channel: channel.call("restart", (id_,), object))
    click.echo(f"Worker {id_} is being replaced; the others go on.")


@workers.command("drain", epilog=examples("skitter workers drain 2"))
@click.argument("id_", metavar="ID")
@data_option
def drain(id_: str, data: Path) -> None:
    """Let one worker finish what it holds and leave."""
    _status(data, id_)
    _ask(data, lambda channel: channel.call("drain", (id_,), object))
    click.echo(f"Worker {id_} takes no more work and leaves when it is done.")


@workers.command("set", epilog=examples("skitter workers set --heartbeat 5 --timeout 15"))
@click.option("--heartbeat", type=float, metavar="S", help="Seconds between two heartbeats.")
@click.option("--timeout", type=float, metavar="S", help="Silence after which a worker is dead.")
@data_option
def set_pulse(heartbeat: float | None, timeout: float | None, data: Path) -> None:
    """Change heartbeat and time-out of the running crawl, at once.

    The next run goes by frontier.heartbeat_s and frontier.lease_s of the settings again.
    """
    if heartbeat is None and timeout is None:
        message = "nothing to set: give --heartbeat, --timeout or both"
        raise UsageError(message)
    _ask(data, lambda channel: channel.call("set_pulse", (heartbeat, timeout), Pulse))
    click.echo(_rule(_statuses(data)[0]))


def _rule(status: WorkerStatus) -> str:
    return f"A heartbeat every {status.heartbeat_s:g} s, dead after {status.timeout_s:g} s."


def _statuses(data: Path) -> list[WorkerStatus]:
    return _ask(data, lambda channel: channel.call("workers", (), list[WorkerStatus]))


def _status(data: Path, id_: str) -> WorkerStatus:
    for status in _statuses(data):
        if status.id == id_:
            return status
    raise UsageError(f"no worker {id_!r}; `skitter workers list` shows those there are")


def _row(status: WorkerStatus) -> dict[str, object]:
    return {
        "id": status.id,
        "state": status.state,
        "pid": status.pid,
        "items": len(status.leases),
        "done": status.done,
        "failed": status.failed,
        "restarts": status.restarts,
        "heard_s": None if status.heard_s is None else round(status.heard_s, 1),
        "heartbeat_s": status.heartbeat_s,
        "timeout_s": status.timeout_s,
    }


def _shown(value: object) -> str:
    return "-" if value is None else str(value)


def _ask(data: Path, ask: Callable[[Channel], Awaitable[T]]) -> T:
    """Ask the supervisor of the crawl that runs in this folder."""
    DataFolder(data).check()
    socket = control_socket(data)
    if socket is None:
        raise UsageError(
            f"no crawl with worker processes is running in {data}:"
            " start one with `skitter crawl --workers 2 …`"
        )
    return asyncio.run(_asked(socket, ask))


async def _asked(socket: Path, ask: Callable[[Channel], Awaitable[T]]) -> T:
    channel = Channel(socket)
    talking = asyncio.ensure_future(channel.run())
    try:
        async with asyncio.timeout(_ANSWER_S):
            return await ask(channel)
    except TimeoutError:
        raise UsageError("the crawl does not answer: it may just have ended") from None
    finally:
        talking.cancel()
