"""A disk that fills up: exit 3, one line, and on with it when there is room."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.crawls import AT_FULL_SPEED, run_crawl
from support.records import differences, read_catalog, read_jsonl, twice
from support.simulation import simulated_web

pytestmark = [pytest.mark.e2e, pytest.mark.sim]

#: Without it a crawl stops before the disk is full.
TO_THE_LAST_BYTE = {"SKITTER_DEGRADE__ENABLED": "false"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Two megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.parametrize("full", ["data", "output"])
def test_a_full_disk_interrupts_and_room_lets_it_go_on(
    small_disk: Path, tmp_path: Path, full: str
) -> None:
    data = small_disk / "data" if full == "data" else tmp_path / "data"
    output = (small_disk if full == "output" else tmp_path) / "out.jsonl"
    web = ("--hosts", "2", "--pages", "400", "--body-bytes", "20000")
    with simulated_web(tmp_path, *web) as sim:
        arguments = (
            *(*sim.crawl_arguments, *AT_FULL_SPEED, "--json"),
            *("--data", str(data), "-o", str(output), "--body"),
        )
        for _ in range(2):
            done = run_crawl(tmp_path, *arguments, stdin=sim.stdin, env=TO_THE_LAST_BYTE)
            assert (done.code, done.out) == (3, ""), done.err
            (line,) = done.err.splitlines()
            assert line.startswith("skitter: error: no space left ")
        grow = ["mount", "-o", "remount,size=200m", str(small_disk)]
        subprocess.run(grow, check=True)
        done = run_crawl(tmp_path, *arguments, stdin=sim.stdin, env=TO_THE_LAST_BYTE)
        assert done.code == 0, done.err
        records = read_catalog(data)
        assert differences(sim.truth(), records) == []
    lines = read_jsonl(output)
    assert twice(line["id"] for line in lines) == []
    assert {line["id"] for line in lines} == {
        record["id"] for record in records if record["outcome"] in {"done", "failed"}
    }
