"""Where people reach a running crawl about its domains: `skitter domains` asks here."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from skitter.frontier.base import DomainInfo, Frontier
from skitter.politeness.rates import Rate
from skitter.rpc import Server, Verb, verb

__all__ = ["DomainDesk", "open_desk"]


class DomainDesk:
    """The frontier's verbs for domains; `changed` is called after each that changes something."""

    def __init__(self, frontier: Frontier, changed: Callable[[], None]) -> None:
        self._frontier = frontier
        self._changed = changed

    def verbs(self) -> dict[str, Verb]:
        """For a server to offer."""
        names = ("domain", "backlog", "rest", "set_rate", "block")
        return {name: verb(getattr(self, name)) for name in names}

    async def domain(self, name: str) -> DomainInfo | None:
        """One domain."""
        return await self._frontier.domain(name)

    async def backlog(self, limit: int) -> list[DomainInfo]:
        """Those with the longest queues."""
        return await self._frontier.backlog(limit)

    async def rest(self, domain: str, wait_s: float, reason: str) -> None:
        """Leave a domain alone, or end that."""
        await self._frontier.rest(domain, wait_s, reason)
        self._changed()

    async def set_rate(self, domain: str, rate: Rate | None) -> None:
        """Change a domain's rate."""
        await self._frontier.set_rate(domain, rate)
        self._changed()

    async def block(self, domain: str, *, blocked: bool) -> None:
        """Close a domain, or open it."""
        await self._frontier.block(domain, blocked=blocked)
        self._changed()


@asynccontextmanager
async def open_desk(desk: DomainDesk, socket: Path | None) -> AsyncIterator[None]:
    """While inside, the desk answers on this socket."""
    if socket is None:
        yield
        return
    server = Server(socket, desk.verbs())
    await server.start()
    try:
        yield
    finally:
        await server.aclose()
