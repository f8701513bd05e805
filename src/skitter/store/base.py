"""The border of the store: bodies in, WARC segments on a disk or in S3. The source of truth."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from skitter.models import Location

__all__ = ["Store", "StoredPage"]


class StoredPage(Struct, frozen=True, kw_only=True, gc=False):
    """A page on its way into the store, or read back from it."""

    record_id: str
    url: str
    #: ISO-8601 with microseconds, UTC, without zone.
    timestamp: str
    #: Status line and header fields as received; empty where there was no response.
    head: tuple[bytes, ...] = ()
    #: Decoded by content encoding.
    body: bytes = b""
    digest: str | None = None
    truncated: str | None = None
    server_ip: str | None = None
    #: JSON of the record's own fields, so that the catalog can be rebuilt from the store.
    fields: bytes = b"{}"


class Store(Protocol):
    """Append-only; what `append` has returned survives the loss of the machine."""

    async def append(self, job_id: str, pages: Sequence[StoredPage]) -> list[Location]:
        """Write pages durably, in one group commit; one location each, in order."""
        ...

    async def read(self, location: Location) -> StoredPage:
        """Read one page back."""
        ...

    async def copy(self, location: Location) -> bytes:
        """The record as it is stored: a complete gzip member."""
        ...

    async def delete(self, job_id: str) -> None:
        """Remove everything of a job."""
        ...

    async def aclose(self) -> None:
        """Close the open segments."""
        ...
