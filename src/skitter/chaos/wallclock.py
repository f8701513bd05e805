"""A wall clock that can be moved under a running crawl, by way of libfaketime."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from skitter.errors import UsageError

__all__ = ["INSTALL", "WallClock", "has_faketime"]

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  (where the library puts it)

INSTALL = "apt install faketime"


def has_faketime() -> bool:
    """Whether the clock can be moved here."""
    return shutil.which("faketime") is not None


class WallClock:
    """Processes with `environment` see the wall clock that `move` sets. Intervals stay true."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.move(0)
        self.environment = {
            "LD_PRELOAD": _library(),
            "FAKETIME_TIMESTAMP_FILE": str(path),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # Seconds until a process looks at the file again.
            "FAKETIME_CACHE_DURATION": "1",
        }

    def move(self, seconds: int) -> None:
        """So far from the true time, for everybody, within a second."""
        partial = self._path.with_suffix(".partial")
        partial.write_text(f"{seconds:+d}s\n")
        partial.replace(self._path)

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
