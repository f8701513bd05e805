"""The real fetcher for tests: guarded, with a name server and a clock of the test's own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

from skitter.fetch.base import Fetch
from skitter.fetch.curl import CurlFetcher, CurlOptions
from skitter.fetch.dns import Overrides, Resolver
from skitter.fetch.exits import Exits
from skitter.fetch.names import NameCache
from skitter.fetch.proxies import ProxyPool, ProxyRests, read_proxies
from skitter.fetch.pycares import CaresLookup
from skitter.urls.address import AddressGuard, parse_networks
from skitter.urls.normalize import host_of

#: Where sites of tests are; whatever else is on loopback must not be touched.
ALLOWED = "127.0.1.0/24"
FORBIDDEN = "127.0.2.1"
SITE = "127.0.1.1"


class TurnableClock:
    """The machine's monotonic clock, and what a test adds to it."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def time(self) -> float:
        return self.monotonic()

    def monotonic(self) -> float:
        return monotonic() + self.ahead_s


def fetch_of(url: str, **more: object) -> Fetch:
    """A fetch with limits of a test."""
    options: dict[str, object] = {"max_body_bytes": 100_000, "timeout_s": 10.0} | more
    return Fetch(url=url, host=host_of(url), **options)  # type: ignore[arg-type]


def make_resolver(
    guard: AddressGuard,
    clock: TurnableClock,
    servers: tuple[str, ...] = (),
    *,
    timeout_s: float = 5.0,
    overrides: Overrides | None = None,
) -> Resolver:
    """A resolver on c-ares; without servers it asks nobody that would answer."""
    lookup = CaresLookup(servers=servers or ("127.0.0.1:1",), timeout_s=timeout_s)
    names = NameCache(guard)
    return Resolver(lookup, names, clock=clock, timeout_s=timeout_s, overrides=overrides)


@asynccontextmanager
async def fetcher(
    *servers: str,
    clock: TurnableClock | None = None,
    options: CurlOptions | None = None,
    timeout_s: float = 5.0,
    overrides: Overrides | None = None,
    allowed: str = ALLOWED,
    proxies: tuple[str, ...] = (),
    resolves_names: bool = False,
) -> AsyncIterator[CurlFetcher]:
    """A fetcher that may go to one network and nowhere else, until the block ends."""
    guard = AddressGuard(allow_networks=parse_networks([allowed], "the test"))
    clock = clock or TurnableClock()
    resolver = make_resolver(guard, clock, servers, timeout_s=timeout_s, overrides=overrides)
    exits = None
    if proxies:
        pool = ProxyPool(read_proxies(proxies, "", "the test"), ProxyRests())
        anywhere = AddressGuard(allow_networks=parse_networks(["127.0.0.0/8", "::1"], "the test"))
        own = make_resolver(anywhere, clock, servers, timeout_s=timeout_s)
        exits = Exits(pool, own, clock, resolves_names=resolves_names)
    made = CurlFetcher(guard, resolver, options or CurlOptions(), clock, exits=exits)
    try:
        yield made
    finally:
        await made.aclose()
