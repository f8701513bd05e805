"""The embedded catalog: one SQLite file."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from isal import isal_zlib

from skitter.catalog.base import Append, Page, SavedOutput
from skitter.errors import DataFolderDamagedError
from skitter.models import Location
from skitter.sql import read_schema, read_statements
from skitter.sqlite import Database

__all__ = ["CATALOG_FORMAT", "SqliteCatalog"]

#: Version of the schema; a folder with a higher one is refused.
CATALOG_FORMAT = 1

_SQL = read_statements("skitter.catalog")
_LEVEL = 1
#: The stub takes it for an instance.
_BadZlib: type[Exception] = isal_zlib.error  # type: ignore[assignment]
#: What can come of a row that is not as it was written.
_DAMAGE = (_BadZlib, msgspec.DecodeError)


class SqliteCatalog:
    """See `skitter.catalog.base.Catalog`."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        schema = read_schema("skitter.catalog")
        self._db = Database(path, schema, CATALOG_FORMAT, read_only=read_only)

    async def add(self, job: str, pages: Sequence[Page], append: Append) -> None:
        async with self._db.transaction():
            job_id = self._job(job)
            new = self._new(job_id, pages)
            self._db.executemany(_SQL["add_page"], [_row(job_id, page) for page in new])
            self._save_outputs(job_id, append(new))

    async def get(self, job: str, record_id: str) -> Page | None:
        key = (self._find_job(job), bytes.fromhex(record_id))
        rows = self._db.query(_SQL["get"], key)
        return self._page(rows[0]) if rows else None

    async def pages(self, job: str, *, everything: bool = False) -> AsyncIterator[Page]:
        statement = _SQL["all_pages" if everything else "pages"]
        for row in self._db.iterate(statement, (self._find_job(job),)):
            yield self._page(row)

    async def outputs(self, job: str) -> list[SavedOutput]:
        rows = self._db.query(_SQL["outputs"], (self._find_job(job),))
        return [SavedOutput(path=path, length=length) for path, length in rows]

    async def save_outputs(self, job: str, outputs: Sequence[SavedOutput]) -> None:
        async with self._db.transaction():
            self._save_outputs(self._job(job), outputs)

    async def delete_job(self, job: str) -> None:
        async with self._db.transaction():
            job_id = self._find_job(job)
            for statement in ("delete_pages", "delete_outputs", "delete_job"):
                self._db.execute(_SQL[statement], (job_id,))

    async def aclose(self) -> None:
        await self._db.aclose()

    def _new(self, job_id: int, pages: Sequence[Page]) -> list[Page]:
        """Pages whose id is not in the catalog and was not met before in this batch."""
        ids = [bytes.fromhex(page.head.id) for page in pages]
        marks = ",".join("?" * len(ids))
        statement = f"SELECT record_id FROM page WHERE job = ? AND record_id IN ({marks})"  # noqa: S608  (only question marks are put in)
        seen = {row[0].hex() for row in self._db.query(statement, (job_id, *ids))}
        new = []
        for page in pages:
            if page.head.id not in seen:
                seen.add(page.head.id)
                new.append(page)
        return new

    def _save_outputs(self, job_id: int, outputs: Sequence[SavedOutput]) -> None:
        self._db.executemany(
            _SQL["save_output"], [(job_id, output.path, output.length) for output in outputs]
        )

    def _job(self, name: str) -> int:
        """The number of a job, which is given one if it has none."""
        # Not remembered: a transaction that fails takes the number back.
        self._db.execute(_SQL["add_job"], (name,))
        return self._find_job(name)

    def _find_job(self, name: str) -> int:
        """The number of a job; 0, which no job has, if there is none of that name."""
        rows = self._db.query(_SQL["job"], (name,))
        return rows[0][0] if rows else 0

    def _page(self, row: tuple[Any, ...]) -> Page:
        segment, offset, size, packed = row
        try:
            location = Location(segment, offset, size) if segment else None
            return Page.of_line(isal_zlib.decompress(packed), location)
        except _DAMAGE as error:
            message = f"{self._db.path} is damaged ({error}): restore it from a copy"
            raise DataFolderDamagedError(message) from error


def _row(job_id: int, page: Page) -> tuple[Any, ...]:
    record, location = page.head, page.location
    return (
        job_id,
        bytes.fromhex(record.id),
        record.outcome.value,
        record.status_code,
        record.error,
        record.url,
        record.timestamp,
        record.depth,
        record.length,
        location.segment if location else None,
        location.offset if location else None,
        location.length if location else None,
        isal_zlib.compress(page.line, _LEVEL),
    )
