"""Nothing is written or read outside the data folder, whatever names come from outside."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.crawls import SKITTER, Finished, environment, run_crawl
from support.doors import networks
from support.fetching import SITE
from support.origin import Origin, origin, page
from support.records import read_catalog

pytestmark = pytest.mark.e2e

ARGUMENTS = ("--delay", "0", "--workers", "1", "--json", "--data", "folder/data")


def crawl(folder: Path, server: Origin, *more: str) -> Finished:
    return run_crawl(folder, f"{server.url}/", *ARGUMENTS, *more, env=networks())


def files(folder: Path) -> set[str]:
    """Everything below, but for what is in the data folder."""
    found = (path.relative_to(folder) for path in folder.rglob("*"))
    return {str(path) for path in found if path.parts[:2] != ("folder", "data")}


NAMES = ["../../evil", "/tmp/evil", "..", ".", "a/../../../evil", "-evil", "%2e%2e%2fevil", "~"]


@pytest.mark.parametrize("name", NAMES)
def test_a_job_s_name_is_no_path(tmp_path: Path, name: str) -> None:
    with origin({"/": page()}, SITE) as server:
        done = crawl(tmp_path, server, f"--job={name}")
    assert done.code == 0, done.err
    assert done.summary["job"] == name
    assert files(tmp_path) == {"folder"}
    (stored,) = (tmp_path / "folder" / "data" / "segments").iterdir()
    assert stored.name.isalnum()


def test_a_url_is_no_path(tmp_path: Path) -> None:
    paths = ["/../../evil", "/%2e%2e/2/evil", "/..%2f..%2fevil", "/..%5c..%5cevil", "/x//evil"]
    paths += ["/a%00b", "/C:/evil", "/" + "long" * 200, "/con.txt", "/.%0d%0a"]
    with origin({"/": page(*paths)}, SITE) as server:
        outputs = ("-o", "out.jsonl", "-o", "out.csv", "-o", "out.warc.gz", "--body")
        done = crawl(tmp_path, server, *outputs)
    assert done.code == 0, done.err
    assert len(read_catalog(tmp_path / "folder" / "data")) == len(paths) + 1
    assert files(tmp_path) == {"folder", "out.jsonl", "out.csv", "out.warc.gz"}
    names = {path.name for path in (tmp_path / "folder" / "data").rglob("*")}
    assert not any("evil" in name or "long" in name for name in names)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished job of one page."""
    folder = tmp_path_factory.mktemp("crawled")
    with origin({"/": page()}, SITE) as server:
        assert crawl(folder, server, "--job", "mine").code == 0
        (folder / "url").write_text(f"{server.url}/")
    return folder


PLACES = [
    *("lock", "control", "skitter.json", "skitter.partial", "frontier.sqlite", "catalog.sqlite"),
    *("frontier.sqlite-wal", "catalog.sqlite-shm", "segments", "segments/JOB", "segments/JOB/FILE"),
    *("log",),
]


@pytest.mark.parametrize("place", PLACES)
def test_a_link_in_the_data_folder_is_not_followed(
    crawled: Path, tmp_path: Path, place: str
) -> None:
    data = tmp_path / "folder" / "data"
    shutil.copytree(crawled / "folder", tmp_path / "folder")
    (job,) = (data / "segments").iterdir()
    (segment,) = job.iterdir()
    path = data / place.replace("JOB", job.name).replace("FILE", segment.name)
    precious = tmp_path / "precious"
    _move_out(path, precious)
    before = _snapshot(precious)
    with origin({"/": page("/new")}, SITE) as server:
        done = crawl(tmp_path, server, "--job", "another", "--depth", "1")
    assert _snapshot(precious) == before
    if done.code == 0:
        assert not path.is_symlink()
    else:
        assert done.code == 2, done.err
        (line,) = done.err.splitlines()
        assert f"{path.name} is a link, which is not followed" in line


@pytest.mark.parametrize("place", ["frontier.sqlite", "segments/JOB/FILE"])
def test_commands_that_read_do_not_follow_one_either(
    crawled: Path, tmp_path: Path, place: str
) -> None:
    data = tmp_path / "data"
    shutil.copytree(crawled / "folder" / "data", data)
    (job,) = (data / "segments").iterdir()
    (segment,) = job.iterdir()
    path = data / place.replace("JOB", job.name).replace("FILE", segment.name)
    _move_out(path, tmp_path / "precious")
    url = (crawled / "url").read_text()
    done = subprocess.run(
        [SKITTER, "show", url, "--data", "data", "--body"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "is a link, which is not followed" in done.stderr


def test_the_folder_itself_may_be_a_link(crawled: Path, tmp_path: Path) -> None:
    shutil.copytree(crawled / "folder" / "data", tmp_path / "elsewhere")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "data").symlink_to(tmp_path / "elsewhere")
    with origin({"/": page()}, SITE) as server:
        assert crawl(tmp_path, server).code == 0


def _move_out(path: Path, target: Path) -> None:
    """Put a link in the place of a file or folder; what was there is where it leads."""
    if path.exists():
        path.rename(target)
    else:
        target.write_bytes(b"mine")
    path.symlink_to(target)


def _snapshot(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {"": path.read_bytes()}
    return {
        os.fspath(found.relative_to(path)): found.read_bytes() if found.is_file() else b""
        for found in path.rglob("*")
    }
