"""The thin border to SQLite that the embedded frontier and catalog share.

Statements run on the event loop's thread: one costs microseconds, and a second Python thread
that takes the interpreter lock for each row is far dearer. Only what waits for the disk, the
commit of a durable transaction, runs in a thread; `transaction` lets nobody in meanwhile.

A durable transaction is on the disk when it returns. One that is not durable survives the
death of the process, though not of the machine; leases need no more.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
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

#: The write-ahead log is folded into the database after so many durable commits.
_CHECKPOINT_COMMITS = 64
#: Or after so many changed rows: each may dirty a page or two of its own in the log.
_CHECKPOINT_ROWS = 8_192


class Database:
    """One SQLite file, one connection, one transaction at a time.

    `read_only` is for looking on while another process writes: it takes no lock, makes no
    table and folds no log in, so it neither waits for the writer nor makes it wait.
    """

    def __init__(self, path: Path, schema: str, version: int, *, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        self._lock = asyncio.Lock()
        #: Since the log was last folded in, and rows changed until then.
        self._commits = self._folded_rows = 0
        self._durable = True
        with self._mapped():
            mode = "ro" if read_only else "rwc"
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._prepare(schema, version)
            except BaseException:
                self._connection.close()
                raise
        #: Bound methods of the connection, for statements inside a transaction.
        self.execute = self._connection.execute
        self.executemany = self._connection.executemany

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

    @asynccontextmanager
    async def transaction(self, *, durable: bool = True) -> AsyncIterator[None]:
        """All statements inside take effect together, or none."""
        async with self._lock:
            with self._mapped():
                self._set_durable(durable=durable)
                self.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    if durable:
                        await _settled(asyncio.to_thread(self._commit_durably))
                    else:
                        self._connection.commit()
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.rollback()
                    raise

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
        async with self._lock:
            await asyncio.to_thread(self._close)

    def _set_durable(self, *, durable: bool) -> None:
        # In WAL mode NORMAL only leaves out the fsync of each commit; the next FULL one syncs
        # the whole log, so order is kept.
        if durable is not self._durable:
            self.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            self._durable = durable

    def _commit_durably(self) -> None:
        self._connection.commit()
        self._commits += 1
        rows = self._connection.total_changes - self._folded_rows
        if self._commits >= _CHECKPOINT_COMMITS or rows >= _CHECKPOINT_ROWS:
            self._commits = 0
            self._folded_rows += rows
            self.execute("PRAGMA wal_checkpoint(PASSIVE)")

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


async def _settled(commit: Awaitable[None]) -> None:
    """Wait for a commit even when cancelled: not knowing how it ended would be worse."""
    task = asyncio.ensure_future(commit)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled


def _translate(error: sqlite3.Error, path: Path) -> Exception:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _disk_is_full(path)):
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
