"""The embedded store: WARC segments appended to in the data folder.

A segment is a sequence of gzip members, each a whole record. After a crash the last one may
end in a torn member; it is cut off before anything is appended, so a segment is valid at any
moment the process is not writing it.
"""

import asyncio
import errno
import os
import shutil
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from isal import isal_zlib
from xxhash import xxh3_128_hexdigest

from skitter.clock import Clock, timestamp
from skitter.errors import (
    BackendError,
    DataFolderDamagedError,
    SkitterError,
    StorageFullError,
)
from skitter.models import Location
from skitter.store.base import StoredPage
from skitter.store.warc import decode_page, encode_info, encode_page

__all__ = ["SegmentStore", "whole_length"]

#: Small beside many members in a row: what follows a member's end is copied once per member.
_CHUNK_BYTES = 1 << 16
_GZIP_WBITS = 31
#: The stub takes it for an instance.
_BadGzip: type[Exception] = isal_zlib.error  # type: ignore[assignment]
#: What can come of reading a member that is not whole or not gzip.
_TORN = (_BadGzip, EOFError)
_SEGMENT_NUMBERS = "[0-9]" * 8 + ".warc.gz"


class SegmentStore:
    """See `skitter.store.base.Store`. One segment is open per job.

    Several processes may write to one root, each to a `series` of segments of its own.
    """

    def __init__(
        self, root: Path, *, clock: Clock, software: str, segment_bytes: int, series: str = ""
    ) -> None:
        self._root = root
        self._series = series
        self._clock = clock
        self._software = software
        self._segment_bytes = segment_bytes
        self._open: dict[str, _Segment] = {}
        self._paths: dict[str, Path] = {}
        #: A segment is written and synced by one group at a time.
        self._writing = asyncio.Lock()

    async def append(self, job_id: str, pages: Sequence[StoredPage]) -> list[Location]:
        if not pages:
            return []
        members = [encode_page(page) for page in pages]
        async with self._writing:
            segment = self._segment(job_id)
            locations = _locations(segment, members)
            try:
                await _settled(asyncio.to_thread(segment.append, b"".join(members)))
            except SkitterError:
                # Opening it again finds out how much of it is whole.
                self._open.pop(job_id).close()
                raise
            if segment.length >= self._segment_bytes:
                self._open.pop(job_id).close()
        return locations

    async def read(self, location: Location) -> StoredPage:
        return decode_page(await self.copy(location))

    async def copy(self, location: Location) -> bytes:
        path = self._path(location.segment)
        try:
            with path.open("rb", buffering=0) as file:
                member = os.pread(file.fileno(), location.length, location.offset)
        except (OSError, ValueError) as error:
            message = f"cannot read a stored page: {error}"
            raise DataFolderDamagedError(message) from error
        if len(member) != location.length:
            message = f"{path} is shorter than the catalog says"
            raise DataFolderDamagedError(message)
        return member

    async def delete(self, job_id: str) -> None:
        folder = self._folder(job_id)
        async with self._writing:
            if job_id in self._open:
                self._open.pop(job_id).close()
            try:
                await asyncio.to_thread(shutil.rmtree, folder)
            except FileNotFoundError:
                return
            except OSError as error:
                message = f"cannot delete {folder}: {error}"
                raise BackendError(message) from error

    async def aclose(self) -> None:
        for segment in self._open.values():
            segment.close()
        self._open.clear()

    def _segment(self, job_id: str) -> "_Segment":
        segment = self._open.get(job_id)
        if segment is None:
            segment = self._open[job_id] = self._open_segment(job_id)
        return segment

    def _open_segment(self, job_id: str) -> "_Segment":
        folder = self._folder(job_id)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            names = folder.glob(self._series + _SEGMENT_NUMBERS)
            numbers = [int(path.name[len(self._series) :][:8]) for path in names]
            number = max(numbers, default=1)
            path = folder / f"{self._series}{number:08}.warc.gz"
            length = whole_length(path) if path.exists() else 0
            if length >= self._segment_bytes:
                path, length = folder / f"{self._series}{number + 1:08}.warc.gz", 0
            segment = _Segment(path, f"{job_id}/{path.name}", length)
        except OSError as error:
            raise _storage_error(error) from error
        if length == 0:
            now = timestamp(self._clock.time())
            info_id: str = xxh3_128_hexdigest(f"{segment.name}/{now}".encode())
            segment.append(encode_info(info_id, now, self._software))
        return segment

    def _folder(self, job_id: str) -> Path:
        """A job's own folder; its name comes from a hash, so anything else is an attack."""
        if not job_id.isalnum():
            message = f"not the id of a job: {job_id!r}"
            raise BackendError(message)
        return self._path(job_id)

    def _path(self, name: str) -> Path:
        """The path of a folder or segment, which a link may not lead out of the store."""
        path = self._paths.get(name)
        if path is None:
            path = self._root / name
            if not path.resolve().is_relative_to(self._root.resolve()):
                message = f"the catalog names a segment outside: {name}"
                raise DataFolderDamagedError(message)
            self._paths[name] = path
        return path


class _Segment:
    """An open segment file; `length` counts what is durable, whole records only."""

    def __init__(self, path: Path, name: str, length: int) -> None:
        self.name = name
        self.length = length
        self._file: BinaryIO = path.open("r+b" if path.exists() else "xb", buffering=0)
        self._file.truncate(length)
        _sync_folder(path.parent)

    def append(self, data: bytes) -> None:
        """Write and sync, or leave the file as it was."""
        descriptor = self._file.fileno()
        view = memoryview(data)
        try:
            self._file.seek(self.length)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        except OSError as error:
            # After a failed sync nobody knows which bytes are on the disk: take them back,
            # else a hole might come to lie before records that are durable.
            with suppress(OSError):
                self._file.truncate(self.length)
            raise _storage_error(error) from error
        self.length += len(data)

    def close(self) -> None:
        self._file.close()


async def _settled(write: Awaitable[None]) -> None:
    """Wait for a write even when cancelled: its thread goes on and needs the file."""
    task = asyncio.ensure_future(write)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


def _locations(segment: _Segment, members: Sequence[bytes]) -> list[Location]:
    locations = []
    offset = segment.length
    for member in members:
        locations.append(Location(segment.name, offset, len(member)))
        offset += len(member)
    return locations


def whole_length(path: Path) -> int:
    """Bytes of a segment up to the end of its last whole gzip member."""
    whole = 0
    rest = b""
    with path.open("rb") as file:
        while True:
            try:
                consumed, rest = _skip_member(file, rest)
            except _TORN:
                return whole
            whole += consumed


def _skip_member(file: BinaryIO, chunk: bytes) -> tuple[int, bytes]:
    """The compressed length of the next member and what was read beyond it."""
    member = isal_zlib.decompressobj(_GZIP_WBITS)
    consumed = 0
    while not member.eof:
        chunk = chunk or file.read(_CHUNK_BYTES)
        if not chunk:
            raise EOFError
        consumed += len(chunk)
        member.decompress(chunk)
        chunk = b""
    return consumed - len(member.unused_data), member.unused_data


def _sync_folder(folder: Path) -> None:
    """Make a new file's name durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _storage_error(error: OSError) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFullError("no space left in the data folder: make room and run it again")
    return BackendError(f"cannot write to the store: {error}")
