"""A worker that stood still while others took over its leases, and then goes on (R6)."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.records import differences, read_catalog, read_jsonl, twice
from support.simulation import Simulation, simulated_web

from skitter.chaos.crawl import Crawl, CrawlOptions
from skitter.chaos.freezing import Freezer
from skitter.chaos.processes import ask_workers, open_child
from skitter.chaos.target import Target
from skitter.chaos.witness import unfenced
from skitter.clock import SystemClock

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

LEASE_S = 2.0
#: Slow enough to have results in hand at any moment.
WEB = ("--hosts", "20", "--pages", "40", "--latency-ms", "50", "--redirect-rate", "0.1")
#: Results are handed in once a second, so that a worker has some that nobody has heard of.
SETTINGS = "[store]\nsync_interval_s = 1.0\n"


def crawl_of(sim: Simulation, folder: Path) -> Crawl:
    seeds = folder / "seeds.txt"
    seeds.write_text(sim.stdin)
    arguments = (f"@{seeds}", "--resolve", sim.resolve, "--concurrency", "4")
    options = CrawlOptions(workers=2, delay_s=0, lease_s=LEASE_S)
    target = Target(title="", crawl_arguments=arguments)
    crawl = Crawl(target, options, folder / "crawl")
    (crawl.folder / "skitter.toml").write_text(SETTINGS)
    return crawl


def wait_until(crawl: Crawl, happened: Callable[[], bool]) -> None:
    while not happened():
        assert not crawl.wait(0.02), crawl.last_words()


def test_late_results_are_refused_and_their_pages_fetched_by_others(tmp_path: Path) -> None:
    with simulated_web(tmp_path, *WEB) as sim:
        crawl = crawl_of(sim, tmp_path)
        crawl.start()
        try:
            # More than can be in flight: some have been fetched and not been handed in.
            wait_until(crawl, lambda: any(len(w.leases) > 6 for w in ask_workers(crawl.data)))
            victim = max(ask_workers(crawl.data), key=lambda worker: len(worker.leases))
            handle = open_child(crawl.pid, victim.pid or 0)
            assert handle is not None
            freezer = Freezer(crawl, SystemClock(), 3 * LEASE_S)
            frozen = freezer.freeze(f"worker-{victim.id}.1", handle)
            began_s = time.monotonic()
            wait_until(crawl, lambda: crawl.wait(0.1) or time.monotonic() > began_s + 60)
        finally:
            crawl.close()
        assert crawl.poll() == 0, crawl.last_words()
        assert frozen is not None
        # It did hand in results of leases that had ended: not one counted.
        assert frozen.refused > 0
        assert len(frozen.stale) >= frozen.refused
        truth = sim.truth()
        assert unfenced(sim.log(), truth, [frozen]) == []
        records = read_catalog(crawl.data)
        assert differences(truth, records) == []
        assert twice(record["id"] for record in records) == []
        assert twice(record["id"] for record in read_jsonl(crawl.output)) == []
