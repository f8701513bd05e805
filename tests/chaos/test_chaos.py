"""`skitter chaos` as a user runs it. The seeds are fixed: what fails once fails again.

The small runs are for every day. The full ones have the sizes of the promise: 50 domains, a
second between two requests, leases of three seconds; `make chaos` runs them.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.crawls import SKITTER, environment

from skitter.bench.sites import sim_site

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

#: On a busy machine the origin may read a request late, and the next one on time.
SMALL = (
    *("--hosts", "6", "--pages", "10", "--delay", "0.25", "--tolerance-ms", "100"),
    *("--duration", "3", "--every", "0.4", "0.8", "--lease", "2"),
)
FULL = ("--hosts", "50", "--delay", "1", "--duration", "30", "--every", "2", "5")
SCENARIOS = ("kill-workers", "kill-coordinator", "kill-all", "freeze", "scale", "term")
#: Those that a seed says little about are tried with few.
SEEDS = {"kill-workers": 20, "freeze": 20, "scale": 20}

needs_faketime = pytest.mark.needs("faketime", package="faketime")


def chaos(folder: Path, *arguments: str) -> dict[str, Any]:
    """Run it; the folder keeps what is needed to find out why it failed."""
    command = [SKITTER, "chaos", "--json", "--keep", str(folder / "kept"), *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    # A worker that stood still also lets go of what it was granted meanwhile; which leases
    # those were is not always known, so its repeated requests cannot be held against it.
    frozen = "freeze" in arguments
    findings = [f for f in report["findings"] if not (frozen and "asked for" in f["what"])]
    assert findings == [], done.stderr
    assert done.returncode == 0 or frozen
    assert report["records"] == report["expected"]
    assert report["faults"], done.stderr
    return report


@pytest.mark.alone
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_small_crawl_survives(scenario: str, tmp_path: Path) -> None:
    chaos(tmp_path, "--scenario", scenario, "--seed", "1", *SMALL)


@pytest.mark.alone
@needs_faketime
def test_a_small_crawl_does_not_look_at_the_wall_clock(tmp_path: Path) -> None:
    chaos(tmp_path, "--scenario", "clock", "--seed", "1", *SMALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "seed"),
    [(name, seed) for name in SCENARIOS for seed in range(1, SEEDS.get(name, 3) + 1)],
)
def test_a_large_crawl_survives(scenario: str, seed: int, tmp_path: Path) -> None:
    chaos(tmp_path, "--scenario", scenario, "--seed", str(seed), *FULL)


@pytest.mark.slow
@needs_faketime
@pytest.mark.parametrize("seed", range(1, 4))
def test_a_large_crawl_does_not_look_at_the_wall_clock(seed: int, tmp_path: Path) -> None:
    chaos(tmp_path, "--scenario", "clock", "--seed", str(seed), *FULL)


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
