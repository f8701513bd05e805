"""A crawl that runs short of room does less, says so, and goes on when there is room again."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.crawls import SKITTER, environment, finish, run_crawl, start_crawl
from support.origin import origin, page
from support.records import read_catalog
from warcio import ArchiveIterator

pytestmark = pytest.mark.e2e

PAGES = 40
ROUTES = {
    "/": page(*(f"/{number}" for number in range(1, PAGES)), title="first"),
    **{f"/{number}": page(title=f"page {number}") for number in range(1, PAGES)},
}
ARGUMENTS = ("--delay", "0.05", "--robots", "ignore", "--json", "-o", "out.jsonl")
MB = 1024 * 1024


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Four hundred megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, free_mb: float) -> Path:
    """Leave so much room."""
    status = os.statvfs(disk)
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(int(status.f_bavail * status.f_frsize - free_mb * MB)))
    return ballast


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_bodies_are_not_kept_when_room_is_scarce(disk: Path, tmp_path: Path) -> None:
    fill(disk, 217)  # of which 200 must stay free: a pressure of 0.92
    with origin(ROUTES) as server:
        done = run_crawl(
            tmp_path,
            *(server.url, *ARGUMENTS, "--workers", "1", "--data", str(disk / "data")),
            env={"SKITTER_DEGRADE__MIN_FREE_DISK_MB": "200"},
        )
    assert done.code == 0, done.err
    assert done.summary["pages"] == PAGES
    assert "worker.degraded" in done.err
    assert "bodies_not_kept" in done.err
    late = [record for record in records(tmp_path) if record["truncated"] == "degraded"]
    assert late
    assert all(record["title"] and record["digest"] and record["length"] for record in late)
    stored = {}
    for segment in (disk / "data").rglob("*.warc.gz"):
        with segment.open("rb") as file:
            for kept in ArchiveIterator(file, check_digests="raise"):
                stored[kept.rec_headers["WARC-Target-URI"]] = (
                    kept.rec_headers["WARC-Truncated"],
                    kept.content_stream().read(),
                )
    assert {stored[record["url"]] for record in late} == {("degraded", b"")}
    audit = [SKITTER, "audit", "--deep", "--data", str(disk / "data")]
    judged = subprocess.run(audit, env=environment(), capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout


@pytest.mark.parametrize("workers", ["1", "2"])
def test_without_room_it_waits_and_goes_on_when_there_is_some(
    disk: Path, tmp_path: Path, workers: str
) -> None:
    ballast = fill(disk, 180)
    with origin(ROUTES) as server:
        process = start_crawl(
            tmp_path,
            *(server.url, *ARGUMENTS, "--workers", workers, "--data", str(disk / "data")),
            env={"SKITTER_DEGRADE__MIN_FREE_DISK_MB": "200", "SKITTER_DEGRADE__CALM_S": "0.1"},
        )
        assert process.stderr is not None
        assert any('"step": 4' in line for line in process.stderr)
        asked = len(server.asked)
        ballast.unlink()
        done = finish(process)
    assert done.code == 0, done.err
    assert asked < PAGES
    assert done.summary["pages"] == PAGES
    assert len(server.asked) == PAGES
    assert {record["outcome"] for record in read_catalog(disk / "data")} == {"done"}


def test_patience_ends_and_the_crawl_can_be_resumed(disk: Path, tmp_path: Path) -> None:
    ballast = fill(disk, 180)
    limits = {"SKITTER_DEGRADE__MIN_FREE_DISK_MB": "200", "SKITTER_DEGRADE__PATIENCE_S": "0.5"}
    with origin(ROUTES) as server:
        command = (server.url, *ARGUMENTS, "--data", str(disk / "data"))
        done = run_crawl(tmp_path, *command, env=limits)
        assert done.code == 3
        assert "make room and run it again" in done.err
        assert "(disk: " in done.err
        ballast.unlink()
        done = run_crawl(tmp_path, *command, env=limits)
    assert (done.code, done.summary["pages"]) == (0, PAGES)
    assert len(server.asked) == PAGES
