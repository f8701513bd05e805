"""How much memory a crawl took, looked at from the site that it crawls."""

import asyncio
import re
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

from support.crawls import Finished, finish, start_crawl
from support.origin import Asked, Reply, origin, page

_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)


def peak_bytes(pid: int) -> int:
    """The most memory a process has had so far."""
    found = _PEAK.search(Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) * 1024


class Probe:
    """Two pages of a site, asked for before and after the others; both note the peak."""

    def __init__(self) -> None:
        self.peaks: list[int] = []
        self._started = threading.Event()
        self._pid = 0

    def watch(self, process: subprocess.Popen[str]) -> None:
        self._pid = process.pid
        self._started.set()

    async def __call__(self, _asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.to_thread(self._started.wait)
        self.peaks.append(peak_bytes(self._pid))
        writer.write(page())
        await writer.drain()


def crawl_measured(
    folder: Path,
    routes: Mapping[str, Reply],
    *arguments: str,
    address: str,
    env: Mapping[str, str],
) -> tuple[Finished, int]:
    """Crawl these pages one after the other; what they added to the peak of the one process."""
    probe = Probe()
    site = {"/": page("/before", *routes, "/after"), "/before": probe, "/after": probe, **routes}
    with origin(site, address) as server:
        process = start_crawl(
            folder, f"{server.url}/", *arguments, "--workers", "1", "--json", env=env
        )
        probe.watch(process)
        done = finish(process)
    before, after = probe.peaks
    return done, after - before
