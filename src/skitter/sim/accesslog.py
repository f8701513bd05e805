"""The server's own account of what was asked and when: the witness of the proofs."""

import asyncio
from pathlib import Path
from typing import BinaryIO

import msgspec

__all__ = ["CUT_OFF", "Access", "AccessLog"]

#: Status of a request whose client went away before the answer.
CUT_OFF = 499

#: What a killed server may leave unwritten.
_FLUSH_EVERY_S = 0.1


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """One request. It starts when its head had wholly arrived and ends when its answer was sent."""

    #: Seconds since the epoch.
    start_s: float
    #: The machine's monotonic clock, the same for all its processes.
    start_monotonic_s: float
    end_monotonic_s: float
    method: str
    host: str
    #: With the query, as sent.
    path: str
    #: 0: the connection was reset; 499: the client left first.
    status: int
    #: Requests of this host under way when this one started, itself included.
    concurrent: int


class AccessLog:
    """Keeps entries in memory, or appends them to a file as JSON lines."""

    def __init__(self, path: Path | None = None) -> None:
        self._file: BinaryIO | None = path.open("wb") if path else None
        self._encoder = msgspec.json.Encoder()
        self._waiting: asyncio.TimerHandle | None = None
        #: All there were; with a file, those not yet written.
        self.entries: list[Access] = []

    def add(self, entry: Access) -> None:
        """Note a finished request."""
        self.entries.append(entry)
        if self._file is not None and self._waiting is None:
            loop = asyncio.get_running_loop()
            self._waiting = loop.call_later(_FLUSH_EVERY_S, self.flush)

    def flush(self) -> None:
        """Write what waits."""
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        if self._file is not None and self.entries:
            self._file.write(self._encoder.encode_lines(self.entries))
            self._file.flush()
            self.entries.clear()

    def close(self) -> None:
        """Write what waits and give the file back; what is in memory stays."""
        self.flush()
        if self._file is not None:
            self._file.close()
            self._file = None
