"""Output files are refused before anything is fetched, in one clear line."""

import importlib.util
import os
from pathlib import Path

import pytest

from skitter.errors import BackendError, MissingExtraError, StorageFullError, UsageError
from skitter.outputs.base import OutputFormat, output_error, parse_output, parse_outputs


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.jsonl", OutputFormat.JSONL),
        ("a.b.CSV", OutputFormat.CSV),
        ("a.parquet", OutputFormat.PARQUET),
        ("a.warc.gz", OutputFormat.WARC),
    ],
)
def test_the_extension_chooses(tmp_path: Path, name: str, kind: OutputFormat) -> None:
    file = parse_output(tmp_path / name)
    assert (file.path, file.format) == (tmp_path.resolve() / name, kind)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["-", "a", "a.json", "a.gz", "a.warc", "a.jsonl.gz", ""])
def test_an_unknown_extension_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"must end in \.jsonl, \.csv, \.parquet, \.warc\.gz"):
        parse_output(name)


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "file").touch()
    for name, reason in [
        ("folder.csv", "it is a folder"),
        ("pipe.csv", "not an ordinary file"),
        ("missing/a.csv", "there is no folder"),
        ("file/a.csv", "there is no folder"),
        (f"{'x' * 300}.csv", "file name too long"),
    ]:
        with pytest.raises(UsageError, match=reason) as refused:
            parse_output(tmp_path / name)
        assert "\n" not in str(refused.value)


def test_a_place_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The tests may run as root, whom permissions do not stop.
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    with pytest.raises(UsageError, match="permission denied"):
        parse_output(tmp_path / "a.csv")


def test_the_same_file_twice_is_refused_however_it_is_spelled(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to("a.csv")
    for second in (
        tmp_path / "a.csv",
        tmp_path / "." / "x" / ".." / "a.csv",
        tmp_path / "link.csv",
    ):
        with pytest.raises(UsageError, match="twice"):
            parse_outputs([tmp_path / "a.csv", second])


def test_a_missing_extra_is_named_with_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'skitter\[parquet\]'"):
        parse_output(tmp_path / "a.parquet")
    assert parse_output(tmp_path / "a.csv").format is OutputFormat.CSV


def test_a_full_disk_is_told_apart(tmp_path: Path) -> None:
    assert isinstance(output_error(tmp_path, OSError(28, "No space left")), StorageFullError)
    assert isinstance(output_error(tmp_path, OSError(5, "I/O error")), BackendError)
