"""`skitter bench` with every contestant, on a site of a few pages. Figures are not judged."""

import json
import subprocess
from pathlib import Path

import pytest
from support.crawls import SKITTER, environment

from skitter.bench.sites import sim_site

PAGES = 30

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SKITTER, "bench", "--rounds", "1", *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_contestant_crawls_the_whole_site(tmp_path: Path) -> None:
    with sim_site(PAGES) as site:
        done = bench(
            tmp_path, "--url", site.url, "--workers", "1", "--json", "--plot", "figures.png"
        )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["absent"] == []
    assert {row["name"]: row["pages"] for row in report["contestants"]} == {
        "skitter-1": PAGES,
        "scrapy": PAGES,
        "scrapy-jobdir": PAGES,
        "crawlee": PAGES,
        "floor": PAGES,
    }
    assert report["same_pages"] is True
    assert report["contestants"][0]["cpu_ratio"] == 1
    assert all(row["peak_bytes"] > 0 for row in report["contestants"])
    assert (tmp_path / "figures.png").exists()
    assert done.stderr.count("round 1 of 1") == 5


def test_a_site_that_is_not_there_is_exit_1(tmp_path: Path) -> None:
    with sim_site(1) as site:
        pass
    done = bench(tmp_path, "--url", site.url, "--only", "floor")
    assert done.returncode == 1
    assert f"not measured: floor: got no page with status 200 from {site.url}" in done.stdout
