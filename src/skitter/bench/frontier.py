"""What the embedded frontier costs: per known URL, per domain, and per item of work.

`python -m skitter.bench.frontier 1000000 1000` prints the figures of `docs/explain/scale.md`.
Memory is measured in processes of its own, one that adds and is killed (`kill -9`), and one
that opens what the first one left.
"""

import asyncio
import gc
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from skitter.clock import SystemClock
from skitter.frontier.base import AddResult
from skitter.frontier.sqlite import SqliteFrontier
from skitter.models import JobSpec, Request, Transfer
from skitter.politeness.backoff import BackoffPolicy
from skitter.politeness.rates import Rate
from skitter.urls.fingerprint import fingerprint

__all__ = ["Added", "FrontierFigures", "Opened", "measure_frontier"]

_MODULE = "skitter.bench.frontier"
_BATCH_URLS = 1_000
_LEASES = 2_000
_SPEC = JobSpec(seeds=("http://d0.test/",))
#: Everything is due at once: what is measured is the frontier, not its manners.
_FREE = Rate(window_s=0.0, concurrency=1_000_000)
_CLOCK = SystemClock()

Figures = TypeVar("Figures")


class Added(Struct, frozen=True, kw_only=True):
    """Adding the URLs to an empty frontier."""

    add_s: float
    add_cpu_s: float
    memory_bytes_per_url: float
    file_bytes_per_url: float


class Opened(Struct, frozen=True, kw_only=True):
    """Opening the frontier that a killed process left behind."""

    open_s: float
    open_cpu_s: float
    #: Until the first link of the old job is accepted: what it has seen is read first.
    seen_s: float
    seen_cpu_s: float
    #: The longest that a heartbeat waited meanwhile.
    beat_s: float
    memory_bytes_per_url: float
    lease_p50_s: float
    lease_p99_s: float
    #: From the request for a new job on a new domain until its first page is leased.
    new_job_s: float


class FrontierFigures(Struct, frozen=True, kw_only=True):
    """One size."""

    urls: int
    domains: int
    added: Added
    opened: Opened


def measure_frontier(urls: int, domains: int, folder: Path) -> FrontierFigures:
    """Add `urls` spread over `domains`, kill the process, open the folder again."""
    return FrontierFigures(
        urls=urls,
        domains=domains,
        added=_in_process("add", urls, domains, folder, Added),
        opened=_in_process("open", urls, domains, folder, Opened),
    )


def _in_process(step: str, urls: int, domains: int, folder: Path, kind: type[Figures]) -> Figures:
    command = [sys.executable, "-m", _MODULE, step, str(urls), str(domains), str(folder)]
    child = subprocess.Popen(  # noqa: S603 - this very module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with child:
        line = child.stdout.readline() if child.stdout else b""
        # It waits with everything open, as a process does that is struck in its work.
        child.kill()
    return msgspec.json.decode(line, type=kind)


async def _add(urls: int, domains: int, folder: Path) -> Added:
    frontier = _open(folder)
    await frontier.open_job("old", "old", _SPEC, max_pages=None)
    before, began_s, cpu_s = _memory_bytes(), _CLOCK.monotonic(), 0.0
    for batch in _batches(urls, domains):
        since_s = _cpu_s()
        await frontier.add("old", batch)
        cpu_s += _cpu_s() - since_s
    return Added(
        add_s=_CLOCK.monotonic() - began_s,
        add_cpu_s=cpu_s,
        memory_bytes_per_url=(_memory_bytes() - before) / urls,
        file_bytes_per_url=_file_bytes(folder) / urls,
    )


async def _reopen(urls: int, folder: Path) -> Opened:
    before, began_s, cpu_s = _memory_bytes(), _CLOCK.monotonic(), _cpu_s()
    frontier = _open(folder)
    opened_s, open_cpu_s = _CLOCK.monotonic(), _cpu_s() - cpu_s
    adding = asyncio.ensure_future(frontier.add("old", [_request("d0.test", "one-more")]))
    beat_s = await _longest_beat_s(frontier, adding)
    seen_s, seen_cpu_s = _CLOCK.monotonic() - opened_s, _cpu_s() - cpu_s - open_cpu_s
    new_job_s = await _new_job_s(frontier)
    waits_s = sorted([await _lease_s(frontier) for _ in range(_LEASES)])
    gc.collect()
    return Opened(
        open_s=opened_s - began_s,
        open_cpu_s=open_cpu_s,
        seen_s=seen_s,
        seen_cpu_s=seen_cpu_s,
        beat_s=beat_s,
        memory_bytes_per_url=(_memory_bytes() - before) / urls,
        lease_p50_s=waits_s[_LEASES // 2],
        lease_p99_s=waits_s[_LEASES * 99 // 100],
        new_job_s=new_job_s,
    )


async def _longest_beat_s(frontier: SqliteFrontier, busy: asyncio.Future[AddResult]) -> float:
    longest_s = 0.0
    while not busy.done():
        began_s = _CLOCK.monotonic()
        await asyncio.sleep(0)
        await frontier.extend("other")
        longest_s = max(longest_s, _CLOCK.monotonic() - began_s)
    await busy
    return longest_s


async def _new_job_s(frontier: SqliteFrontier) -> float:
    began_s = _CLOCK.monotonic()
    await frontier.open_job("new", "new", _SPEC, max_pages=None)
    await frontier.add("new", [_request("new.test", "")])
    while True:
        leases = (await frontier.lease("worker", 1)).leases
        if any(lease.job == "new" for lease in leases):
            return _CLOCK.monotonic() - began_s


async def _lease_s(frontier: SqliteFrontier) -> float:
    began_s = _CLOCK.monotonic()
    leases = (await frontier.lease("worker", 1)).leases
    took_s = _CLOCK.monotonic() - began_s
    await frontier.fetched("worker", {lease.token: Transfer(age_s=0.0) for lease in leases})
    return took_s


def _open(folder: Path) -> SqliteFrontier:
    path = folder / "frontier.sqlite"
    return SqliteFrontier(path, clock=_CLOCK, default_rate=_FREE, backoff=BackoffPolicy())


def _batches(urls: int, domains: int) -> Iterator[list[Request]]:
    for start in range(0, urls, _BATCH_URLS):
        numbers = range(start, min(urls, start + _BATCH_URLS))
        yield [_request(f"d{n % domains}.test", f"section/{n // 1000}/{n}.html") for n in numbers]


def _request(domain: str, path: str) -> Request:
    url = f"http://{domain}/{path}"
    return Request(
        url=url,
        fingerprint=fingerprint(url),
        domain=domain,
        depth=2,
        priority=-20,
        parent=f"http://{domain}/",
    )


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _file_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _memory_bytes() -> int:
    """Resident at this moment (Linux)."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _main(arguments: list[str]) -> None:
    match arguments:
        case ["add" | "open" as step, urls, domains, folder]:
            step_of = (
                _add(int(urls), int(domains), Path(folder))
                if step == "add"
                else _reopen(int(urls), Path(folder))
            )
            sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(step_of)) + b"\n")
            sys.stdout.flush()
            sys.stdin.buffer.read()
        case [urls, domains]:
            with tempfile.TemporaryDirectory() as folder:
                figures = measure_frontier(int(urls), int(domains), Path(folder))
            encoded = msgspec.json.format(msgspec.json.encode(figures), indent=2)
            sys.stdout.buffer.write(encoded + b"\n")
        case _:
            sys.exit("usage: python -m skitter.bench.frontier URLS DOMAINS")


if __name__ == "__main__":
    _main(sys.argv[1:])
