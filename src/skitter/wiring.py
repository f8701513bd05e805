"""Settings -> concrete backends. The only importer of adapters."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from skitter.catalog.base import Append, Catalog
from skitter.catalog.sqlite import SqliteCatalog
from skitter.clock import Clock, SystemClock
from skitter.config.product import PRODUCT, VERSION
from skitter.config.settings import Settings
from skitter.engine.folder import DataFolder
from skitter.engine.hooks import Hooks
from skitter.engine.worker import Worker
from skitter.fetch.curl import CurlFetcher, CurlOptions
from skitter.frontier.base import Frontier
from skitter.frontier.sqlite import SqliteFrontier
from skitter.politeness.backoff import BackoffPolicy
from skitter.politeness.rates import Rate
from skitter.store.base import Store
from skitter.store.segments import SegmentStore
from skitter.urls.address import AddressGuard, parse_networks

__all__ = ["Backends", "make_worker", "open_backends"]


class Backends(Struct, frozen=True, kw_only=True):
    """The open backends of one data folder."""

    frontier: Frontier
    catalog: Catalog
    store: Store
    clock: Clock


@asynccontextmanager
async def open_backends(
    data: Path, settings: Settings, *, writing: bool = False
) -> AsyncIterator[Backends]:
    """Open a data folder; `writing` makes it if need be and takes it for this process alone."""
    folder = DataFolder(data)
    if writing:
        folder.prepare()
        folder.lock()
    else:
        folder.check()
    clock = SystemClock()
    try:
        frontier = SqliteFrontier(
            folder.frontier,
            clock=clock,
            default_rate=Rate.of_delay(
                settings.politeness.delay_s, settings.politeness.concurrency
            ),
            backoff=BackoffPolicy(
                first_s=settings.backoff.first_s,
                max_s=settings.backoff.max_s,
                jitter=settings.backoff.jitter,
                forgive_s=settings.backoff.forgive_s,
            ),
            lease_s=settings.frontier.lease_s,
            read_only=not writing,
        )
        catalog = SqliteCatalog(folder.catalog, read_only=not writing)
        store = SegmentStore(
            folder.segments,
            clock=clock,
            software=f"{PRODUCT}/{VERSION}",
            segment_bytes=settings.store.segment_bytes,
        )
        try:
            yield Backends(frontier=frontier, catalog=catalog, store=store, clock=clock)
        finally:
            await store.aclose()
            await catalog.aclose()
            await frontier.aclose()
    finally:
        folder.unlock()


def make_worker(
    backends: Backends,
    settings: Settings,
    *,
    hosts: Iterable[str],
    resolve: Mapping[str, tuple[str, ...]],
    append: Append,
    hooks: Hooks,
) -> Worker:
    """A worker that fetches with libcurl.

    `hosts` are those the operator typed and `resolve` the addresses given for some (libcurl's
    entry -> its addresses): both may be on private networks.
    """
    guard = AddressGuard(
        allow_networks=parse_networks(settings.security.allow_networks, "security.allow_networks"),
        allow_hosts=hosts,
        allow_addresses=[address for addresses in resolve.values() for address in addresses],
    )
    options = CurlOptions(
        connect_timeout_s=settings.fetch.connect_timeout_s,
        max_header_bytes=settings.fetch.max_header_bytes,
        min_rate_bytes_s=settings.fetch.min_rate_bytes_s,
        min_rate_window_s=settings.fetch.min_rate_window_s,
        http2=settings.fetch.http2,
        resolve=tuple(resolve),
    )
    return Worker(
        "worker-1",
        frontier=backends.frontier,
        fetcher=CurlFetcher(guard, options, backends.clock),
        catalog=backends.catalog,
        store=backends.store,
        append=append,
        clock=backends.clock,
        settings=settings,
        hooks=hooks,
    )
