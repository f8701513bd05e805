"""Wall clocks that can be moved under a running crawl, each process its own, by libfaketime."""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from skitter.errors import UsageError

__all__ = ["FILE_VARIABLE", "INSTALL", "WallClock", "clock_file", "has_faketime"]

#: The environment variable by which the library finds its file.
FILE_VARIABLE = "FAKETIME_TIMESTAMP_FILE"

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  (where the library puts it)

INSTALL = "apt install faketime"


def has_faketime() -> bool:
    """Whether clocks can be moved here."""
    return shutil.which("faketime") is not None


def clock_file(folder: str | Path, pid: int) -> Path:
    """What the clock of a process follows; without such a file it is right."""
    return Path(folder, f"clock-{pid}")


class WallClock:
    """Processes begun with `command` and `environment` see what `move` sets; intervals are true."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        #: To be put before the path of a Python program.
        self.command = (sys.executable, "-m", "skitter.chaos.drifting", str(folder))
        self.environment = {
            "LD_PRELOAD": _library(),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # Seconds until a process looks at its file again.
            "FAKETIME_CACHE_DURATION": "1",
        }

    def move(self, pid: int, seconds: int) -> None:
        """So far from the true time, for one process, within a second."""
        path = clock_file(self._folder, pid)
        partial = path.with_suffix(".partial")
        partial.write_text(f"{seconds:+d}s\n")
        partial.replace(path)

    def forget(self, pids: Iterable[int]) -> None:
        """Remove what the library keeps for a process and a killed one cannot remove itself."""
        for pid in pids:
            for name in (f"faketime_shm_{pid}", f"sem.faketime_sem_{pid}"):
                (_SHARED_MEMORY / name).unlink(missing_ok=True)


def _library() -> str:
    """Where the library is, which differs from machine to machine; its own command knows."""
    program = shutil.which("faketime")
    if program is None:
        raise UsageError(f"the clock scenario needs faketime: {INSTALL}")
    done = subprocess.run(  # noqa: S603  (found above)
        [program, "-f", "+0s", "printenv", "LD_PRELOAD"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
