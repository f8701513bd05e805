"""Settings -> concrete backends. The only importer of adapters."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skitter.catalog.base import Catalog
from skitter.catalog.sqlite import SqliteCatalog
from skitter.clock import Clock, SystemClock
from skitter.config.product import PRODUCT, VERSION
from skitter.config.settings import Settings
from skitter.engine.commit import Committer, LocalCommitter, RemoteCommitter
from skitter.engine.coordinator import Coordinator, RemoteRobots
from skitter.engine.fetchlog import FetchLog
from skitter.engine.fleet import Fleet, FleetOptions
from skitter.engine.folder import DataFolder
from skitter.engine.hooks import Hooks
from skitter.engine.logbook import LOG_FOLDER
from skitter.engine.pressure import PressureGauges
from skitter.engine.process import COORDINATOR_END, Child, run_child
from skitter.engine.progress import Progress
from skitter.engine.pulse import Pulse
from skitter.engine.robots import RobotsCache, SharedRobots
from skitter.engine.run import SoloRun
from skitter.engine.worker import Worker
from skitter.fetch.curl import CurlFetcher, CurlOptions
from skitter.fetch.dns import Resolver, overrides_of
from skitter.fetch.exits import Exits
from skitter.fetch.names import NameCache
from skitter.fetch.proxies import Proxy, ProxyPool, ProxyRests
from skitter.fetch.pycares import CaresLookup
from skitter.frontier.base import Frontier
from skitter.frontier.budgets import budget_policy
from skitter.frontier.remote import RemoteFrontier, frontier_verbs
from skitter.frontier.rules import default_rate, rules
from skitter.frontier.sqlite import SqliteFrontier
from skitter.outputs.base import OutputFile
from skitter.outputs.set import OutputSet
from skitter.politeness.backoff import BackoffPolicy
from skitter.rpc import Channel
from skitter.store.base import Store
from skitter.store.segments import SegmentStore
from skitter.urls.address import AddressGuard, parse_networks

__all__ = [
    "Assignment",
    "Backends",
    "hold_folder",
    "make_fleet",
    "make_solo",
    "open_backends",
    "reach_frontier",
]


class Backends(Struct, frozen=True, kw_only=True):
    """The open backends of one data folder."""

    frontier: Frontier
    catalog: Catalog
    store: Store
    clock: Clock


class Assignment(Struct, frozen=True, kw_only=True):
    """What every process of a crawl needs to know."""

    data: Path
    settings: Settings
    job: str
    #: Hosts the operator typed, and addresses given for some (libcurl's entry -> addresses):
    #: these may be on private networks.
    hosts: frozenset[str]
    resolve: dict[str, tuple[str, ...]]
    #: With any of them nothing goes straight to a site.
    proxies: tuple[Proxy, ...] = ()
    outputs: tuple[OutputFile, ...]
    include_body: bool
    workers: int


@contextmanager
def hold_folder(data: Path) -> Iterator[DataFolder]:
    """Make a data folder if need be and take it for this process and its children."""
    folder = DataFolder(data)
    folder.prepare()
    folder.lock()
    try:
        yield folder
    finally:
        folder.unlock()


@asynccontextmanager
async def open_backends(
    data: Path, settings: Settings, *, writing: bool = False
) -> AsyncIterator[Backends]:
    """Open a data folder to look at it or, `writing`, one that is held by `hold_folder`."""
    folder = DataFolder(data)
    folder.check()
    clock = SystemClock()
    frontier = SqliteFrontier(
        folder.frontier,
        clock=clock,
        default_rate=default_rate(settings),
        rules=rules(settings),
        backoff=BackoffPolicy(
            first_s=settings.backoff.first_s,
            max_s=settings.backoff.max_s,
            jitter=settings.backoff.jitter,
            forgive_s=settings.backoff.forgive_s,
        ),
        budgets=budget_policy(settings.traps),
        lease_s=settings.frontier.lease_s,
        read_only=not writing,
    )
    try:
        catalog = SqliteCatalog(folder.catalog, read_only=not writing)
        store = _store(folder, settings, clock)
        try:
            yield Backends(frontier=frontier, catalog=catalog, store=store, clock=clock)
        finally:
            await store.aclose()
            await catalog.aclose()
    finally:
        await frontier.aclose()


def make_solo(
    backends: Backends, work: Assignment, outputs: OutputSet, sockets: Path | None = None
) -> SoloRun:
    """A run with one worker, everything in this process."""
    progress = Progress(work.job, backends.clock, work.settings.fetch.concurrency)
    committer = LocalCommitter(backends.frontier, backends.catalog, outputs.append, progress.count)
    worker = _worker("worker-1", backends.frontier, committer, backends.store, work)
    return SoloRun(
        work.job,
        frontier=backends.frontier,
        worker=worker,
        progress=progress,
        socket=sockets and sockets / "coordinator",
    )


def make_fleet(work: Assignment, sockets: Path, say: Callable[[str], None]) -> Fleet:
    """A run with a coordinator and workers in processes of their own."""
    options = FleetOptions(
        workers=work.workers,
        pulse=Pulse.of(work.settings),
        control=sockets / "control",
        socket=sockets / "coordinator",
    )
    share = max(1, -(-work.settings.fetch.concurrency // work.workers))
    settings = replace(work.settings, fetch=replace(work.settings.fetch, concurrency=share))
    each = replace(work, settings=settings)
    return Fleet(
        options,
        start_coordinator=lambda pulse: Child(
            "coordinator", coordinate, _at_pulse(work, pulse), options.socket
        ),
        start_worker=lambda place, pulse: Child(
            f"worker-{place.id}",
            work_remotely,
            _at_pulse(each, pulse),
            options.socket,
            place.name,
            place.id,
        ),
        clock=SystemClock(),
        say=say,
    )


def _at_pulse(work: Assignment, pulse: Pulse) -> Assignment:
    frontier = replace(
        work.settings.frontier, heartbeat_s=pulse.heartbeat_s, lease_s=pulse.timeout_s
    )
    return replace(work, settings=replace(work.settings, frontier=frontier))


def coordinate(work: Assignment, socket: Path) -> None:
    """The coordinator's process."""

    async def main(stop: asyncio.Event) -> None:
        async with open_backends(work.data, work.settings, writing=True) as backends:
            outputs = OutputSet(work.outputs, clock=backends.clock, include_body=work.include_body)
            await outputs.prepare(backends.catalog, backends.store, work.job)
            progress = Progress(work.job, backends.clock, work.settings.fetch.concurrency)
            coordinator = Coordinator(
                work.job,
                frontier=backends.frontier,
                committer=LocalCommitter(
                    backends.frontier, backends.catalog, outputs.append, progress.count
                ),
                progress=progress,
                verbs=frontier_verbs(backends.frontier),
                socket=socket,
                clock=backends.clock,
                pulse=Pulse.of(work.settings),
            )
            await _until(stop, coordinator.run())
            outputs.close()

    run_child(main, ended_by=COORDINATOR_END)


def work_remotely(work: Assignment, socket: Path, name: str, place: str) -> None:
    """A worker's process."""

    async def main(stop: asyncio.Event) -> None:
        def pushed(verb: str) -> None:
            if verb == "pulse":
                worker.beat()
            else:
                worker.wake()

        async def greet() -> None:
            await worker.greet(channel)

        channel = Channel(socket, pushed=pushed, greet=greet)
        folder = DataFolder(work.data)
        clock = SystemClock()
        store = _store(folder, work.settings, clock, series=f"w{place}-")
        worker = _worker(
            name,
            RemoteFrontier(channel),
            RemoteCommitter(channel),
            store,
            work,
            robots=RemoteRobots(channel),
            coordinator=channel,
            place=place,
        )
        talking = asyncio.ensure_future(channel.run())
        stopping = asyncio.ensure_future(stop.wait())
        stopping.add_done_callback(lambda _task: worker.drain())
        try:
            await worker.run()
        finally:
            stopping.cancel()
            talking.cancel()
            await worker.aclose()
            await store.aclose()

    run_child(main)


@asynccontextmanager
async def reach_frontier(socket: Path) -> AsyncIterator[RemoteFrontier]:
    """The frontier of a crawl that runs in another process."""
    channel = Channel(socket)
    talking = asyncio.ensure_future(channel.run())
    try:
        yield RemoteFrontier(channel)
    finally:
        talking.cancel()


async def _until(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Run `work` until it is told to stop; its own failure is raised."""
    task = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if task.done():
        task.result()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _store(folder: DataFolder, settings: Settings, clock: Clock, series: str = "") -> SegmentStore:
    return SegmentStore(
        folder.segments,
        clock=clock,
        software=f"{PRODUCT}/{VERSION}",
        segment_bytes=settings.store.segment_bytes,
        series=series,
    )


def _resolver(guard: AddressGuard, work: Assignment, clock: Clock) -> Resolver:
    dns = work.settings.dns
    return Resolver(
        CaresLookup(servers=dns.servers, timeout_s=dns.timeout_s, family=dns.family),
        NameCache(guard, max_ttl_s=dns.max_ttl_s, negative_ttl_s=dns.negative_ttl_s),
        clock=clock,
        timeout_s=dns.timeout_s,
        overrides=overrides_of(work.resolve),
    )


def _exits(work: Assignment, clock: Clock) -> Exits | None:
    """The way out through proxies, whose hosts may be anywhere; None: there are none."""
    if not work.proxies:
        return None
    settings, dns = work.settings.proxy, work.settings.dns
    rests = ProxyRests(
        max_failures=settings.max_failures, rest_s=settings.rest_s, max_rest_s=settings.max_rest_s
    )
    guard = AddressGuard(allow_hosts={proxy.host for proxy in work.proxies})
    return Exits(
        ProxyPool(work.proxies, rests),
        Resolver(
            CaresLookup(servers=dns.servers, timeout_s=dns.timeout_s, family=dns.family),
            NameCache(guard, max_ttl_s=dns.max_ttl_s, negative_ttl_s=dns.negative_ttl_s),
            clock=clock,
            timeout_s=dns.timeout_s,
        ),
        clock,
        resolves_names=settings.resolves_names,
    )


def _worker(
    name: str,
    frontier: Frontier,
    committer: Committer,
    store: Store,
    work: Assignment,
    *,
    robots: SharedRobots | None = None,
    coordinator: Channel | None = None,
    place: str | None = None,
) -> Worker:
    """A worker that fetches with libcurl; one with a coordinator may be cut off from it."""
    settings, clock = work.settings, SystemClock()
    guard = AddressGuard(
        allow_networks=parse_networks(settings.security.allow_networks, "security.allow_networks"),
        allow_hosts=work.hosts,
        allow_addresses=[a for addresses in work.resolve.values() for a in addresses],
    )
    options = CurlOptions(
        connect_timeout_s=settings.fetch.connect_timeout_s,
        max_header_bytes=settings.fetch.max_header_bytes,
        min_rate_bytes_s=settings.fetch.min_rate_bytes_s,
        min_rate_window_s=settings.fetch.min_rate_window_s,
        http2=settings.fetch.http2,
        ca_file=settings.fetch.ca_file.strip() or None,
    )
    log = FetchLog(
        work.data / LOG_FOLDER,
        f"worker-{place or 1}",
        clock=clock,
        agent=settings.robots.user_agent_token,
        max_crawl_delay_s=settings.robots.max_crawl_delay_s,
        call_later=asyncio.get_running_loop().call_later,
    )
    hooks = Hooks([log])
    exits = _exits(work, clock)
    fetcher = CurlFetcher(guard, _resolver(guard, work, clock), options, clock, exits=exits)
    return Worker(
        name,
        frontier=frontier,
        fetcher=fetcher,
        robots=RobotsCache(name, fetcher, settings.robots, clock=clock, hooks=hooks, shared=robots),
        committer=committer,
        store=store,
        clock=clock,
        settings=settings,
        hooks=hooks,
        gauges=PressureGauges(settings.degrade, work.data, workers=work.workers),
        keeps_body=work.include_body,
        pulse=Pulse.of(settings),
        coordinator=coordinator,
    )
