"""How fast the simulated web is: its own CPU per request, asked by a client in another process."""

import asyncio
import multiprocessing
import os
import sys
from http import HTTPStatus
from multiprocessing.synchronize import Event

import pycurl
from msgspec import Struct
from msgspec.structs import replace

from skitter.clock import SystemClock
from skitter.errors import BackendError
from skitter.sim.options import SimOptions
from skitter.sim.server import SimServer
from skitter.sim.truth import Crawl, truth

__all__ = ["BenchResult", "bench"]

_CONNECTIONS = 32


class BenchResult(Struct, frozen=True, kw_only=True):
    """`requests_per_core_s` is what one core of server could do with clients fast enough."""

    requests: int
    seconds: float
    server_cpu_seconds: float
    requests_per_second: float
    requests_per_core_s: float


def bench(options: SimOptions, *, rounds: int = 1) -> BenchResult:
    """Ask for every page that ends well; from the second round on they are in the cache."""
    steady = replace(options, flaky_rate=0.0, throttle_rate=0.0)
    return asyncio.run(_bench(steady, rounds))


async def _bench(options: SimOptions, rounds: int) -> BenchResult:
    async with SimServer(options, keep_log=False) as server:
        crawl = Crawl(depth=sys.maxsize if not options.trap_fanout else 20)
        urls = [page.url for page in truth(server.web, crawl) if page.status_code == HTTPStatus.OK]
        context = multiprocessing.get_context("spawn")
        ready, go = context.Event(), context.Event()
        client = context.Process(target=_client, args=(urls * rounds, server.resolve, ready, go))
        client.start()
        await asyncio.to_thread(ready.wait)
        clock = SystemClock()
        began_s, cpu_s = clock.monotonic(), _cpu_s()
        go.set()
        await asyncio.to_thread(client.join)
        seconds, cpu_seconds = clock.monotonic() - began_s, _cpu_s() - cpu_s
    if client.exitcode:
        message = f"the bench client ended with curl's error {client.exitcode}"
        raise BackendError(message)
    count = len(urls) * rounds
    return BenchResult(
        requests=count,
        seconds=seconds,
        server_cpu_seconds=cpu_seconds,
        requests_per_second=count / seconds,
        requests_per_core_s=count / max(cpu_seconds, 1e-9),
    )


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system


def _client(urls: list[str], resolve: str, ready: Event, go: Event) -> None:
    multi = pycurl.CurlMulti()
    idle = [_handle(resolve) for _ in range(_CONNECTIONS)]
    waiting = iter(urls)
    left = len(urls)
    ready.set()
    go.wait()
    while left:
        while idle and (url := next(waiting, None)):
            handle = idle.pop()
            handle.setopt(pycurl.URL, url)
            multi.add_handle(handle)
        multi.perform()
        _, done, failed = multi.info_read()
        if failed:
            raise SystemExit(failed[0][2])
        for handle in done:
            multi.remove_handle(handle)
            idle.append(handle)
            left -= 1
        if not done:
            multi.select(0.01)


def _handle(resolve: str) -> pycurl.Curl:
    handle = pycurl.Curl()
    handle.setopt(pycurl.CONNECT_TO, [f"::{resolve[2:].partition(':')[2]}:"])
    handle.setopt(pycurl.WRITEFUNCTION, len)
    return handle
