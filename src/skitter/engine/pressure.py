"""Reads how much is left of what a worker can run short of."""

import os
from pathlib import Path

from skitter.config.settings import Degrade
from skitter.engine.degrade import Gauge

__all__ = ["PressureGauges"]

_MIB = 1024 * 1024
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
#: Share of the machine's memory that all workers together may take.
_MEMORY_SHARE = 0.75
#: The most that a slow frontier weighs: fewer jobs at once help it, bodies not kept do not, and
#: one that does not answer hands out nothing anyway.
_LAG_PRESSURE = 0.85
#: Where the limit of a container is written (control groups, version 2 and 1).
_CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


class PressureGauges:
    """Memory of this process, room on the disk, results that wait, answers that take long."""

    def __init__(
        self,
        settings: Degrade,
        folder: Path,
        *,
        workers: int,
    ) -> None:
        self._settings = settings
        self._folder = folder
        own_bytes = settings.memory_mb * _MIB
        self._memory_bytes = own_bytes or _machine_bytes() * _MEMORY_SHARE / workers

    def read(self, *, backlog: float, lag_s: float) -> list[Gauge]:
        """All of them, now. `backlog` is the share of the room for results that is taken."""
        memory = _resident_bytes()
        free = _free_bytes(self._folder)
        floor = self._settings.min_free_disk_mb * _MIB
        return [
            Gauge(
                name="memory",
                pressure=memory / self._memory_bytes,
                reading=f"{_mb(memory)} of {_mb(self._memory_bytes)}",
            ),
            # Twice the floor is half the pressure: room is scarce near the floor only.
            Gauge(name="disk", pressure=floor / max(free, 1), reading=f"{_mb(free)} free"),
            Gauge(name="spool", pressure=backlog, reading="results wait to be written"),
            Gauge(
                name="frontier",
                pressure=min(lag_s / self._settings.max_lag_s, _LAG_PRESSURE),
                reading=f"answers take {lag_s:.1f} s",
            ),
        ]


def _mb(size: float) -> str:
    return f"{size / _MIB:,.0f} MB"


def _resident_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0


def _free_bytes(folder: Path) -> int:
    try:
        status = os.statvfs(folder)
    except OSError:
        return 1 << 62
    return status.f_bavail * status.f_frsize


def _machine_bytes() -> float:
    total = float(os.sysconf("SC_PHYS_PAGES") * _PAGE_BYTES)
    for path in _CGROUP_LIMITS:
        try:
            return min(total, float(path.read_text()))
        except (OSError, ValueError):
            continue
    return total
