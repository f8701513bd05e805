"""The border of fetching: one request in, one result out, by callback.

A callback and not an awaitable, because a task or future per URL costs more than the
transfer's own bookkeeping; `fetch_once` wraps it for the few places that want to wait.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from skitter.models import ErrorCode

__all__ = ["Fetch", "FetchResult", "Fetcher", "Sent", "fetch_once"]


class Fetch(Struct, frozen=True, kw_only=True, gc=False):
    """What to fetch. Redirects are never followed here."""

    url: str
    host: str
    #: Complete header lines, `Name: value`.
    headers: tuple[str, ...] = ()
    max_body_bytes: int
    timeout_s: float


class FetchResult(Struct, frozen=True, kw_only=True, gc=False):
    """What came back. Either `status_code` is set, or `error`, or both when a body broke off."""

    status_code: int | None = None
    #: Status line and header fields as received, without the empty line.
    head: tuple[bytes, ...] = ()
    #: Decoded by content encoding.
    body: bytes = b""
    #: "length" if the body was cut at the limit.
    truncated: str | None = None
    error: ErrorCode | None = None
    detail: str = ""
    #: The address guard refused to connect.
    forbidden: bool = False
    #: Monotonic time at which the request left; None if it never did.
    sent_at: float | None = None
    elapsed_s: float = 0.0
    server_ip: str | None = None


#: Called with the monotonic time at which a request is really sent, before any result.
Sent = Callable[[float], None]


class Fetcher(Protocol):
    """Runs any number of transfers at once. Limits on how many are the caller's business."""

    def start(self, fetch: Fetch, done: Callable[[FetchResult], None], sent: Sent) -> None:
        """Begin a transfer; `done` is called exactly once, unless it is aborted before."""
        ...

    def abort(self) -> None:
        """Drop every transfer; their callbacks are not called."""
        ...

    async def aclose(self) -> None:
        """Abort and close all connections."""
        ...


async def fetch_once(fetcher: Fetcher, fetch: Fetch) -> FetchResult:
    """Fetch and wait."""
    future: asyncio.Future[FetchResult] = asyncio.get_running_loop().create_future()

    def done(result: FetchResult) -> None:
        if not future.done():
            future.set_result(result)

    fetcher.start(fetch, done, lambda _at: None)
    return await future
