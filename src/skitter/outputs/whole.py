"""Files that are there whole or not at all: written beside, synced, renamed."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import BinaryIO

from skitter.catalog.base import Page
from skitter.outputs.base import OutputFile, OutputFormat, Source, output_error
from skitter.outputs.csv import CsvRows
from skitter.outputs.jsonl import JsonLines
from skitter.outputs.warc import write_warc

__all__ = ["LineFormat", "line_format", "write_whole"]

LineFormat = JsonLines | CsvRows

#: Lines are encoded in groups of so many pages, or fewer when bodies are large.
_GROUP_PAGES = 500
_GROUP_BYTES = 8 * 1024 * 1024


def line_format(file: OutputFile, *, include_body: bool) -> LineFormat:
    """The encoder of a JSONL or CSV file."""
    kind = JsonLines if file.format is OutputFormat.JSONL else CsvRows
    return kind(include_body=include_body)


async def write_whole(output: OutputFile, source: Source) -> int:
    """Write a file of any format, replacing what has its name; returns how many records."""
    async with _replacing(output.path) as file:
        match output.format:
            case OutputFormat.WARC:
                return await write_warc(file, source)
            case OutputFormat.PARQUET:
                # pyarrow is an extra, and takes half a second to load.
                from skitter.outputs.parquet import write_parquet  # noqa: PLC0415

                return await write_parquet(file, source)
            case _:
                lines = line_format(output, include_body=source.include_body)
                return await _write_lines(file, lines, source)


async def _write_lines(file: BinaryIO, lines: LineFormat, source: Source) -> int:
    file.write(lines.header)
    count = 0
    async for group in _groups(source):
        file.write(lines.encode(group))
        count += len(group)
    return count


async def _groups(source: Source) -> AsyncIterator[list[Page]]:
    group: list[Page] = []
    group_bytes = 0
    async for page in source.pages():
        group.append(page)
        group_bytes += len(page.body)
        if len(group) >= _GROUP_PAGES or group_bytes >= _GROUP_BYTES:
            yield group
            group, group_bytes = [], 0
    if group:
        yield group


@asynccontextmanager
async def _replacing(path: Path) -> AsyncIterator[BinaryIO]:
    """A file that takes `path`'s name when the block ends well, and is removed otherwise."""
    partial = path.with_name(f".{path.name}.partial")
    with _mapped(path):
        partial.unlink(missing_ok=True)
        try:
            with partial.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
            _sync_folder(path.parent)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


@contextmanager
def _mapped(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise output_error(path, error) from error


def _sync_folder(folder: Path) -> None:
    """Make the new name durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
