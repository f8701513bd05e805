"""`kill -9` of everything at once with a long queue: nothing lost, and soon back (R4).

Nobody crawls a million pages here. What counts is what a user has seen: a line in the output file
was acknowledged, and with it the links it names.
"""

import asyncio
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from signal import SIGKILL, SIGTERM

import msgspec
import pytest
from msgspec import Struct
from support.crawls import SKITTER, environment
from support.simulation import Simulation, simulated_web

from skitter.chaos.crawl import Crawl, CrawlOptions
from skitter.chaos.processes import children, open_child
from skitter.chaos.target import Target
from skitter.frontier.inspect import FrontierRows
from skitter.urls.fingerprint import fingerprint

pytestmark = pytest.mark.e2e

BACK_S = 60.0


class Link(Struct, frozen=True):
    url: str


class Line(Struct, frozen=True):
    """What is needed of a line of the output file."""

    id: str
    url: str
    links: list[Link]


def crawl_of(sim: Simulation, folder: Path, delay_s: float) -> Crawl:
    seeds = folder / "seeds.txt"
    seeds.write_text(sim.stdin)
    arguments = (f"@{seeds}", "--resolve", sim.resolve)
    options = CrawlOptions(workers=2, delay_s=delay_s, lease_s=30.0)
    return Crawl(Target(title="", crawl_arguments=arguments), options, folder / "crawl")


def accepted(crawl: Crawl) -> int:
    """How many URLs are known."""
    path = crawl.data / "frontier.sqlite"
    if not path.exists() or not crawl.output.exists():
        return 0
    rows = FrontierRows(path)
    try:
        return sum(job.counts.accepted for job in rows.jobs())
    finally:
        asyncio.run(rows.aclose())


def kill_all(crawl: Crawl) -> None:
    opened = [open_child(crawl.pid, pid) for pid in children(crawl.pid)]
    handles = [handle for handle in opened if handle is not None]
    crawl.signal(SIGKILL)
    for handle in handles:
        handle.signal(SIGKILL)
    for handle in handles:
        with closing(handle):
            assert handle.wait_ended(10)
    assert crawl.wait(10)


def acknowledged(crawl: Crawl) -> Iterator[Line]:
    """Whole lines of the output file."""
    decode = msgspec.json.Decoder(Line).decode
    with crawl.output.open("rb") as lines:
        yield from (decode(line) for line in lines if line.endswith(b"\n"))


def known(crawl: Crawl) -> set[int]:
    """The fingerprints of the frontier."""
    rows = FrontierRows(crawl.data / "frontier.sqlite")
    try:
        return {key for job in rows.jobs() for key in rows.fingerprints(job.name)}
    finally:
        asyncio.run(rows.aclose())


def wait_for_request(crawl: Crawl, sim: Simulation) -> float:
    """Start the same command again; returns how long it took to ask for something."""
    asked = sim.asked()
    began_s = time.monotonic()
    crawl.start()
    while sim.asked() == asked:
        assert not crawl.wait(0.05), crawl.last_words()
        assert time.monotonic() < began_s + 2 * BACK_S
    return time.monotonic() - began_s


def check_kill_of_everything(folder: Path, urls: int, web: tuple[str, ...], delay_s: float) -> None:
    with simulated_web(folder, *web, manifest=False) as sim:
        crawl = crawl_of(sim, folder, delay_s)
        crawl.start()
        try:
            while accepted(crawl) < urls:
                assert not crawl.wait(0.5), crawl.last_words()
            kill_all(crawl)
            before = accepted(crawl)
            lines = list(acknowledged(crawl))
            back_s = wait_for_request(crawl, sim)
            crawl.signal(SIGTERM)
            assert crawl.wait(BACK_S)
        finally:
            crawl.close()
    assert crawl.poll() == 3, crawl.last_words()
    assert accepted(crawl) >= before >= urls
    there = known(crawl)
    pages = {fingerprint(line.url) for line in lines}
    links = {fingerprint(link.url) for line in lines for link in line.links}
    assert len(links) > urls / 2
    assert (pages | links) - there == set()
    assert {line.id for line in lines} <= {line.id for line in acknowledged(crawl)}
    audit = [SKITTER, "audit", "--data", str(crawl.data), "--tolerance-ms", "100"]
    done = subprocess.run(audit, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    # Not a race but a promise: this long a killed crawl may be away.
    assert back_s <= BACK_S


def test_twenty_thousand_urls(tmp_path: Path) -> None:
    web = ("--hosts", "10", "--pages", "2500", "--fanout", "500", "--links", "0")
    check_kill_of_everything(tmp_path, 20_000, web, delay_s=0.1)


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(900)
def test_a_million_urls(tmp_path: Path) -> None:
    web = ("--hosts", "100", "--pages", "11000", "--fanout", "1000", "--links", "0")
    check_kill_of_everything(tmp_path, 1_000_000, web, delay_s=0.5)
