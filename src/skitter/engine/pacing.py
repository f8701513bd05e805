"""Keeps two sends to a domain apart, by when requests really left.

The frontier spaces its leases, but a lease becomes a request only after robots.txt, a connect
and a handshake. With nothing more, a slow connect would eat into the gap to the next request.
"""

import asyncio
from collections import deque
from collections.abc import Callable

__all__ = ["Pacer"]

#: Gates are forgotten beyond this number once they are idle and their gap is over.
_MAX_GATES = 10_000

Send = Callable[[Callable[[float], None], Callable[[], None]], None]


class Pacer:
    """One gate per domain; domains without a gap have none."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._gates: dict[str, _Gate] = {}

    def submit(
        self, domain: str, gap_s: float, send: Send, refuse: Callable[[], None] | None = None
    ) -> None:
        """Call `send(sent, ended)` when the gap allows, in order per domain.

        The sender calls `sent(at)` when the request leaves and `ended()` when it is over.
        `refuse()` is called instead if the domain is to be left alone before that.
        """
        gate = self._gates.get(domain)
        if gate is None:
            if len(self._gates) >= _MAX_GATES:
                self._forget_idle()
            gate = self._gates[domain] = _Gate(self._monotonic)
        gate.gap_s = gap_s
        gate.submit(send, refuse)

    def refuse(self, domain: str) -> None:
        """Send nothing of what waits for a domain's gap."""
        gate = self._gates.get(domain)
        if gate is not None:
            gate.refuse()

    def clear(self) -> None:
        """Drop whatever waits for its gap."""
        for gate in self._gates.values():
            gate.clear()

    def _forget_idle(self) -> None:
        now = self._monotonic()
        idle = [name for name, gate in self._gates.items() if gate.is_idle(now)]
        for name in idle:
            del self._gates[name]


class _Gate:
    """Lets one request through at a time until it has left, then waits for the gap."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self.gap_s = 0.0
        self._last_sent = float("-inf")
        self._waiting: deque[tuple[Send, Callable[[], None] | None]] = deque()
        self._leaving = 0
        self._timer: asyncio.TimerHandle | None = None

    def submit(self, send: Send, refuse: Callable[[], None] | None) -> None:
        self._waiting.append((send, refuse))
        self._advance()

    def refuse(self) -> None:
        waiting, self._waiting = self._waiting, deque()
        for item in waiting:
            if item[1] is None:
                self._waiting.append(item)
            else:
                item[1]()

    def clear(self) -> None:
        self._waiting.clear()

    def is_idle(self, now: float) -> bool:
        return not self._waiting and not self._leaving and now >= self._last_sent + self.gap_s

    def _advance(self) -> None:
        if self._leaving or self._timer is not None or not self._waiting:
            return
        wait_s = self._last_sent + self.gap_s - self._monotonic()
        if wait_s > 0:
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._timer_rang)
            return
        self._leaving += 1
        left = False

        def sent(at: float) -> None:
            nonlocal left
            self._last_sent = max(self._last_sent, at)
            if not left:
                left = True
                self._leaving -= 1
                self._advance()

        def ended() -> None:
            nonlocal left
            if not left:  # it never left: a refused connection, say
                left = True
                self._leaving -= 1
                self._advance()

        self._waiting.popleft()[0](sent, ended)

    def _timer_rang(self) -> None:
        self._timer = None
        self._advance()
