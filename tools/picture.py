"""Draws docs/images/live.svg: the live view of a real crawl of the simulated web, half-way.

`python tools/picture.py [FILE]`; takes about half a minute. The numbers are what was measured.
"""

import asyncio
import io
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from skitter.cli.crawl_job import CrawlJob, make_job, parse_resolve
from skitter.cli.panel import render
from skitter.config.settings import Fetch, Politeness, Settings
from skitter.engine.crawl import Crawl, open_job
from skitter.engine.hooks import Hooks
from skitter.engine.progress import Progress, Snapshot
from skitter.models import JobSpec
from skitter.sim import SimOptions, SimServer
from skitter.wiring import make_worker, open_backends

PICTURE = Path("docs/images/live.svg")
WIDTH = 100
#: Share of the known pages that are done when the picture is taken.
HALF_WAY = 0.6

WEB = SimOptions(
    hosts=20,
    pages=300,
    latency_ms=15,
    jitter_ms=60,
    error_rate=0.02,
    gone_rate=0.02,
    redirect_rate=0.05,
)
SETTINGS = Settings(fetch=Fetch(contact="docs@example.com"), politeness=Politeness(delay_s=0.1))


async def crawl_half(server: SimServer, job: CrawlJob, data: Path) -> Snapshot:
    """Crawl until half-way and look; the rest is given up."""
    resolve = parse_resolve(server.resolve)
    async with open_backends(data, SETTINGS, writing=True) as backends:
        info = await open_job(backends.frontier, job.name, job.job_id, job.spec, None)
        progress = Progress(job.name, backends.clock, SETTINGS.fetch.concurrency)
        worker = make_worker(
            backends,
            SETTINGS,
            hosts=job.hosts,
            resolve={resolve.entry: resolve.addresses},
            append=lambda _pages: [],
            hooks=Hooks([progress]),
        )
        run = Crawl(info, frontier=backends.frontier, worker=worker, clock=backends.clock)
        crawling = asyncio.create_task(run.run())
        while True:
            await asyncio.sleep(0.25)
            snapshot = await progress.snapshot(backends.frontier, worker.in_flight)
            if crawling.done() or snapshot is None:
                sys.exit("The crawl ended before it was half-way.")
            if snapshot.counts.terminal >= HALF_WAY * snapshot.counts.accepted:
                break
        run.interrupt()
        run.interrupt()
        await crawling
        await worker.aclose()
        return snapshot


def draw(job: str, snapshot: Snapshot) -> str:
    """The view as SVG, in whatever fixed-width font the reader has."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(render(job, snapshot))
    svg = console.export_svg(title=f"skitter crawl @seeds.txt --job {job} --delay 0.1")
    # Rich names fonts on somebody else's server; a picture should not call home.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in svg.splitlines()).strip() + "\n"


async def main() -> None:
    """Serve, crawl, draw."""
    target = Path(sys.argv[1]) if sys.argv[1:] else PICTURE
    with tempfile.TemporaryDirectory() as data:
        async with SimServer(WEB, keep_log=False) as server:
            job = make_job(JobSpec(seeds=tuple(server.web.seeds)), "demo")
            snapshot = await crawl_half(server, job, Path(data))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(draw(job.name, snapshot))
    print(f"{target}: {snapshot.counts.done} pages after {snapshot.seconds:.0f} s")


if __name__ == "__main__":
    asyncio.run(main())
