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
    #: Which of several identities (proxies) to use; see `Lease.identity`.
    identity: int = 0


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
    #: It was a proxy that failed; nothing was learnt about the site.
    by_proxy: bool = False
    #: Our name servers or proxies are down: worth another try after so long, at nobody's cost.
    retry_after_s: float | None = None
    #: Monotonic time at which the request left; None if it never did.
    sent_at: float | None = None
    elapsed_s: float = 0.0
    server_ip: str | None = None
    #: The header lines that were sent.
    request_headers: tuple[str, ...] = ()


#: Called with a monotonic time at which a request had just been sent, before any result.
Sent = Callable[[float], None]


class Fetcher(Protocol):
    """Runs any number of transfers at once. Limits on how many are the caller's business."""

    #: Asked when a request is about to leave, connected and all: True lets it go, False ends
    #: its transfer with `sent_at` None.
    may_send: Callable[[], bool]

    def start(self, fetch: Fetch, done: Callable[[FetchResult], None], sent: Sent) -> None:
        """Begin a transfer; `done` is called exactly once, unless it is aborted before."""
        ...

    def prepare(self, fetch: Fetch, ready: Callable[[], None]) -> bool:
        """Look up what a fetch will need, so that it can be sent at once when its time comes.

        True: nothing is missing. False: `ready` is called once when nothing is, whatever was
        found, unless it is aborted before. A fetch that was not prepared looks up when it starts.
        """
        ...

    def server_ip(self, fetch: Fetch) -> str | None:
        """Where a prepared fetch will most likely go; None: unknown, or nowhere."""
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
