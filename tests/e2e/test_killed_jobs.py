"""What `skitter jobs` says of a crawl that was killed."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.crawls import SKITTER, environment, kill, run_crawl, start_crawl, wait_until
from support.simulation import Simulation, simulated_web

pytestmark = [pytest.mark.e2e, pytest.mark.sim]


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[Simulation]:
    with simulated_web(tmp_path, "--hosts", "2", "--pages", "40", "--latency-ms", "30") as running:
        yield running


def jobs(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [SKITTER, "jobs", *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def states(folder: Path) -> dict[str, tuple[str, bool]]:
    rows: list[dict[str, Any]] = json.loads(jobs(folder, "list", "--json"))
    return {row["job"]: (row["state"], row["interrupted"]) for row in rows}


def test_a_killed_crawl_is_interrupted_and_a_living_one_runs(
    sim: Simulation, tmp_path: Path
) -> None:
    flags = ("--resolve", sim.resolve, "--delay", "0")
    slowly = ("--resolve", sim.resolve, "--delay", "0.5")
    process = start_crawl(tmp_path, sim.seeds[0], *slowly, "--job", "first")
    assert wait_until(process, lambda: sim.asked() >= 5)
    assert states(tmp_path) == {"first": ("running", False)}
    assert kill(process)
    assert states(tmp_path) == {"first": ("paused", True)}
    assert "interrupted" in jobs(tmp_path, "list")
    assert "interrupted" in jobs(tmp_path, "show", "first")
    # Whoever crawls another job into the same folder crawls that one alone.
    asked = run_crawl(tmp_path, sim.seeds[1], *flags, "--job", "second", "--json").summary
    assert asked["pages"] == 40
    assert states(tmp_path) == {"first": ("paused", False), "second": ("finished", False)}
    ended = run_crawl(tmp_path, sim.seeds[0], *flags, "--job", "first", "--json").summary
    assert (ended["state"], ended["pages"], ended["success_rate"]) == ("finished", 40, 1.0)


def test_bytes_are_told_in_units_to_people_and_in_full_to_scripts(
    sim: Simulation, tmp_path: Path
) -> None:
    flags = ("--resolve", sim.resolve, "--delay", "0", "--max-pages", "3", "--json")
    summary = run_crawl(tmp_path, sim.seeds[0], *flags).summary
    shown = json.loads(jobs(tmp_path, "show", "--json"))
    assert (shown["bytes"], shown["dropped"]) == (summary["bytes"], summary["dropped"])
    assert f"bytes       {summary['bytes'] / 1000:.1f} KB" in jobs(tmp_path, "show")
