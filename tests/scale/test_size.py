"""The price of a known URL, measured from outside: a process that adds, one that opens."""

from pathlib import Path

import pytest

from skitter.bench.frontier import FrontierFigures, measure_frontier
from skitter.bench.overhead import measure_overhead

MAX_BYTES_PER_URL = 150
MAX_OPEN_S = 10.0


def within_limits(figures: FrontierFigures) -> bool:
    added, opened = figures.added, figures.opened
    return max(added.memory_bytes_per_url, opened.memory_bytes_per_url) <= MAX_BYTES_PER_URL


def test_a_killed_process_leaves_a_frontier_that_opens(tmp_path: Path) -> None:
    figures = measure_frontier(20_000, 500, tmp_path)
    assert (figures.urls, figures.domains) == (20_000, 500)
    # What is constant (page cache, entries at hand) shows at this size, and is bounded.
    assert figures.added.memory_bytes_per_url * figures.urls < 64 * 1024 * 1024
    assert figures.opened.memory_bytes_per_url * figures.urls < 64 * 1024 * 1024


def test_every_item_of_the_overhead_run_is_done_once() -> None:
    assert measure_overhead(workers=5, item_s=0.001, items=100).items == 100


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(900)
@pytest.mark.parametrize("domains", [1, 1_000, 100_000])
def test_a_million_urls(tmp_path: Path, domains: int) -> None:
    figures = measure_frontier(1_000_000, domains, tmp_path)
    assert within_limits(figures), figures
    # Not a race but a promise: this long a killed coordinator may be away.
    assert figures.opened.open_s + figures.opened.seen_s < MAX_OPEN_S
    assert figures.opened.new_job_s < 1.0
    assert figures.opened.beat_s < 1.0


@pytest.mark.slow
@pytest.mark.alone
def test_coordination_costs_less_than_a_hundredth_of_the_work() -> None:
    figures = measure_overhead()
    assert figures.items == 5_000
    assert max(figures.cpu_share, figures.wait_share) < 0.01
