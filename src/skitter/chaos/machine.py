"""Was the machine itself in the way? A worker that gets no processor is silent like a frozen one.

What the crawl says of its workers is believed only where the kernel says that processes waited.
"""

from pathlib import Path

import msgspec
from msgspec import Struct

from skitter.clock import Clock

__all__ = ["Pressure", "silenced"]

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


class _Silence(Struct, frozen=True):
    """The log line of a worker that could not make itself heard."""

    event: str
    dropped: int = 0


def silenced(stderr: Path) -> int:
    """How many requests were let go by workers that had been silent."""
    dropped = 0
    for line in stderr.read_bytes().splitlines():
        try:
            said = msgspec.json.decode(line, type=_Silence)
        except msgspec.MsgspecError:
            continue
        if said.event == "worker.cut_off":
            dropped += said.dropped
    return dropped


def _waited_s() -> float:
    """From the line `some avg10=… avg60=… avg300=… total=MICROSECONDS`."""
    try:
        some = _PRESSURE.read_text().splitlines()[0]
    except (OSError, IndexError):
        return 0.0
    return int(some.rpartition("=")[2]) / 1e6
