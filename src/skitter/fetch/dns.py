"""Resolves host names for the fetcher: from memory at once, else one lookup for all who wait.

A breaker watches the name servers. While it is open nobody is asked: a name that was known keeps
its last address, and one that never was gets a route that says when to try again.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec.structs import replace

from skitter.clock import Clock
from skitter.fetch.names import NameCache, NoAnswer, Reply, Route
from skitter.politeness.breaker import Breaker, BreakerPolicy

__all__ = ["Found", "Lookup", "Overrides", "Resolver", "overrides_of"]

#: Of the name servers: half of the last 20 lookups without an answer, then 30 s of silence.
_BREAKER = BreakerPolicy(window=20, threshold=0.5, min_results=20, open_s=30.0, long_open_s=30.0)

Found = Callable[[Route], None]
#: (host, port) -> addresses; the host may be `*`.
Overrides = Mapping[tuple[str, int], tuple[str, ...]]


class Lookup(Protocol):
    """Somebody who asks name servers."""

    def ask(self, host: str, answered: Callable[[Reply], None]) -> None:
        """Ask for a name; `answered` is called on the event loop, at most once, maybe never."""
        ...

    def close(self) -> None:
        """Ask no more, and forget what was asked."""
        ...


class Resolver:
    """Routes by host and port. `route` never waits; `find` is for when it has nothing."""

    def __init__(
        self,
        lookup: Lookup,
        names: NameCache,
        *,
        clock: Clock,
        timeout_s: float = 5.0,
        overrides: Overrides | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._lookup = lookup
        self._names = names
        self._monotonic = clock.monotonic
        self._timeout_s = timeout_s
        self._overrides = {
            place: names.checked(place[0], addresses)
            for place, addresses in (overrides or {}).items()
        }
        self._breaker = Breaker(_BREAKER)
        #: Host -> who waits for it. A host that is being asked for has an entry.
        self._waiting: dict[str, list[Found]] = {}
        self._deadlines: dict[str, asyncio.TimerHandle] = {}

    def route(self, host: str, port: int) -> Route | None:
        """The route if it is known, or known not to be had now; None: `find` it."""
        if self._overrides:
            fixed = self._overrides.get((host, port)) or self._overrides.get(("*", port))
            if fixed is not None:
                return fixed
        now = self._monotonic()
        return self._names.get(host, now) or self._while_open(host, now)

    def find(self, host: str, found: Found) -> None:
        """Ask for a host that has no route; `found` is called once, later."""
        waiting = self._waiting.get(host)
        if waiting is not None:
            waiting.append(found)
            return
        self._waiting[host] = [found]
        self._breaker.begin(self._monotonic())
        silence = NoAnswer(detail=f"the name servers did not answer within {self._timeout_s:g} s")
        self._deadlines[host] = self._loop.call_later(
            self._timeout_s, self._answered, host, silence
        )
        self._lookup.ask(host, lambda reply: self._answered(host, reply))

    def prefer(self, host: str, address: str) -> None:
        """An address has answered: it is the first to try from now on."""
        self._names.prefer(host, address)

    def abort(self) -> None:
        """Nobody waits any more; lookups under way are still remembered."""
        for waiting in self._waiting.values():
            waiting.clear()

    def close(self) -> None:
        """Stop asking."""
        for deadline in self._deadlines.values():
            deadline.cancel()
        self._waiting.clear()
        self._lookup.close()

    def _while_open(self, host: str, now: float) -> Route | None:
        if host in self._waiting or self._breaker.allows(now):
            return None
        return self._names.stand_in(host, now) or Route(
            detail="the name servers have stopped answering",
            retry_after_s=max(0.0, self._breaker.until - now),
        )

    def _answered(self, host: str, reply: Reply) -> None:
        now = self._monotonic()
        waiting = self._waiting.pop(host, None)
        if waiting is None:  # too late for those who asked, but good to know
            if not isinstance(reply, NoAnswer):
                self._names.learn(host, reply, now)
            return
        self._deadlines.pop(host).cancel()
        self._breaker.record(ok=not isinstance(reply, NoAnswer), now=now)
        route = self._names.learn(host, reply, now)
        if not route.addresses and not self._breaker.allows(now) and isinstance(reply, NoAnswer):
            route = replace(route, retry_after_s=max(0.0, self._breaker.until - now))
        for found in waiting:
            found(route)


def overrides_of(entries: Mapping[str, tuple[str, ...]]) -> dict[tuple[str, int], tuple[str, ...]]:
    """`HOST:PORT:…` of `--resolve` with its addresses; the last word on a host and port counts."""
    overrides = {}
    for entry, addresses in entries.items():
        host, port, _ = entry.split(":", 2)
        overrides[host.removeprefix("+").lower(), int(port)] = addresses
    return overrides
