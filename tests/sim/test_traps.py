"""Hosts that never end cost no more than their cap, and real sites beside them are whole (R12).

What a trap cost is counted in the server's own log.
"""

from collections import Counter
from pathlib import Path

import pytest
from support.crawls import AT_FULL_SPEED, Finished, run_crawl
from support.records import differences, read_catalog
from support.simulation import Simulation, simulated_web

pytestmark = [pytest.mark.sim, pytest.mark.e2e]

#: One of each kind in `skitter.sim.mazes`.
KINDS = 7
DEEP = ("--depth", "100000")


def crawl(sim: Simulation, folder: Path, env: dict[str, str], *arguments: str) -> Finished:
    traps = [f"http://trap{n:04}.test:{sim.resolve.split(':')[1]}/" for n in range(1, KINDS + 1)]
    done = run_crawl(
        folder,
        *sim.crawl_arguments,
        *DEEP,
        *("--data", "data", "--json", "--workers", "1"),
        *arguments,
        stdin="\n".join([*sim.seeds, *traps]),
        env=env,
    )
    assert done.code == 0, done.err
    return done


def check(sim: Simulation, folder: Path, done: Finished) -> Counter[str]:
    """Real sites are as the manifest has them, nothing is lost; what each trap cost."""
    records = read_catalog(folder / "data")
    real = [record for record in records if "://site" in record["url"]]
    assert differences(sim.truth(), real) == []
    summary = done.summary
    assert summary["state"] == "finished"
    parts = summary["pages"] + summary["failed"] + summary["redirected"]
    assert summary["accepted"] == len(records) == parts + sum(summary["dropped"].values())
    return Counter(host for host, _ in sim.pages_asked() if host.startswith("trap"))


def test_a_domain_is_left_at_its_cap(tmp_path: Path) -> None:
    size = ("--hosts", "2", "--pages", "20", "--trap-hosts", str(KINDS), "--trap-links", "30")
    cap = {"SKITTER_TRAPS__DOMAIN_PAGES": "25", "SKITTER_TRAPS__BARREN_PAGES": "1000"}
    with simulated_web(tmp_path, *size, "--depth", "100000") as sim:
        done = crawl(sim, tmp_path, cap, *AT_FULL_SPEED)
        cost = check(sim, tmp_path, done)
    assert max(cost.values()) == 25
    # A tree, a calendar, links without end, filters: all of them are cut off there.
    assert sum(pages == 25 for pages in cost.values()) >= 4
    assert done.summary["dropped"]["budget"] > 0


def test_pages_that_bring_nothing_new_are_left_much_earlier(tmp_path: Path) -> None:
    size = ("--hosts", "2", "--pages", "40", "--trap-hosts", str(KINDS), "--trap-links", "100")
    barren, patterns = 5, 3
    limits = {
        "SKITTER_TRAPS__BARREN_PAGES": str(barren),
        "SKITTER_TRAPS__MAX_PATTERNS": str(patterns),
    }
    with simulated_web(tmp_path, *size, "--depth", "100000") as sim:
        # Spaced, so that few pages are under way while one is weighed.
        done = crawl(sim, tmp_path, limits, "--delay", "0.02")
        cost = check(sim, tmp_path, done)
    # All accounts empty, a text for each month, and what was fetched until the last was counted.
    assert max(cost.values()) <= (2 * patterns + 1) * barren + 12 + 40
    assert done.summary["dropped"]["budget"] > 0
    # Session ids: its rooms, each once, however it is linked. And rings of redirects end.
    assert cost["trap0003.test"] == 13
    assert cost["trap0007.test"] <= 1 + 2 + 2 * 12


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_traps_of_full_size_beside_ten_sites(tmp_path: Path) -> None:
    size = ("--hosts", "10", "--pages", "300", "--trap-hosts", str(KINDS))
    with simulated_web(tmp_path, *size, "--depth", "100000") as sim:
        cost = check(sim, tmp_path, crawl(sim, tmp_path, {}, "--delay", "0.01"))
    # As the settings are: 64 barren pages for each of 32 patterns, 32 folders, and the rest.
    assert max(cost.values()) <= (2 * 32 + 1) * 64 + 12 + 100
