"""The log tells when a request came in, not when the server got round to reading it."""

import asyncio
import select
import socket
import sys
import time

import pytest

from skitter.clock import SystemClock
from skitter.sim.accesslog import Access
from skitter.sim.arrivals import monotonic_of
from skitter.sim.options import SimOptions
from skitter.sim.server import SimServer

BUSY_S = 0.2


async def ask_a_busy_server() -> tuple[Access, float]:
    """The log's entry, and when the server was free to read."""
    async with SimServer(SimOptions(hosts=1, pages=1)) as server:
        with socket.create_connection((server.address, server.port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: site0001.test\r\nConnection: close\r\n\r\n")
            # The server's loop is this one: it cannot read before it is let go on.
            select.select([], [], [], BUSY_S)
            free_at = time.monotonic()
            client.setblocking(False)
            while await asyncio.get_running_loop().sock_recv(client, 65_536):
                pass
        assert server.log is not None
        (entry,) = server.log.entries
    return entry, free_at


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels do not tell")
def test_a_request_that_waited_to_be_read_arrived_before() -> None:
    entry, free_at = asyncio.run(ask_a_busy_server())
    assert entry.start_monotonic_s < free_at - BUSY_S / 2
    assert entry.end_monotonic_s >= free_at


class Interrupted(SystemClock):
    """Something comes between its first two readings, as on a busy machine."""

    readings = 0

    def time(self) -> float:
        self.readings += 1
        if self.readings == 1:
            select.select([], [], [], BUSY_S)
        return super().time()


def test_clocks_are_compared_at_one_moment() -> None:
    clock = Interrupted()
    now_s, now = time.time(), time.monotonic()
    assert abs(monotonic_of(now_s, clock) - now) < BUSY_S / 4
    assert clock.readings > 1
