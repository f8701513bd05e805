"""`skitter chaos` as a user runs it. The seeds are fixed: what fails once fails again.

The small runs are for every day. The full ones have the sizes of the promise: 50 domains, a
second between two requests, leases of three seconds; `make chaos` runs them. Which promise is tried
by which scenario: R1 and R2 kill-workers, R3 kill-coordinator, R4 kill-all, R6 freeze, R7 scale,
R13 term, R15 clock. A long queue and a worker's late results have tests of their own.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.crawls import SKITTER, environment

from skitter.bench.sites import sim_site

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

SMALL = (
    *("--hosts", "6", "--pages", "10", "--delay", "0.25"),
    *("--duration", "3", "--every", "0.4", "0.8", "--lease", "2"),
)
FULL = ("--hosts", "50", "--delay", "1", "--lease", "3", "--every", "2", "5")
SCENARIOS = ("kill-workers", "kill-coordinator", "kill-all", "freeze", "scale", "term")
#: Those that a seed says little about are tried with few.
SEEDS = {"kill-workers": 20, "freeze": 20, "scale": 20}
#: Seconds of faults; a kill of a worker is to be met by thousands of pages.
DURATIONS = {"kill-workers": "60", "scale": "45"}

needs_faketime = pytest.mark.needs("faketime", package="faketime")


def chaos(folder: Path, *arguments: str) -> dict[str, Any]:
    """Run it; the folder keeps what is needed to find out why it failed."""
    command = [SKITTER, "chaos", "--json", "--keep", str(folder / "kept"), *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["findings"] == [], done.stderr
    assert done.returncode == 0
    assert report["records"] == report["expected"]
    assert report["faults"], done.stderr
    return report


@pytest.mark.alone
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_small_crawl_survives(scenario: str, tmp_path: Path) -> None:
    chaos(tmp_path, "--scenario", scenario, "--seed", "1", *SMALL)


@pytest.mark.alone
@needs_faketime
def test_a_small_crawl_does_not_mind_a_wall_clock_that_jumps(tmp_path: Path) -> None:
    chaos(tmp_path, "--scenario", "clock", "--seed", "1", *SMALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "seed"),
    [(name, seed) for name in SCENARIOS for seed in range(1, SEEDS.get(name, 3) + 1)],
)
def test_a_large_crawl_survives(scenario: str, seed: int, tmp_path: Path) -> None:
    duration = DURATIONS.get(scenario, "30")
    chaos(tmp_path, "--scenario", scenario, "--seed", str(seed), "--duration", duration, *FULL)


@pytest.mark.slow
@needs_faketime
@pytest.mark.parametrize("seed", range(1, 4))
def test_a_large_crawl_does_not_mind_a_wall_clock_that_jumps(seed: int, tmp_path: Path) -> None:
    chaos(tmp_path, "--scenario", "clock", "--seed", str(seed), "--duration", "30", *FULL)


def test_a_site_of_the_users_is_compared_with_an_undisturbed_crawl(tmp_path: Path) -> None:
    with sim_site(20) as site:
        quick = ("--delay", "0.1", "--duration", "2", "--every", "0.5", "1", "--lease", "1.5")
        report = chaos(tmp_path, "--scenario", "kill-workers", "--seed", "1", *quick, site.url)
    assert report["expected"] >= 20


def test_usage_errors_name_the_flag(tmp_path: Path) -> None:
    for wrong, flag in (
        (("--every", "3", "2"), "--every"),
        (("--hosts", "3", "http://127.0.0.1:1/"), "--hosts"),
        (("--keep", str(tmp_path)), "--keep"),
    ):
        done = subprocess.run(
            [SKITTER, "chaos", *wrong],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert flag in done.stderr
        assert done.stdout == ""
