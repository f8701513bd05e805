"""Pages as the bytes that go over the wire, kept while there is room."""

from http import HTTPStatus

from isal import igzip
from msgspec import Struct

from skitter.sim.page import RESET, SimPage
from skitter.sim.site import SimWeb

__all__ = ["Replies", "Reply", "plain_reply"]

_CACHE_BYTES = 64 << 20

_PHRASES = {status.value: status.phrase for status in HTTPStatus}


class Reply(Struct, frozen=True):
    """A whole answer; `faults` are the statuses its first requests get instead."""

    status: int
    head: bytes
    body: bytes
    faults: tuple[int, ...] = ()


def plain_reply(status: int, *extra: str) -> Reply:
    """An answer that says no more than its status."""
    body = f"{status} {_PHRASES[status]}\n".encode()
    return Reply(status, _head(status, "text/plain", len(body), *extra), body)


class Replies:
    """A crawl asks for each page about once, so rendering is the hot path, not the cache."""

    def __init__(self, web: SimWeb) -> None:
        self._web = web
        self._cache: dict[tuple[str, str, bool], Reply] = {}
        self._cached_bytes = 0
        self._faults = {
            429: plain_reply(429, "Retry-After: 1"),
            503: plain_reply(503, "Retry-After: 1"),
            500: plain_reply(500),
            RESET: Reply(RESET, b"", b""),
        }

    def get(self, host: str, target: str, *, gzip: bool) -> Reply:
        """The final answer; `gzip` says that the client can read it compressed."""
        key = host, target, gzip
        reply = self._cache.get(key)
        if reply is None:
            reply = _render(self._web.page(host, target), gzip=gzip)
            self._keep(key, reply)
        return reply

    def fault(self, status: int) -> Reply:
        """What a page answers while it does not work yet."""
        return self._faults[status]

    def _keep(self, key: tuple[str, str, bool], reply: Reply) -> None:
        self._cache[key] = reply
        self._cached_bytes += len(reply.body)
        while self._cached_bytes > _CACHE_BYTES:
            oldest = self._cache.pop(next(iter(self._cache)))
            self._cached_bytes -= len(oldest.body)


def _render(page: SimPage, *, gzip: bool) -> Reply:
    if page.status == RESET:
        return Reply(RESET, b"", b"")
    body = page.body
    extra = []
    if page.location is not None:
        extra.append(f"Location: {page.location}")
    if page.gzip:
        extra.append("Vary: Accept-Encoding")
        if gzip:
            body = igzip.compress(body, 1)
            extra.append("Content-Encoding: gzip")
    head = _head(page.status, page.content_type, len(body), *extra)
    return Reply(page.status, head, body, page.faults)


def _head(status: int, content_type: str, length: int, *extra: str) -> bytes:
    lines = (
        f"HTTP/1.1 {status} {_PHRASES[status]}",
        "Server: skitter-sim",
        f"Content-Type: {content_type}",
        f"Content-Length: {length}",
        *extra,
    )
    return "\r\n".join((*lines, "\r\n")).encode("ascii")
