"""Sockets that know when their data came in, by the kernel's own clock.

A server that is busy, or waits for a processor, reads a request late and the next one on time:
by its own clock two requests then look nearer than they were sent. Linux notes the arrival of
every packet; elsewhere the moment of reading has to do.
"""

import asyncio
import socket
import struct
import sys
from typing import Any, ClassVar, Self
from weakref import WeakValueDictionary

from skitter.clock import Clock

__all__ = ["ArrivalSocket", "monotonic_of"]

#: From <asm-generic/socket.h>; the standard library does not name it.
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("qq")
_ANCILLARY_BYTES = socket.CMSG_SPACE(_TIMESPEC.size)
#: Two clocks are read at once if nothing came between; else again, so often.
_AT_ONCE_S = 20e-6
_TRIES = 5
_STAMPS = sys.platform == "linux"


class ArrivalSocket(socket.socket):
    """Listens, and accepts sockets of its own kind."""

    #: By descriptor: a transport shows its protocol only a wrapper.
    _accepted: ClassVar["WeakValueDictionary[int, ArrivalSocket]"] = WeakValueDictionary()
    #: Epoch seconds at which the last byte that was read came in; None: nobody noted it.
    arrived_s: float | None = None

    @classmethod
    def listening(cls, address: str, port: int, *, backlog: int) -> Self:
        """A listening socket; its clients inherit that packets are noted."""
        plain = socket.create_server((address, port), backlog=backlog)
        listener = cls(plain.family, plain.type, plain.proto, plain.detach())
        if _STAMPS:
            listener.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        return listener

    @classmethod
    def of(cls, transport: asyncio.BaseTransport) -> "ArrivalSocket | None":
        """The socket of a client; None: whoever accepted it was of another kind."""
        return cls._accepted.get(transport.get_extra_info("socket").fileno())

    def accept(self) -> tuple[socket.socket, Any]:
        """The next client."""
        plain, address = super().accept()
        client = ArrivalSocket(plain.family, plain.type, plain.proto, plain.detach())
        self._accepted[client.fileno()] = client
        return client, address

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """What came in; when is noted."""
        if not _STAMPS:
            return super().recv(size, flags)
        data, ancillary, _, _ = self.recvmsg(size, _ANCILLARY_BYTES, flags)
        if ancillary:
            seconds, nanoseconds = _TIMESPEC.unpack(ancillary[0][2])
            self.arrived_s = seconds + nanoseconds / 1e9
        return data


def monotonic_of(epoch_s: float, clock: Clock) -> float:
    """When that was by the monotonic clock, unless somebody moves the other one meanwhile."""
    best_s, behind_s = float("inf"), 0.0
    for _ in range(_TRIES):
        before = clock.monotonic()
        now_s = clock.time()
        took_s = clock.monotonic() - before
        if took_s < best_s:
            best_s, behind_s = took_s, before + took_s / 2 - now_s
        if took_s < _AT_ONCE_S:
            break
    return epoch_s + behind_s
