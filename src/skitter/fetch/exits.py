"""The way out behind proxies: a proxy for each fetch, and the address it is dialled at.

The guard's hook sees only the proxy, so the target's own route is checked before anything is sent.
A `socks5` proxy is then given the checked address; the others are given the name, and what they
make of it is theirs to answer for.
"""

from collections.abc import Callable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from skitter.clock import Clock
from skitter.fetch.base import Fetch, FetchResult
from skitter.fetch.dns import Resolver
from skitter.fetch.names import Route
from skitter.fetch.proxies import Proxy, ProxyPool
from skitter.models import ErrorCode
from skitter.urls.domain import domain_of

__all__ = ["Exit", "Exits"]


class Exit(Struct, frozen=True, kw_only=True, gc=False):
    """A proxy and where it is dialled."""

    proxy: Proxy
    addresses: tuple[str, ...]


class Exits:
    """Proxies for fetches, with what became of them told to the pool.

    The resolver is one of the proxies' own: their hosts were typed by the operator and may be
    anywhere, which must not hold for a link to the same host.
    """

    def __init__(
        self, pool: ProxyPool, resolver: Resolver, clock: Clock, *, resolves_names: bool = False
    ) -> None:
        self._pool = pool
        self._resolver = resolver
        self._monotonic = clock.monotonic
        #: A name that nobody here can resolve may be given to a proxy. One that takes addresses
        #: would leave the lookup to libcurl, which nobody watches.
        self.resolves_names = resolves_names and pool.resolves

    def find(self, fetch: Fetch, found: Callable[[Exit | FetchResult], None]) -> None:
        """An exit, now or when its name was looked up; or why there is none."""
        proxy = self._pool.choose(domain_of(fetch.host), fetch.identity, self._monotonic())
        if proxy is None:
            found(self._none_left())
            return
        route = self._resolver.route(proxy.host, proxy.port)
        if route is not None:
            self._reach(proxy, found, route)
        else:
            self._resolver.find(proxy.host, partial(self._reach, proxy, found))

    def judged(self, via: Exit, result: FetchResult, blame: str | None) -> FetchResult:
        """A result that came through an exit; `blame`: why that was the exit's own fault."""
        if blame is not None:
            ours = self._failed(via.proxy, blame)
            return replace(ours, sent_at=result.sent_at, elapsed_s=result.elapsed_s)
        if result.status_code is not None:
            self._pool.record(via.proxy, ok=True, now=self._monotonic())
        return result

    def abort(self) -> None:
        """Nobody waits any more."""
        self._resolver.abort()

    def close(self) -> None:
        """Stop looking names up."""
        self._resolver.close()

    def _reach(
        self, proxy: Proxy, found: Callable[[Exit | FetchResult], None], route: Route
    ) -> None:
        if route.addresses:
            found(Exit(proxy=proxy, addresses=route.addresses))
        else:
            found(self._failed(proxy, f"cannot resolve it: {route.detail}"))

    def _failed(self, proxy: Proxy, why: str) -> FetchResult:
        now = self._monotonic()
        self._pool.record(proxy, ok=False, now=now)
        wait_s = self._pool.wait_s(now)
        if wait_s > 0:
            return self._none_left(f" (the last was {proxy.place}: {why})")
        return _no_way(f"proxy {proxy.place}: {why}", wait_s)

    def _none_left(self, more: str = "") -> FetchResult:
        wait_s = self._pool.wait_s(self._monotonic())
        return _no_way(f"no proxy is reachable{more}", wait_s)


def _no_way(detail: str, wait_s: float) -> FetchResult:
    return FetchResult(error=ErrorCode.CONNECT, detail=detail, by_proxy=True, retry_after_s=wait_s)
