"""Output files through crashes, resumed runs and full disks."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, TypeAlias

import pytest

from skitter.catalog.base import Page, SavedOutput
from skitter.errors import BackendError, StorageFullError
from skitter.models import Outcome

#: The class is in conftest.py, which no test can import.
Crawl: TypeAlias = Any


def names(path: Path) -> list[str]:
    if path.suffix == ".csv":
        return [line.split(",")[4].rpartition("/")[2] for line in path.read_text().splitlines()[1:]]
    return [
        json.loads(line)["url"].rpartition("/")[2] for line in path.read_text().split("\n")[:-1]
    ]


def content(path: Path) -> bytes:
    return path.read_bytes()


def pages(crawl: Crawl, text: str) -> list[Page]:
    return [crawl.page(letter) for letter in text]


@pytest.fixture(params=["out.jsonl", "out.csv"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


def test_lines_are_there_with_each_group(crawl: Crawl, path: Path) -> None:
    async def main() -> None:
        outputs = crawl.outputs(path)
        await outputs.prepare(crawl.catalog, crawl.store, "news")
        for number, page in enumerate(pages(crawl, "abc"), 1):
            await crawl.add([page], outputs.append)
            assert len(names(path)) == number
            [saved] = await crawl.catalog.outputs("news")
            assert (saved.path, saved.length) == (str(path), len(content(path)))
        outputs.close()

    crawl.run(main())


def test_only_done_and_failed_have_lines(crawl: Crawl, path: Path) -> None:
    mixed = [
        crawl.page("a"),
        crawl.page("b", b"", Outcome.REDIRECTED),
        crawl.page("c", None, Outcome.FAILED),
        crawl.page("d", None, Outcome.DROPPED),
    ]
    crawl.run(crawl.run_with(mixed, path))
    assert names(path) == ["a", "c"]


def test_no_lines_no_lengths(crawl: Crawl, path: Path) -> None:
    outputs = crawl.outputs(path)
    crawl.run(outputs.prepare(crawl.catalog, crawl.store, "news"))
    assert outputs.append([crawl.page("b", b"", Outcome.REDIRECTED)]) == []
    assert outputs.append([]) == []
    assert crawl.outputs().append(pages(crawl, "a")) == []
    outputs.close()
    outputs.close()


def test_what_a_crash_left_beyond_the_commit_is_cut(crawl: Crawl, path: Path) -> None:
    crawl.run(crawl.run_with(pages(crawl, "ab"), path, dies=True))
    whole = path.read_bytes()
    for torn in (b"x", b'{"url":"http://site.test/c"}\n', b"\n" * 9):
        path.write_bytes(whole + torn)
        crawl.run(crawl.run_with([], path))
        assert path.read_bytes() == whole
    path.write_bytes(whole + b"torn")
    crawl.run(crawl.run_with(pages(crawl, "bcd"), path))
    assert names(path) == ["a", "b", "c", "d"]


def test_a_group_whose_commit_fails_is_cut_by_the_next_run(crawl: Crawl, path: Path) -> None:
    async def main() -> None:
        outputs = crawl.outputs(path)
        await outputs.prepare(crawl.catalog, crawl.store, "news")
        await crawl.add(pages(crawl, "a"), outputs.append)

        def append_and_die(new: Sequence[Page]) -> Sequence[SavedOutput]:
            outputs.append(new)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await crawl.add(pages(crawl, "b"), append_and_die)
        outputs.close()

    crawl.run(main())
    assert names(path) == ["a", "b"]
    crawl.run(crawl.run_with(pages(crawl, "cb"), path))
    assert names(path) == ["a", "c", "b"]


def test_missing_shorter_and_foreign_files_are_written_from_the_start(
    crawl: Crawl, path: Path
) -> None:
    crawl.run(crawl.run_with(pages(crawl, "abc"), path))
    whole = path.read_bytes()
    for other in (None, b"", whole[:-1], whole[: len(whole) // 2], b"y" * 9_999, whole[::-1]):
        path.unlink()
        if other is not None:
            path.write_bytes(other)
        crawl.run(crawl.run_with([], path))
        assert path.read_bytes() == whole


def test_a_foreign_file_is_replaced_on_a_new_job(crawl: Crawl, path: Path) -> None:
    path.write_bytes(b"somebody's notes\n")
    crawl.run(crawl.run_with(pages(crawl, "a"), path))
    assert names(path) == ["a"]


def test_a_file_named_later_has_the_earlier_records_too(crawl: Crawl, path: Path) -> None:
    crawl.run(crawl.run_with(pages(crawl, "ab")))
    crawl.run(crawl.run_with(pages(crawl, "c"), path))
    assert names(path) == ["a", "b", "c"]


@pytest.mark.parametrize("other", [[], ["other.jsonl"]])
def test_a_file_left_out_of_a_run_catches_up(
    crawl: Crawl, path: Path, tmp_path: Path, other: list[str]
) -> None:
    crawl.run(crawl.run_with(pages(crawl, "a"), path))
    crawl.run(crawl.run_with(pages(crawl, "bc"), *(tmp_path / name for name in other)))
    crawl.run(crawl.run_with(pages(crawl, "d"), path))
    assert names(path) == ["a", "b", "c", "d"]


def test_asking_for_bodies_later_rewrites_the_file(crawl: Crawl, path: Path) -> None:
    crawl.run(crawl.run_with(pages(crawl, "ab"), path))
    crawl.run(crawl.run_with(pages(crawl, "c"), path, include_body=True))
    assert names(path) == ["a", "b", "c"]
    assert path.read_text().count("<p>hello") == 3
    crawl.run(crawl.run_with(pages(crawl, "d"), path))
    assert "<p>hello" not in path.read_text()
    assert names(path) == ["a", "b", "c", "d"]


def test_whole_files_are_written_at_the_end_and_replaced(crawl: Crawl, tmp_path: Path) -> None:
    targets = [tmp_path / "a.parquet", tmp_path / "a.warc.gz"]
    for target in targets:
        target.write_bytes(b"old")
    crawl.run(crawl.run_with(pages(crawl, "a"), *targets, dies=True))
    assert [target.read_bytes() for target in targets] == [b"old", b"old"]
    crawl.run(crawl.run_with([], *targets))
    assert [target.read_bytes()[:2] for target in targets] == [b"PA", b"\x1f\x8b"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.parquet", "a.warc.gz", "data"]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".warc.gz"])
@pytest.mark.parametrize(("number", "kind"), [(28, StorageFullError), (5, BackendError)])
def test_a_failed_write_leaves_the_old_file_and_no_other(
    crawl: Crawl,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
    number: int,
    kind: type[Exception],
) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    crawl.run(crawl.add(pages(crawl, "ab")))
    target = tmp_path / f"a{suffix}"
    target.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(kind):
        crawl.export(target)
    assert target.read_bytes() == b"old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [target.name, "data"]


@pytest.mark.needs("/dev/full")
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".warc.gz"])
def test_a_full_disk_is_told_whatever_the_format(
    crawl: Crawl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    real = Path.open

    def open_full(path: Path, mode: str = "r", buffering: int = -1) -> IO[bytes]:
        return real(Path("/dev/full"), "wb") if mode == "xb" else real(path, mode, buffering)

    crawl.run(crawl.add([crawl.page(name, os.urandom(50_000)) for name in "abc"]))
    monkeypatch.setattr(Path, "open", open_full)
    with pytest.raises(StorageFullError, match="make room"):
        crawl.export(tmp_path / f"a{suffix}", include_body=True)


@pytest.mark.parametrize("call", ["pwrite", "fsync"])
def test_a_full_disk_while_appending_takes_the_group_back(
    crawl: Crawl, path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    real = getattr(os, call)

    def half_then_fail(descriptor: int, data: bytes = b"", offset: int = 0) -> int:
        if data:
            real(descriptor, data[: len(data) // 2], offset)
        raise OSError(28, "No space left on device")

    async def main() -> None:
        outputs = crawl.outputs(path)
        await outputs.prepare(crawl.catalog, crawl.store, "news")
        await crawl.add(pages(crawl, "a"), outputs.append)
        with monkeypatch.context() as patch:
            patch.setattr(os, call, half_then_fail)
            with pytest.raises(StorageFullError):
                outputs.append(pages(crawl, "b"))
        await crawl.add(pages(crawl, "c"), outputs.append)
        outputs.close()

    crawl.run(main())
    assert names(path) == ["a", "c"]


def test_a_partial_name_that_is_a_link_is_not_followed(crawl: Crawl, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"keep")
    (tmp_path / ".a.csv.partial").symlink_to(precious)
    crawl.export(tmp_path / "a.csv")
    assert precious.read_bytes() == b"keep"
