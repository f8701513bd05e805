"""HTTP/1.1 by hand: stock servers do a fifth of the speed, and none resets on order."""

import asyncio
import re
import socket
import struct
from functools import partial
from typing import cast

from skitter.sim.accesslog import CUT_OFF
from skitter.sim.arrivals import ArrivalSocket
from skitter.sim.origin import Exchange, Origin
from skitter.sim.page import RESET
from skitter.sim.replies import Reply, plain_reply
from skitter.sim.sickness import DRIP, MUTE

__all__ = ["Connection"]

_MAX_HEAD_BYTES = 32 << 10
_MAX_WAITING_BYTES = 1 << 20
_HOST = re.compile(rb"\r\nhost:[ \t]*([^\r\n:]+)", re.IGNORECASE)
_GZIP = re.compile(rb"\r\naccept-encoding:[^\r\n]*gzip", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection:[ \t]*close", re.IGNORECASE)
_REQUEST_LINE = re.compile(rb"([A-Z]+) (/[\x21-\x7e]*) HTTP/1\.([01])\r\n")
#: On, after zero seconds: closing sends a reset instead of an end.
_LINGER = struct.pack("ii", 1, 0)


class Connection(asyncio.Protocol):
    """One client. Answers one request at a time; what comes meanwhile waits in the buffer."""

    def __init__(self, origin: Origin, open_connections: "set[Connection]") -> None:
        self._origin = origin
        self._open = open_connections
        self._transport: asyncio.Transport
        self._socket: ArrivalSocket | None = None
        self._buffer = b""
        self._pending: Exchange | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self._transport = cast("asyncio.Transport", transport)
        self._socket = ArrivalSocket.of(transport)
        self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Called by the loop; an answer that was kept back is not sent any more."""
        self._open.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._pending is not None:
            self._origin.end(self._pending, CUT_OFF)
            self._pending = None

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        self._buffer += data
        self._read_on()

    def abort(self) -> None:
        """End at once, answered or not."""
        self._transport.abort()

    def _read_on(self) -> None:
        while self._pending is None and self._buffer:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _MAX_HEAD_BYTES:
                    self._refuse(431)
                return
            head, self._buffer = self._buffer[: end + 2], self._buffer[end + 4 :]
            self._handle(head)

    def _handle(self, head: bytes) -> None:
        request = _REQUEST_LINE.match(head)
        host = _HOST.search(head)
        if request is None or host is None:
            self._refuse(400)
            return
        method, target, minor = request.groups()
        name = host[1].decode("latin-1").strip().lower()
        arrived_s = self._socket.arrived_s if self._socket else None
        exchange = self._origin.begin(method, name, target.decode("ascii"), arrived_s)
        if method in {b"GET", b"HEAD"}:
            reply = self._origin.reply(exchange, gzip=_GZIP.search(head) is not None)
            close = minor == b"0" or _CLOSE.search(head) is not None
        else:
            # Its body, if any, is not read, so nothing after it can be.
            reply, close = plain_reply(405, "Allow: GET, HEAD"), True
        self._schedule(exchange, reply, close=close)

    def _schedule(self, exchange: Exchange, reply: Reply, *, close: bool) -> None:
        delay_s = self._origin.delay_s()
        if not delay_s:
            self._answer(exchange, reply, close=close)
            return
        self._pending = exchange
        later = partial(self._answer_late, exchange, reply, close=close)
        self._timer = asyncio.get_running_loop().call_later(delay_s, later)

    def _answer_late(self, exchange: Exchange, reply: Reply, *, close: bool) -> None:
        self._pending = self._timer = None
        self._answer(exchange, reply, close=close)
        self._read_on()

    def _answer(self, exchange: Exchange, reply: Reply, *, close: bool) -> None:
        if reply.status < 0:
            self._pending = exchange  # until the client has had enough
            self._linger(reply, first=True)
            return
        if reply.status == RESET:
            self._reset()
        else:
            with_body = exchange.method != b"HEAD"
            self._transport.write(reply.head + reply.body if with_body else reply.head)
        self._origin.end(exchange, reply.status)
        if close:
            self._close()

    def _linger(self, reply: Reply, *, first: bool = False) -> None:
        """Answers that never come to an end."""
        if reply.status == MUTE:
            return
        if first:
            self._transport.write(reply.head)
        elif self._transport.get_write_buffer_size() < _MAX_WAITING_BYTES:
            self._transport.write(reply.body)
        wait_s = 1.0 if reply.status == DRIP else 0.01
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._linger, reply)

    def _refuse(self, status: int) -> None:
        reply = plain_reply(status, "Connection: close")
        self._transport.write(reply.head + reply.body)
        self._close()

    def _close(self) -> None:
        self._transport.close()
        self._buffer = b""

    def _reset(self) -> None:
        sock = self._transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
        self._transport.abort()
        self._buffer = b""
