"""The simulated web, listening."""

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self

from skitter.clock import Clock, SystemClock
from skitter.sim.accesslog import AccessLog
from skitter.sim.arrivals import ArrivalSocket
from skitter.sim.connection import Connection
from skitter.sim.options import SimOptions
from skitter.sim.origin import Origin
from skitter.sim.site import SimWeb

__all__ = ["SimServer"]

_BACKLOG = 4096


class SimServer:
    """`async with SimServer(options) as server:` serves on `server.port` until the end.

    `log.entries` holds every access; with `log_path` they go to that file instead, and with
    `keep_log=False` nowhere. The port is taken, and the web known, as soon as it is made.
    """

    def __init__(
        self,
        options: SimOptions,
        *,
        port: int = 0,
        address: str = "127.0.0.1",
        log_path: Path | None = None,
        keep_log: bool = True,
        clock: Clock | None = None,
    ) -> None:
        self.address = address
        self._socket = ArrivalSocket.listening(address, port, backlog=_BACKLOG)
        try:
            self.log = AccessLog(log_path) if keep_log or log_path else None
        except OSError:
            self._socket.close()
            raise
        self.port: int = self._socket.getsockname()[1]
        self.web = SimWeb(options, port=self.port)
        self._origin = Origin(self.web, log=self.log, clock=clock or SystemClock())
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None

    @property
    def resolve(self) -> str:
        """What `skitter crawl --resolve` needs to find every host here."""
        return f"*:{self.port}:{self.address}"

    async def __aenter__(self) -> Self:
        """Begin to answer."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self._origin, self._connections),
            sock=self._socket,
            backlog=_BACKLOG,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close every connection, then the log."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.abort()
        # Aborted connections say so, and are logged, in the next turn of the loop.
        await asyncio.sleep(0)
        self.close()

    def close(self) -> None:
        """Give port and log back; for a server that was made and never entered."""
        self._socket.close()
        if self.log is not None:
            self.log.close()
