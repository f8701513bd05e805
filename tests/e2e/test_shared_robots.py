"""robots.txt is fetched once for a host, however many workers want it."""

from collections import Counter
from pathlib import Path

import pytest
from support.crawls import AT_FULL_SPEED, run_crawl
from support.simulation import simulated_web

from skitter.engine.logbook import LOG_FOLDER, LogReader, RobotsRead

pytestmark = pytest.mark.e2e

WORKERS = 4


def readers(data: Path) -> dict[str, set[str]]:
    """For each host, the workers that went by its robots.txt."""
    log = LogReader(data / LOG_FOLDER)
    found: dict[str, set[str]] = {}
    for place, line in log:
        if isinstance(line, RobotsRead):
            found.setdefault(line.domain, set()).add(log.runs[place.run].worker)
    return found


def test_once_per_host(tmp_path: Path) -> None:
    # One long way in: all workers come to the same hosts at the same time.
    web = ("--hosts", "3", "--pages", "80", "--latency-ms", "30", "--robots-rate", "0.1")
    with simulated_web(tmp_path, *web) as sim:
        arguments = (*sim.crawl_arguments, *AT_FULL_SPEED, "--workers", str(WORKERS))
        done = run_crawl(tmp_path, *arguments, "--data", "data", "--json", stdin=sim.stdin)
        assert done.code == 0, done.err
        asked = Counter(access.host for access in sim.log() if access.path == "/robots.txt")
    assert set(asked.values()) == {1}
    assert len(asked) == 3
    # It was wanted by more than the one who fetched it.
    assert all(len(workers) > 1 for workers in readers(tmp_path / "data").values())
