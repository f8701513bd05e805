"""Lookups on c-ares, which reads resolv.conf and the hosts file as the system does.

c-ares runs a thread of its own that waits for the name servers and notices when resolv.conf
changes; each answer is one hop from there to the event loop.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

import pycares
from pycares import errno

from skitter.errors import ConfigError
from skitter.fetch.names import Answer, NoAnswer, NoName, Reply

__all__ = ["CaresLookup"]

_FAMILIES = {"both": socket.AF_UNSPEC, "ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}
#: A server that is silent for this share of the time-out is asked again, or the next one is.
_SHARE_PER_TRY = 4
_TRIES = 2

_NO_NAME = {
    errno.ARES_ENOTFOUND: "no such name",
    errno.ARES_ENONAME: "no such name",
    errno.ARES_ENODATA: "the name has no address",
    errno.ARES_EBADNAME: "not a host name",
}
_NO_ANSWER = {
    errno.ARES_ETIMEOUT: "the name servers did not answer",
    errno.ARES_ECONNREFUSED: "no name server can be reached",
    errno.ARES_ESERVFAIL: "the name servers failed (SERVFAIL)",
    errno.ARES_EREFUSED: "the name servers refuse to answer (REFUSED)",
}


class CaresLookup:
    """See `skitter.fetch.dns.Lookup`."""

    def __init__(
        self, *, servers: Sequence[str] = (), timeout_s: float = 5.0, family: str = "both"
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._family = _FAMILIES[family]
        try:
            self._channel = pycares.Channel(
                servers=list(servers) or None, timeout=timeout_s / _SHARE_PER_TRY, tries=_TRIES
            )
        except pycares.AresError:
            raise ConfigError(
                f"dns.servers: {', '.join(servers)}: write addresses, as 192.0.2.53 or "
                "192.0.2.53:5353 or [2001:db8::53]:5353"
            ) from None

    def ask(self, host: str, answered: Callable[[Reply], None]) -> None:
        def from_thread(result: pycares.AddrInfoResult | None, status: int | None) -> None:
            # The loop may be gone: a crawl that ends does not wait for name servers.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(answered, _reply(result, status))

        try:
            self._channel.getaddrinfo(
                host, None, family=self._family, type=socket.SOCK_STREAM, callback=from_thread
            )
        except (UnicodeError, ValueError):
            self._loop.call_soon(answered, NoName(detail="not a host name"))

    def close(self) -> None:
        self._channel.close()


def _reply(result: pycares.AddrInfoResult | None, status: int | None) -> Reply:
    if result is not None and result.nodes:
        nodes = result.nodes
        lives = [node.ttl for node in nodes] + [cname.ttl for cname in result.cnames]
        return Answer(
            addresses=tuple(_text(node.addr[0]) for node in nodes), ttl_s=float(min(lives))
        )
    if status is None:
        return NoName(detail=_NO_NAME[errno.ARES_ENODATA])
    if status in _NO_NAME:
        return NoName(detail=_NO_NAME[status])
    return NoAnswer(detail=_NO_ANSWER.get(status) or _text(errno.strerror(status)))


def _text(text: str | bytes) -> str:
    return text.decode() if isinstance(text, bytes) else text
