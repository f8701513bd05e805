"""Was the machine itself in the way? A worker without a processor is silent like a frozen one."""

from pathlib import Path

from skitter.clock import Clock

__all__ = ["Pressure"]

_PRESSURE = Path("/proc/pressure/cpu")
#: From this share of the time on, in which somebody waited for a processor, timers come late.
_BUSY = 0.5


class Pressure:
    """How long processes of this machine waited for a processor since it was made."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_s = clock.monotonic()
        self._waited_s = _waited_s()

    @property
    def share(self) -> float:
        """Of the time; 0 where the kernel does not tell."""
        passed_s = self._clock.monotonic() - self._began_s
        return (_waited_s() - self._waited_s) / passed_s if passed_s else 0.0

    @property
    def is_high(self) -> bool:
        """Whether a short lease may run out without anybody's fault."""
        return self.share > _BUSY


def _waited_s() -> float:
    """From the line `some avg10=… avg60=… avg300=… total=MICROSECONDS`."""
    try:
        some = _PRESSURE.read_text().splitlines()[0]
    except (OSError, IndexError):
        return 0.0
    return int(some.rpartition("=")[2]) / 1e6
