"""Hosts of the simulated web that are ill: what they answer instead of their pages.

robots.txt stays well, or nobody would ask for the pages. The manifest knows nothing of this: it
tells what the same web is when it is in good health.
"""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from skitter.sim.options import SimOptions
from skitter.sim.page import RESET
from skitter.sim.replies import Reply, plain_reply

__all__ = ["DRIP", "ENDLESS", "MUTE", "Infirmary", "Sickness"]

#: Stand where a status is expected: no answer, a byte a second, a body without an end.
MUTE, DRIP, ENDLESS = -1, -2, -3

_CHALLENGE = (
    b"<!doctype html><title>Just a moment...</title><script src='/cdn-cgi/challenge-platform/'>"
)
_HEAD = b"HTTP/1.1 200 OK\r\nServer: skitter-sim\r\nContent-Type: text/html\r\n"


class Sickness(StrEnum):
    """How a host is ill."""

    ERROR = "error"
    RESET = "reset"
    LIMIT = "limit"
    FORBID = "forbid"
    CHALLENGE = "challenge"
    MUTE = "mute"
    DRIP = "drip"
    ENDLESS = "endless"


class Infirmary:
    """The last `sick_hosts` hosts; each gets well after `sick_requests`, if that is set."""

    def __init__(self, hosts: Sequence[str], options: SimOptions) -> None:
        kinds = [Sickness(kind) for kind in options.sickness.split(",")]  # checked there
        sick = hosts[len(hosts) - options.sick_hosts :] if options.sick_hosts else ()
        self._kinds = {host: kinds[place % len(kinds)] for place, host in enumerate(sick)}
        self._most = options.sick_requests
        self._asked: Counter[str] = Counter()
        self._replies = {
            Sickness.ERROR: plain_reply(500),
            Sickness.RESET: Reply(RESET, b"", b""),
            Sickness.LIMIT: plain_reply(429, f"Retry-After: {options.retry_after_s:g}"),
            Sickness.FORBID: plain_reply(403),
            Sickness.CHALLENGE: _challenge(),
            Sickness.MUTE: Reply(MUTE, b"", b""),
            Sickness.DRIP: Reply(DRIP, _HEAD + b"Content-Length: 100000\r\n\r\n", b"."),
            Sickness.ENDLESS: Reply(ENDLESS, _HEAD + b"Connection: close\r\n\r\n", b"." * 65_536),
        }

    def reply(self, host: str, path: str) -> Reply | None:
        """What a sick host answers; None: it is well, or well again."""
        kind = self._kinds.get(host)
        if kind is None or path == "/robots.txt":
            return None
        self._asked[host] += 1
        if self._most and self._asked[host] > self._most:
            return None
        return self._replies[kind]


def _challenge() -> Reply:
    head = plain_reply(403, "cf-mitigated: challenge").head
    length = f"Content-Length: {len(_CHALLENGE)}".encode()
    lines = [length if line.startswith(b"Content-Length") else line for line in head.split(b"\r\n")]
    return Reply(403, b"\r\n".join(lines), _CHALLENGE)
