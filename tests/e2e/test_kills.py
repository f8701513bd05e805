"""`kill -9` at any moment, then the same command again: as if nothing had happened."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from support.crawls import QUICK_RETRIES, Finished, kill, run_crawl, start_crawl, wait_s, wait_until
from support.records import (
    differences,
    frontier_states,
    identities,
    read_catalog,
    read_csv_ids,
    read_jsonl,
    twice,
)
from support.simulation import Simulation, simulated_web
from warcio.archiveiterator import ArchiveIterator

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

#: Slow enough for twenty kills, and with all that can be met on the way.
WEB = (
    *("--hosts", "4", "--pages", "450", "--latency-ms", "10", "--jitter-ms", "10"),
    *("--redirect-rate", "0.1", "--gone-rate", "0.05", "--robots-rate", "0.05"),
    *("--error-rate", "0.01", "--flaky-rate", "0.02", "--gzip-rate", "0.3"),
)
KILLS = 20


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[Simulation]:
    with simulated_web(tmp_path, *WEB) as running:
        yield running


class Crawl:
    """One crawl of a simulated web, in a folder of its own, run as often as need be."""

    def __init__(self, sim: Simulation, folder: Path, *outputs: str) -> None:
        folder.mkdir()
        self.folder = folder
        self.data = folder / "data"
        self._sim = sim
        names = [word for output in outputs for word in ("-o", output)]
        rate = ("--delay", "0", "--concurrency", "8")
        self._arguments = (*sim.crawl_arguments, *rate, "--data", "data", *names, "--json")

    def start(self) -> subprocess.Popen[str]:
        return start_crawl(self.folder, *self._arguments, stdin=self._sim.stdin, env=QUICK_RETRIES)

    def run(self) -> Finished:
        done = run_crawl(self.folder, *self._arguments, stdin=self._sim.stdin, env=QUICK_RETRIES)
        assert done.code == 0, done.err
        return done

    def check(self, done: Finished, undisturbed: "Crawl") -> None:
        """Equal to a crawl that nobody disturbed, once each, and counted right."""
        records = read_catalog(self.data)
        assert differences(self._sim.truth(), records) == []
        assert identities(records) == identities(read_catalog(undisturbed.data))
        assert twice(record["id"] for record in records) == []
        lined = {r["id"] for r in records if r["outcome"] in {"done", "failed"}}
        for ids in (self._jsonl_ids(), read_csv_ids(self.folder / "out.csv")):
            assert twice(ids) == []
            assert set(ids) == lined
        states, summary = frontier_states(self.data), done.summary
        assert states["queued"] == 0
        assert states["done"] == summary["pages"]
        assert states["failed"] == summary["failed"]
        assert states["redirected"] == summary["redirected"]
        assert states["dropped"] == sum(summary["dropped"].values())
        assert states.total() == summary["accepted"] == len(records)

    def _jsonl_ids(self) -> list[str]:
        return [record["id"] for record in read_jsonl(self.folder / "out.jsonl")]


def kill_at_random(crawl: Crawl, sim: Simulation, random: Random, requests: int) -> bool:
    """Kill a run after up to so many of its requests; False: it finished before."""
    before = sim.asked()
    more = random.randint(1, requests)
    process = crawl.start()
    wait_until(process, lambda: sim.asked() >= before + more)
    wait_s(process, random.uniform(0, 0.1))
    return kill(process)


def check_twenty_kills(sim: Simulation, folder: Path, seed: int) -> None:
    undisturbed = Crawl(sim, folder / "undisturbed", "out.jsonl", "out.csv")
    undisturbed.run()
    crawl = Crawl(sim, folder / "killed", "out.jsonl", "out.csv")
    random = Random(seed)
    killed = [kill_at_random(crawl, sim, random, 60) for _ in range(KILLS)]
    assert all(killed), f"only {sum(killed)} of the kills met a running crawl"
    crawl.check(crawl.run(), undisturbed)


def test_twenty_kills_in_one_crawl_lose_nothing_and_double_nothing(
    sim: Simulation, tmp_path: Path
) -> None:
    check_twenty_kills(sim, tmp_path, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 21))
def test_twenty_kills_at_other_moments(sim: Simulation, tmp_path: Path, seed: int) -> None:
    check_twenty_kills(sim, tmp_path, seed)


def test_a_crawl_killed_while_it_starts_starts_again(tmp_path: Path) -> None:
    with simulated_web(tmp_path, "--hosts", "2", "--pages", "30") as sim:
        undisturbed = Crawl(sim, tmp_path / "undisturbed", "out.jsonl", "out.csv")
        undisturbed.run()
        crawl = Crawl(sim, tmp_path / "killed", "out.jsonl", "out.csv")
        random = Random(1)
        for _ in range(5):
            process = crawl.start()
            wait_s(process, random.uniform(0, 0.3))
            kill(process)
        for name in ("skitter.json", "frontier.sqlite", "catalog.sqlite", "segments"):
            process = crawl.start()
            wait_until(process, (crawl.data / name).exists)
            kill(process)
        crawl.check(crawl.run(), undisturbed)


def test_a_crawl_killed_while_it_exports_writes_the_export_again(tmp_path: Path) -> None:
    with simulated_web(tmp_path, "--hosts", "2", "--pages", "400") as sim:
        crawl = Crawl(sim, tmp_path / "killed", "out.warc.gz")
        crawl.run()
        output, partial = crawl.folder / "out.warc.gz", crawl.folder / ".out.warc.gz.partial"
        while not partial.exists():
            output.unlink(missing_ok=True)
            process = crawl.start()
            wait_until(process, partial.exists)
            kill(process)
        crawl.run()
    assert not partial.exists()
    with output.open("rb") as file:
        kinds = [record.rec_type for record in ArchiveIterator(file)]
    assert kinds.count("response") == 800
