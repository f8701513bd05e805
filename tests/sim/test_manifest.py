"""A crawl of the simulated web finds what is there, all of it and nothing else."""

from pathlib import Path

import pytest
from support.crawls import AT_FULL_SPEED, QUICK_RETRIES, Finished, run_crawl
from support.records import Record, differences, read_catalog, read_jsonl, twice
from support.simulation import Simulation, simulated_web

pytestmark = [pytest.mark.sim, pytest.mark.e2e]

SMALL = ("--hosts", "4", "--pages", "80", "--everything")


def crawl(sim: Simulation, folder: Path, *arguments: str, quick: bool = True) -> Finished:
    done = run_crawl(
        folder,
        *sim.crawl_arguments,
        *AT_FULL_SPEED,
        *("--data", "data", "-o", "out.jsonl", "--json"),
        *arguments,
        stdin=sim.stdin,
        env=QUICK_RETRIES if quick else {},
    )
    assert done.code == 0, done.err
    return done


def check(sim: Simulation, folder: Path, done: Finished) -> list[Record]:
    """The catalog is the manifest; the summary counts it; the file has what has a line."""
    records = read_catalog(folder / "data")
    assert twice(record["id"] for record in records) == []
    assert differences(sim.truth(), records) == []
    summary = done.summary
    assert summary["state"] == "finished"
    parts = summary["pages"] + summary["failed"] + summary["redirected"]
    assert summary["accepted"] == len(records) == parts + sum(summary["dropped"].values())
    lined = [record for record in records if record["outcome"] in {"done", "failed"}]
    lines = read_jsonl(folder / "out.jsonl")
    assert sorted(lines, key=str) == sorted(lined, key=str)
    return records


@pytest.mark.parametrize("seed", [1, 2])
def test_a_web_that_does_everything_wrong_is_recorded_as_it_is(tmp_path: Path, seed: int) -> None:
    with simulated_web(tmp_path, *SMALL, "--seed", str(seed)) as sim:
        done = crawl(sim, tmp_path, "--sitemaps")
        records = check(sim, tmp_path, done)
    outcomes = {record["outcome"] for record in records}
    assert outcomes == {"done", "failed", "redirected", "dropped"}


def test_traps_end_at_the_depth_asked_for(tmp_path: Path) -> None:
    options = ("--hosts", "2", "--pages", "40", "--traps", "2", "--depth", "6")
    with simulated_web(tmp_path, *options) as sim:
        records = check(sim, tmp_path, crawl(sim, tmp_path, "--depth", "6"))
    assert max(record["depth"] for record in records) == 6
    assert all(record["links"] == [] for record in records if record["depth"] == 6)


def test_without_sitemaps_and_robots(tmp_path: Path) -> None:
    options = ("--hosts", "2", "--pages", "60", "--robots-rate", "0.2", "--ignore-robots")
    with simulated_web(tmp_path, *options, "--redirect-rate", "0.2") as sim:
        check(sim, tmp_path, crawl(sim, tmp_path, "--robots", "ignore"))
        asked = [access.path for access in sim.log()]
    assert "/robots.txt" not in asked
    assert any(path.startswith("/private/") for path in asked)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(3, 11))
def test_larger_webs_with_the_ladder_as_it_is(tmp_path: Path, seed: int) -> None:
    size = ("--hosts", "10", "--pages", "200", "--everything", "--seed", str(seed))
    with simulated_web(tmp_path, *size) as sim:
        check(sim, tmp_path, crawl(sim, tmp_path, "--sitemaps", quick=False))
