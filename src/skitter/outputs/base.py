"""Output files: which there are, what goes into them, and how their errors are told.

JSONL and CSV grow with the crawl: a group of lines is appended inside the transaction of the
catalog that adds the group's rows, and the file's length is committed with them. Parquet and
WARC files are written whole, from catalog and store.
"""

import asyncio
import errno
import importlib.util
import os
from collections.abc import AsyncGenerator, Iterable
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from skitter.catalog.base import Catalog, Page
from skitter.clock import Clock
from skitter.errors import (
    BackendError,
    MissingExtraError,
    SkitterError,
    StorageFullError,
    UsageError,
)
from skitter.models import Outcome
from skitter.store.base import Store

__all__ = [
    "LINE_FORMATS",
    "OutputFile",
    "OutputFormat",
    "Source",
    "has_line",
    "output_error",
    "parse_output",
    "parse_outputs",
]


class OutputFormat(StrEnum):
    """The value is the extension that chooses it."""

    JSONL = ".jsonl"
    CSV = ".csv"
    PARQUET = ".parquet"
    WARC = ".warc.gz"


#: Those that are appended to while the crawl runs.
LINE_FORMATS = frozenset({OutputFormat.JSONL, OutputFormat.CSV})

#: Pages that are read without looking up.
_BREATH_PAGES = 50

_LINED_OUTCOMES = frozenset({Outcome.DONE, Outcome.FAILED})


class OutputFile(Struct, frozen=True, kw_only=True):
    """A file to be written. `path` is absolute, with links resolved."""

    path: Path
    format: OutputFormat


class Source(Struct, frozen=True, kw_only=True):
    """What a file is written from."""

    catalog: Catalog
    store: Store
    clock: Clock
    job: str
    include_body: bool = False
    #: Redirected and dropped requests too.
    everything: bool = False

    async def rows(self) -> AsyncGenerator[Page, None]:
        """The job's pages in the order they were added, without bodies."""
        count = 0
        async for page in self.catalog.pages(self.job, everything=self.everything):
            count += 1
            if count % _BREATH_PAGES == 0:
                await asyncio.sleep(0)  # Ctrl+C is heard here
            yield page

    async def pages(self) -> AsyncGenerator[Page, None]:
        """The same with bodies, if they are asked for."""
        async for page in self.rows():
            if self.include_body and page.location is not None:
                stored = await self.store.read(page.location)
                yield replace(page, body=stored.body)
            else:
                yield page


def has_line(page: Page, *, everything: bool) -> bool:
    """Whether a page appears in output files."""
    return everything or page.head.outcome in _LINED_OUTCOMES


def parse_outputs(names: Iterable[str | Path]) -> tuple[OutputFile, ...]:
    """All output files of a command; one that is named twice is refused."""
    files: dict[Path, OutputFile] = {}
    for name in names:
        file = parse_output(name)
        if file.path in files:
            message = f"{name} is named twice: give each output file once"
            raise UsageError(message)
        files[file.path] = file
    return tuple(files.values())


def parse_output(name: str | Path) -> OutputFile:
    """The file and its format, if it can be written; nothing is created."""
    path = Path(os.path.realpath(name))
    file = OutputFile(path=path, format=_format_of(str(name)))
    problem = _problem_of(path)
    if problem is not None:
        message = f"cannot write {name}: {problem}"
        raise UsageError(message)
    if file.format is OutputFormat.PARQUET and importlib.util.find_spec("pyarrow") is None:
        message = f"{name} needs pyarrow; install it with: pip install 'skitter[parquet]'"
        raise MissingExtraError(message)
    return file


def output_error(path: Path, error: OSError) -> SkitterError:
    """The one place where a failed write becomes one of our errors."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StorageFullError(f"no space left for {path}: make room and run it again")
    return BackendError(f"cannot write {path}: {error.strerror or error}")


def _format_of(name: str) -> OutputFormat:
    for known in OutputFormat:
        if name.lower().endswith(known.value):
            return known
    message = f"cannot tell the format of {name!r}: its name must end in {', '.join(OutputFormat)}"
    raise UsageError(message)


def _problem_of(path: Path) -> str | None:
    folder = path.parent
    try:
        if path.is_dir():
            return "it is a folder"
        if path.exists() and not path.is_file():
            return "it is not an ordinary file"
        if not folder.is_dir():
            return f"there is no folder {folder}"
    except OSError as error:
        return (error.strerror or str(error)).lower()
    # A file is replaced by renaming, so its folder must take new names as well.
    if not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        return "permission denied"
    return None
