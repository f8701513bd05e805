"""Places on servers: a thousand names may be one machine, and it is the machine that suffers.

In memory only. A place is taken with the grant when the address is known from the domain's last
transfer, else by `reserve` once the name is resolved; it is free when the transfer has ended.
"""

from skitter.frontier.policy import DomainState

__all__ = ["Servers"]


class Servers:
    """How many are in flight to each server_ip, and which domains wait for a place there."""

    def __init__(self, concurrency: int, delay_s: float) -> None:
        self._concurrency = concurrency
        self._delay_s = delay_s
        self._in_flight: dict[str, int] = {}
        self._next_at: dict[str, float] = {}
        #: An ordered set each.
        self._parked: dict[str, dict[DomainState, None]] = {}

    def in_flight(self, server_ip: str) -> int:
        """Places taken."""
        return self._in_flight.get(server_ip, 0)

    def is_full(self, server_ip: str) -> bool:
        """True: no place until somebody's transfer ends."""
        return self._in_flight.get(server_ip, 0) >= self._concurrency

    def due_at(self, server_ip: str) -> float:
        """The earliest time for the next request there."""
        return self._next_at.get(server_ip, 0.0)

    def take(self, server_ip: str, now: float) -> None:
        """A request is about to go there."""
        self._in_flight[server_ip] = self._in_flight.get(server_ip, 0) + 1
        if self._delay_s:
            self._next_at[server_ip] = now + self._delay_s

    def release(self, server_ip: str) -> None:
        """A transfer has ended."""
        left = self._in_flight.get(server_ip, 0) - 1
        if left > 0:
            self._in_flight[server_ip] = left
        else:
            self._in_flight.pop(server_ip, None)

    def park(self, domain: DomainState) -> None:
        """Let a domain wait for a place on its server."""
        if domain.server_ip is not None:
            self._parked.setdefault(domain.server_ip, {})[domain] = None

    def next_parked(self, server_ip: str) -> DomainState | None:
        """The domain that has waited longest, taken out; None: none waits, or there is no place."""
        waiting = self._parked.get(server_ip)
        if not waiting or self.is_full(server_ip):
            return None
        domain = next(iter(waiting))
        del waiting[domain]
        if not waiting:
            del self._parked[server_ip]
        return domain
