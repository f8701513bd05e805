"""Reads back which records are in a JSONL or CSV file, however large it is."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import msgspec
from msgspec import Struct

__all__ = ["read_ids"]

#: A cell can hold a whole body.
_MAX_CELL = (1 << 31) - 1


class _Id(Struct, gc=False):
    id: str


def read_ids(path: Path, length: int) -> Iterator[tuple[int, str | None]]:
    """Line number and record id of each line within `length` bytes; None: it is no record."""
    with path.open("rb") as file:
        bounded = cast("BinaryIO", _Bounded(file, length))
        yield from _csv_ids(bounded) if path.name.lower().endswith(".csv") else _json_ids(bounded)


def _json_ids(lines: BinaryIO) -> Iterator[tuple[int, str | None]]:
    decode = msgspec.json.Decoder(_Id).decode
    for number, line in enumerate(io.BufferedReader(cast("io.RawIOBase", lines)), start=1):
        try:
            yield number, decode(line).id
        except (msgspec.MsgspecError, UnicodeDecodeError):
            yield number, None


def _csv_ids(lines: BinaryIO) -> Iterator[tuple[int, str | None]]:
    csv.field_size_limit(_MAX_CELL)
    buffered = io.BufferedReader(cast("io.RawIOBase", lines))
    rows = csv.reader(io.TextIOWrapper(buffered, "utf-8", errors="replace", newline=""))
    header = next(rows, [])
    column = header.index("id") if "id" in header else None
    for row in rows:
        whole = column is not None and len(row) == len(header)
        yield rows.line_num, row[column] if whole and column is not None else None


class _Bounded(io.RawIOBase):
    """The first `length` bytes of a file: the rest is not committed yet."""

    def __init__(self, file: BinaryIO, length: int) -> None:
        self._file = file
        self._left = length

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._file.read(min(len(buffer), self._left))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)
