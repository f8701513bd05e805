"""One run of one crawler: a process of its own, and what the kernel says it used."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from msgspec import Struct

from skitter.clock import Clock

__all__ = ["Usage", "measure", "tree_bytes"]

#: Seconds between two looks at the memory of a run.
_LOOK_EVERY_S = 0.25

#: What `ru_maxrss` counts in.
_MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Usage(Struct, frozen=True, kw_only=True):
    """What a run cost, from the start of its process to its end, all its processes together."""

    exit_code: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def measure(command: Sequence[str], folder: Path, clock: Clock) -> Usage:
    """Run `command` in `folder` to its end; its output is in `stdout` and `stderr` there."""
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        began_s = clock.monotonic()
        process = subprocess.Popen(  # noqa: S603  (contestants are ours)
            command,
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        try:
            with _Memory(process.pid) as memory:
                # Not `process.wait`: this one also says what the process and its children used.
                _, status, used = os.wait4(process.pid, 0)
            seconds = clock.monotonic() - began_s
            process.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            process.terminate()
            process.wait()
            raise
    return Usage(
        exit_code=process.returncode,
        seconds=seconds,
        cpu_seconds=used.ru_utime + used.ru_stime,
        # The kernel's own peak is exact, but that of the largest process alone.
        peak_bytes=max(memory.peak_bytes, used.ru_maxrss * _MAXRSS_BYTES),
    )


def tree_bytes(pid: int) -> int:
    """Resident memory of a process and all below it; 0 where the kernel does not tell."""
    folder = Path("/proc", str(pid))
    total = 0
    with contextlib.suppress(OSError):
        total = int((folder / "statm").read_text().split()[1]) * _PAGE_BYTES
        for thread in (folder / "task").iterdir():
            children = (thread / "children").read_text().split()
            total += sum(tree_bytes(int(child)) for child in children)
    return total


class _Memory(threading.Thread):
    """Watches the memory of a run from beside it."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.peak_bytes = 0
        self._pid = pid
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        """Until the run has ended."""
        while not self._ended.wait(_LOOK_EVERY_S):
            self.peak_bytes = max(self.peak_bytes, tree_bytes(self._pid))


def _environment() -> dict[str, str]:
    """Ours, without settings: every run is with those that the report states."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SKITTER_")}
    return kept | {"NO_COLOR": "1"}
