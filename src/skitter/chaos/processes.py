"""The processes of a crawl: who they are, what they hold, what they use. Linux only."""

import asyncio
import os
import select
import signal
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from skitter.engine.coordinator import WorkerReport
from skitter.engine.folder import control_socket
from skitter.engine.places import WorkerStatus
from skitter.errors import SkitterError
from skitter.rpc import Channel

__all__ = [
    "Handle",
    "Sample",
    "ask_coordinator",
    "ask_workers",
    "children",
    "open_child",
    "sample",
]

T = TypeVar("T")

#: While the coordinator is dead the supervisor does not answer.
_ANSWER_S = 2.0

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Sample(Struct, frozen=True, kw_only=True):
    """What one process had at one moment."""

    at_s: float
    pid: int
    role: str
    memory_bytes: int
    descriptors: int


class Handle:
    """A process that keeps its identity: a pid may be given to another, a descriptor is not."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)

    def signal(self, number: signal.Signals) -> bool:
        """False: it had ended before."""
        try:
            signal.pidfd_send_signal(self._descriptor, number)
        except ProcessLookupError:
            return False
        return True

    def wait_ended(self, seconds: float) -> bool:
        """Whether it has ended, or does so in time: it sends nothing any more."""
        waiting = select.poll()
        waiting.register(self._descriptor, select.POLLIN)
        return bool(waiting.poll(seconds * 1000))

    @property
    def stands_still(self) -> bool:
        """Whether a SIGSTOP has taken effect, in all its threads; also if it has ended."""
        try:
            threads = list(Path("/proc", str(self.pid), "task").iterdir())
            stats = [(thread / "stat").read_text() for thread in threads]
        except OSError:
            return True
        # The name in parentheses may hold anything; the state follows the last one.
        return all(stat.rpartition(")")[2].split()[0] in "TtZX" for stat in stats)

    def close(self) -> None:
        """Forget it."""
        os.close(self._descriptor)


def ask_workers(data: Path) -> list[WorkerStatus]:
    """The workers that run; empty: there are none, or nobody answers now."""
    socket = control_socket(data)
    found = _asked(socket, "workers", WorkerStatus) if socket else []
    return [status for status in found if status.pid is not None]


def ask_coordinator(data: Path) -> list[WorkerReport]:
    """The same from whom the supervisor knows it, for when that one stands still."""
    socket = control_socket(data)
    return _asked(socket.with_name("coordinator"), "reports", WorkerReport) if socket else []


def children(pid: int) -> list[int]:
    """The children of a process; empty if it is gone."""
    found: list[int] = []
    with suppress(OSError):
        for thread in Path("/proc", str(pid), "task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def open_child(parent: int, pid: int) -> Handle | None:
    """A handle on a child of that parent; None: it is gone, or its number is another's by now."""
    try:
        handle = Handle(pid)
    except ProcessLookupError:
        return None
    if pid in children(parent):
        return handle
    handle.close()
    return None


def sample(pid: int, role: str, at_s: float) -> Sample | None:
    """What a process uses; None if it is gone."""
    folder = Path("/proc", str(pid))
    try:
        pages = int((folder / "statm").read_text().split()[1])
        descriptors = len(list((folder / "fd").iterdir()))
    except (OSError, IndexError):
        return None
    return Sample(
        at_s=at_s,
        pid=pid,
        role=role,
        memory_bytes=pages * _PAGE_BYTES,
        descriptors=descriptors,
    )


def _asked(socket: Path, verb: str, kind: type[T]) -> list[T]:
    try:
        return asyncio.run(_ask(socket, verb, kind))
    except (TimeoutError, SkitterError):
        return []


async def _ask(socket: Path, verb: str, kind: type[T]) -> list[T]:
    channel = Channel(socket)
    talking = asyncio.ensure_future(channel.run())
    try:
        async with asyncio.timeout(_ANSWER_S):
            return await channel.call(verb, (), list.__class_getitem__(kind))  # type: ignore[arg-type]
    finally:
        talking.cancel()
