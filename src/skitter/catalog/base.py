"""The border of the catalog: one row per record, which can be found, listed and exported.

Adding is idempotent by record id: the first record of an id stays, a repetition (after a
crash between the catalog's commit and the frontier's) changes nothing.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol, Self

import msgspec
from msgspec import Struct

from skitter.models import Location, Outcome, Record

__all__ = ["Append", "Catalog", "Page", "RecordHead", "SavedOutput"]


class RecordHead(Struct, frozen=True, kw_only=True, gc=False):
    """The fields of a record by which it is found and counted; JSON of a whole one decodes."""

    id: str
    url: str
    outcome: Outcome
    status_code: int | None
    error: str | None
    timestamp: str
    depth: int
    length: int
    elapsed_ms: int


_encode = msgspec.json.Encoder().encode
_decode_head = msgspec.json.Decoder(RecordHead).decode
_decode_record = msgspec.json.Decoder(Record).decode


class Page(Struct, frozen=True, kw_only=True, gc=False):
    """A record on its way into the catalog, or read back from it."""

    head: RecordHead
    #: The whole record as one line of JSON, without body.
    line: bytes
    location: Location | None = None
    #: Decoded body; only on the way in, for outputs that want it.
    body: bytes = b""

    @classmethod
    def of(cls, record: Record, location: Location | None = None, body: bytes = b"") -> Self:
        """The page of a record that is at hand."""
        head = RecordHead(
            id=record.id,
            url=record.url,
            outcome=record.outcome,
            status_code=record.status_code,
            error=record.error,
            timestamp=record.timestamp,
            depth=record.depth,
            length=record.length,
            elapsed_ms=record.elapsed_ms,
        )
        return cls(head=head, line=_encode(record), location=location, body=body)

    @classmethod
    def of_line(cls, line: bytes, location: Location | None) -> Self:
        """The page of a stored line; one that is no record is a `msgspec.MsgspecError`."""
        return cls(head=_decode_head(line), line=line, location=location)

    @property
    def record(self) -> Record:
        """The whole record, links included: decoded anew each time."""
        return _decode_record(self.line)


class SavedOutput(Struct, frozen=True, kw_only=True):
    """An output file and how much of it belongs to committed records."""

    path: str
    length: int


#: Appends new pages to the output files and returns the length each now has.
Append = Callable[[Sequence[Page]], Sequence[SavedOutput]]


class Catalog(Protocol):
    """Rebuildable from the store, but the place where everything is looked up."""

    async def add(self, job: str, pages: Sequence[Page], append: Append) -> None:
        """Add what is new; `append` is called with it inside the transaction.

        The lengths it returns are committed with the rows, so that a file can be cut back
        to them after a crash.
        """
        ...

    async def get(self, job: str, record_id: str) -> Page | None:
        """The page of that id."""
        ...

    def pages(self, job: str, *, everything: bool = False) -> AsyncIterator[Page]:
        """All pages in the order they were added; `everything`: redirected and dropped too."""
        ...

    async def outputs(self, job: str) -> list[SavedOutput]:
        """The output files of a job, as of the last commit."""
        ...

    async def save_outputs(self, job: str, outputs: Sequence[SavedOutput]) -> None:
        """Note the lengths of files that were written outside of `add`."""
        ...

    async def delete_job(self, job: str) -> None:
        """Forget all pages and outputs of a job."""
        ...

    async def aclose(self) -> None:
        """Let go of the storage."""
        ...
