"""All output files of one crawl.

`prepare`, then `append` with every group commit, then `finish`, then `close`. A failed group
commit ends the crawl: what `append` may have written beyond the committed lengths is cut off
by the next run's `prepare`.
"""

import os
from collections.abc import Sequence
from contextlib import aclosing, suppress
from typing import BinaryIO

from skitter.catalog.base import Catalog, Page, SavedOutput
from skitter.clock import Clock
from skitter.outputs.base import (
    LINE_FORMATS,
    OutputFile,
    Source,
    has_line,
    output_error,
)
from skitter.outputs.whole import LineFormat, line_format, write_whole
from skitter.store.base import Store

__all__ = ["OutputSet"]


class OutputSet:
    """See the module. Safe to use without any file."""

    def __init__(
        self,
        files: Sequence[OutputFile],
        *,
        clock: Clock,
        include_body: bool = False,
        everything: bool = False,
    ) -> None:
        self._clock = clock
        self._include_body = include_body
        self._everything = everything
        self._growing = [
            _GrowingFile(file, line_format(file, include_body=include_body))
            for file in files
            if file.format in LINE_FORMATS
        ]
        self._whole = [file for file in files if file.format not in LINE_FORMATS]

    async def prepare(self, catalog: Catalog, store: Store, job: str) -> None:
        """Make every line file hold exactly the records that are in the catalog.

        To be called without files too: those of earlier runs stop growing with this one, which
        must be known when a later run names them again.
        """
        source = self._source(catalog, store, job)
        saved = {output.path: output.length for output in await catalog.outputs(job)}
        first = await _first_page(source) if self._growing else None
        for growing in self._growing:
            if not growing.take_up(saved.pop(str(growing.file.path), 0), first):
                await write_whole(growing.file, source)
                growing.open()
        left = [SavedOutput(path=path, length=0) for path, length in saved.items() if length]
        if self._growing or left:
            await catalog.save_outputs(job, [g.saved() for g in self._growing] + left)

    def append(self, pages: Sequence[Page]) -> list[SavedOutput]:
        """Append the pages that have a line, durably; see `catalog.base.Append`."""
        if not self._growing:
            return []
        lined = [page for page in pages if has_line(page, everything=self._everything)]
        if not lined:
            return []
        for growing in self._growing:
            growing.append(lined)
        return [growing.saved() for growing in self._growing]

    async def finish(self, catalog: Catalog, store: Store, job: str) -> None:
        """Write the files that are not appended to, from what is in the catalog now."""
        source = self._source(catalog, store, job)
        for file in self._whole:
            await write_whole(file, source)

    def close(self) -> None:
        """Let go of the files; safe to call twice."""
        for growing in self._growing:
            growing.close()

    def _source(self, catalog: Catalog, store: Store, job: str) -> Source:
        return Source(
            catalog=catalog,
            store=store,
            clock=self._clock,
            job=job,
            include_body=self._include_body,
            everything=self._everything,
        )


class _GrowingFile:
    """A JSONL or CSV file and how much of it counts."""

    def __init__(self, file: OutputFile, lines: LineFormat) -> None:
        self.file = file
        self._lines = lines
        self._length = 0
        self._open: BinaryIO | None = None

    def take_up(self, length: int, first: Page | None) -> bool:
        """Cut our file to what was committed; False: it is not ours, or not all of it is there."""
        if length == 0 or not self.file.path.is_file():
            return False
        self.open()
        if self._length < length or not self._looks_ours(length, first):
            self.close()
            return False
        try:
            self._handle.truncate(length)
            os.fsync(self._handle.fileno())
        except OSError as error:
            raise output_error(self.file.path, error) from error
        self._length = length
        return True

    def open(self) -> None:
        """Open the file as it is on the disk."""
        try:
            self._open = self.file.path.open("r+b", buffering=0)
            self._length = os.fstat(self._open.fileno()).st_size
        except OSError as error:
            raise output_error(self.file.path, error) from error

    def append(self, pages: Sequence[Page]) -> None:
        descriptor = self._handle.fileno()
        data = self._lines.encode(pages)
        try:
            done = 0
            while done < len(data):
                done += os.pwrite(descriptor, data[done:] if done else data, self._length + done)
            os.fsync(descriptor)
        except OSError as error:
            with suppress(OSError):
                self._handle.truncate(self._length)
            raise output_error(self.file.path, error) from error
        self._length += len(data)

    def saved(self) -> SavedOutput:
        return SavedOutput(path=str(self.file.path), length=self._length)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    @property
    def _handle(self) -> BinaryIO:
        if self._open is None:
            message = f"{self.file.path} was not prepared"
            raise RuntimeError(message)
        return self._open

    def _looks_ours(self, length: int, first: Page | None) -> bool:
        """False where only one of two runs asked for bodies, or another program wrote it."""
        start = self._lines.header + (self._lines.encode([first]) if first else b"")
        descriptor = self._handle.fileno()
        begins = len(start) <= length and os.pread(descriptor, len(start), 0) == start
        return begins and os.pread(descriptor, 1, length - 1) == b"\n"


async def _first_page(source: Source) -> Page | None:
    async with aclosing(source.pages()) as pages:
        async for page in pages:
            return page
    return None
