"""The border of the catalog: one row per record, which can be found, listed and exported.

Adding is idempotent by record id: the first record of an id stays, a repetition (after a
crash between the catalog's commit and the frontier's) changes nothing.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol

from msgspec import Struct

from skitter.models import Location, Record

__all__ = ["Append", "Catalog", "Page", "SavedOutput"]


class Page(Struct, frozen=True, kw_only=True, gc=False):
    """A record on its way into the catalog, or read back from it."""

    record: Record
    #: The record as one line of JSON, without body.
    line: bytes
    location: Location | None
    #: Decoded body; only on the way in, for outputs that want it.
    body: bytes = b""


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
