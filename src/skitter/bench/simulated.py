"""One host of the simulated web under its address, so that no crawler needs a resolver.

    python -m skitter.bench.simulated PAGES

prints its URL and serves until it is ended.
"""

import asyncio
import socket
import sys

from skitter.clock import SystemClock
from skitter.sim.connection import Connection
from skitter.sim.options import SimOptions
from skitter.sim.origin import Origin
from skitter.sim.page import SimPage
from skitter.sim.site import SimWeb

__all__ = ["AddressedWeb", "documentation"]

_ADDRESS = "127.0.0.1"


def documentation(pages: int) -> SimOptions:
    """A site like a reference manual: large pages, many links, all written in one way.

    Crawlers differ in which spellings they take for the same URL; that is not what we measure.
    Without odd spellings and other hosts no link names the host.
    """
    return SimOptions(hosts=1, pages=pages, links=40, body_bytes=20_000, messy_rate=0.0)


class AddressedWeb(SimWeb):
    """The first host, whatever name it is asked by."""

    def page(self, host: str, target: str) -> SimPage:  # noqa: ARG002  (there is but one)
        """As the simulated web has it."""
        return super().page(self.hosts[0], target)


async def _serve(options: SimOptions) -> None:
    listener = socket.create_server((_ADDRESS, 0), backlog=4096)
    port = listener.getsockname()[1]
    web = AddressedWeb(options, port=port)
    origin = Origin(web, log=None, clock=SystemClock())
    connections: set[Connection] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(origin, connections), sock=listener)
    sys.stdout.write(f"http://{_ADDRESS}:{port}/\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(documentation(int(sys.argv[1]))))
