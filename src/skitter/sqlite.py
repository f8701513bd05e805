"""The thin border to SQLite that the embedded frontier and catalog share.

Statements run on the event loop's thread: one costs microseconds, and a second Python thread
that takes the interpreter lock for each row is far dearer. A commit only writes to the log,
so it survives the death of the process, though not of the machine. A durable transaction then
waits for a sync of the log, which runs in a thread, is shared by all who wait, and keeps
nobody else out.
"""

import asyncio
import errno
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from skitter.errors import (
    BackendError,
    DataFolderDamagedError,
    DataFolderError,
    DataFolderNewerError,
    StorageFullError,
)

__all__ = ["Database"]

Row = tuple[Any, ...]
Parameters = Sequence[Any] | Mapping[str, Any]

#: The write-ahead log is folded into the database after so many commits.
_FOLD_COMMITS = 512
#: Or after so many changed rows: each may dirty a page or two of its own in the log.
_FOLD_ROWS = 8_192
#: A log of so many pages is folded in while nobody writes, or it would never begin anew.
_LONG_LOG_PAGES = 8_192

_sync = getattr(os, "fdatasync", os.fsync)


class Database:
    """One SQLite file, one connection, one transaction at a time.

    `read_only` is for looking on while another process writes: it takes no lock, makes no
    table and folds no log in, so it neither waits for the writer nor makes it wait.
    """

    def __init__(self, path: Path, schema: str, version: int, *, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        self._lock = asyncio.Lock()
        #: Since folding last began.
        self._commits = self._folded_rows = 0
        self._folding: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        with self._mapped():
            self._connection = self._connect("ro" if read_only else "rwc")
            try:
                self._prepare(schema, version)
            except BaseException:
                self._connection.close()
                raise
        self._log = None if read_only else _Log(path.with_name(f"{path.name}-wal"))
        #: Bound methods of the connection, for statements inside a transaction.
        self.execute = self._connection.execute
        self.executemany = self._connection.executemany

    def _connect(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )

    def _prepare(self, schema: str, version: int) -> None:
        run = self._connection.execute
        if not self._read_only:
            run("PRAGMA journal_mode=WAL")
            run("PRAGMA wal_autocheckpoint=0")
            run("PRAGMA synchronous=FULL")
        run("PRAGMA temp_store=MEMORY")
        run("PRAGMA cache_size=-16000")
        found = run("PRAGMA user_version").fetchone()[0]
        if found > version:
            message = (
                f"{self.path} has format {found}, this version of Skitter reads up to {version}:"
                " upgrade Skitter or choose another --data"
            )
            raise DataFolderNewerError(message)
        if found == 0:
            self._connection.executescript(f"BEGIN;{schema};PRAGMA user_version={version};COMMIT;")
        if not self._read_only:
            # From here on SQLite syncs only to keep its own order; `_Log` does the rest.
            run("PRAGMA synchronous=NORMAL")

    @asynccontextmanager
    async def transaction(self, *, durable: bool = True) -> AsyncIterator[None]:
        """All statements inside take effect together, or none.

        When a durable one returns, it and all before it are on the disk. Cancelled while it
        waits for that, it has happened nevertheless.
        """
        async with self._lock:
            if self._failure is not None:
                raise self._failure
            with self._mapped():
                self.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    self._connection.commit()
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.rollback()
                    raise
        self._fold_if_due()
        if durable and self._log is not None:
            try:
                await self._log.synced()
            except OSError as error:
                # What did not reach the disk may be gone for good: a second try proves nothing.
                self._failure = _translate(error, self.path)
                raise self._failure from error

    def query(self, statement: str, parameters: Parameters = ()) -> list[Row]:
        """The rows of a SELECT."""
        with self._mapped():
            return self.execute(statement, parameters).fetchall()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All SELECTs inside see the same moment, whatever others write meanwhile."""
        with self._mapped():
            self.execute("BEGIN")
            try:
                yield
            finally:
                self.execute("ROLLBACK")

    def iterate(self, statement: str, parameters: Parameters = ()) -> Iterator[Row]:
        """The rows of a SELECT, one after the other."""
        with self._mapped():
            yield from self.execute(statement, parameters)

    async def aclose(self) -> None:
        """Fold the log in and close; safe to call twice."""
        if self._folding is not None:
            await asyncio.wait((self._folding,))
        async with self._lock:
            if self._log is not None:
                await self._log.aclose()
            await asyncio.to_thread(self._close)

    def _fold_if_due(self) -> None:
        self._commits += 1
        rows = self._connection.total_changes - self._folded_rows
        if self._commits < _FOLD_COMMITS and rows < _FOLD_ROWS:
            return
        if self._folding is None:
            self._commits = 0
            self._folded_rows += rows
            self._folding = asyncio.get_running_loop().create_task(self._fold())

    async def _fold(self) -> None:
        """Bring the log into the database beside all that goes on; a failure ends all of it."""
        try:
            pages = await asyncio.to_thread(self._checkpoint)
            if pages > _LONG_LOG_PAGES:
                # Little is left by now. Without writers the log is done with and begins anew.
                async with self._lock:
                    await asyncio.to_thread(self._checkpoint)
        except sqlite3.Error as error:
            self._failure = _translate(error, self.path)
        finally:
            self._folding = None

    def _checkpoint(self) -> int:
        """Over a connection of its own, so that the other one can write. Pages in the log."""
        connection = self._connect("rw")
        try:
            connection.execute("PRAGMA user_version")  # only a read makes it look at the log
            _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        finally:
            connection.close()
        return int(pages)

    def _close(self) -> None:
        if not self._read_only:
            with suppress(sqlite3.Error):
                self.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        """The one place where the driver's errors become ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise _translate(error, self.path) from error


class _Log:
    """The write-ahead log's file, to sync it. SQLite takes no locks on it, so it may be opened."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        self._running: asyncio.Future[None] | None = None
        #: What whoever came after the running sync began waits for.
        self._next: asyncio.Future[None] | None = None

    async def synced(self) -> None:
        """Returns when everything that was written before the call is on the disk."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        following = self._next
        if self._running is None:
            self._begin()
        # The future is everybody's: one who is cancelled must not take it along.
        await asyncio.shield(following)

    async def aclose(self) -> None:
        """Sync what is written and let go of the file; safe to call twice."""
        if self._descriptor >= 0:
            with suppress(OSError):
                await self.synced()
            os.close(self._descriptor)
            self._descriptor = -1

    def _begin(self) -> None:
        self._running, self._next = self._next, None
        syncing = asyncio.get_running_loop().run_in_executor(None, _sync, self._descriptor)
        syncing.add_done_callback(self._end)

    def _end(self, syncing: asyncio.Future[None]) -> None:
        ended, self._running = self._running, None
        if ended is not None and not ended.done():
            error = syncing.exception()
            if error is None:
                ended.set_result(None)
            else:
                ended.set_exception(error)
        if self._next is not None:
            self._begin()


def _translate(error: sqlite3.Error | OSError, path: Path) -> Exception:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    is_full = isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
    io_error = code == sqlite3.SQLITE_IOERR and _disk_is_full(path)
    if is_full or io_error or code == sqlite3.SQLITE_FULL:
        return StorageFullError(f"no space left for {path}: make room and run it again")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return DataFolderDamagedError(
            f"{path} is damaged ({error}): restore it from a copy or choose another --data"
        )
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return DataFolderError(f"cannot write {path} ({error}): check its permissions")
    return BackendError(f"{path}: {error}")


def _disk_is_full(path: Path) -> bool:
    room = os.statvfs(path.parent)
    return room.f_bavail * room.f_frsize < 1 << 20
