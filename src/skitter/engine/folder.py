"""The data folder of an embedded crawl: its layout, its format, and who is using it."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from skitter.engine.logbook import LOG_FOLDER
from skitter.errors import (
    DataFolderBusyError,
    DataFolderDamagedError,
    DataFolderError,
    DataFolderNewerError,
    StorageFullError,
)

__all__ = ["FOLDER_FORMAT", "DataFolder", "announced", "control_socket", "frontier_socket"]

#: Version of the layout; a folder with a higher one is refused.
FOLDER_FORMAT = 1

#: How long the children of a dead crawl may take to let go of its folder.
_HAND_OVER_STEPS = 500
_HAND_OVER_STEP_S = 0.02

#: What SQLite makes of a database's name.
_SQLITE_FILES = ("", "-wal", "-shm", "-journal")
#: Says where the supervisor of a running crawl can be reached.
_ANNOUNCEMENT = "control"


class _Marker(msgspec.Struct):
    format: int


class DataFolder:
    """Paths inside a data folder. `lock` is held by the one process that crawls into it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.frontier = root / "frontier.sqlite"
        self.catalog = root / "catalog.sqlite"
        self.segments = root / "segments"
        self._marker = root / "skitter.json"
        self._lock_path = root / "lock"
        self._lock: int | None = None

    def worker_segments(self, place: str) -> list[Path]:
        """The segments that the worker of one place has written, in any job."""
        return sorted(self.segments.glob(f"*/w{place}-*.warc.gz"))

    def check(self) -> None:
        """Refuse a folder that is not ours to read."""
        if not self._marker.is_file():
            raise DataFolderError(
                f"{self.root} is not a Skitter data folder: crawl into it first,"
                " or name the right one with --data"
            )
        self._refuse_links()
        self._check_format()

    def prepare(self) -> None:
        """Make the folder, or refuse one that cannot be written or is too new."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self._refuse_links()
            if not self._marker.exists():
                self._write_marker()
        except OSError as error:
            raise _folder_error(self.root, error) from None
        self._check_format()

    def lock(self) -> None:
        """Take the folder for this process; the system lets go when the process ends.

        The children of a crawl hold it too. They notice the death of their parent, so a lock
        whose owner is dead is waited for.
        """
        try:
            descriptor = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise _folder_error(self.root, error) from None
        steps = 0
        while not _try_lock(descriptor):
            pid = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
            if not _is_dead(pid) or steps == _HAND_OVER_STEPS:
                os.close(descriptor)
                raise DataFolderBusyError(
                    f"{self.root} is in use by process {pid or 'unknown'}: wait for it,"
                    " or choose another --data"
                )
            steps += 1
            time.sleep(_HAND_OVER_STEP_S)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._lock = descriptor

    def is_held(self) -> bool:
        """True if a process has taken the folder.

        The pid is looked at first: a try to lock could be in the way of somebody who starts.
        """
        try:
            descriptor = os.open(self._lock_path, os.O_RDONLY)
        except OSError:
            return False
        try:
            pid = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
            if not pid or _is_dead(pid):
                return False
            return not _try_lock(descriptor)  # somebody else may have got that pid since
        finally:
            os.close(descriptor)

    def unlock(self) -> None:
        """Let go of the folder."""
        if self._lock is not None:
            with suppress(OSError):
                os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None

    def _refuse_links(self) -> None:
        """Whoever made the folder may have put a link in it to a file of somebody else's."""
        link = next(self._links(), None)
        if link is not None:
            raise DataFolderError(
                f"{link} is a link, which is not followed: put there what it leads to,"
                " or let --data name a link to the whole folder"
            )

    def _links(self) -> Iterator[str | Path]:
        databases = (self.frontier, self.catalog)
        places = [path.with_name(path.name + end) for path in databases for end in _SQLITE_FILES]
        places += [self._marker, self._marker.with_suffix(".partial"), self._lock_path]
        folders = [self.segments, self.root / LOG_FOLDER]
        places += [self.root / _ANNOUNCEMENT, *folders]
        yield from (path for path in places if path.is_symlink())
        for folder in folders:
            yield from _links_below(folder)

    def _write_marker(self) -> None:
        partial = self._marker.with_suffix(".partial")
        partial.write_bytes(msgspec.json.encode(_Marker(format=FOLDER_FORMAT)))
        partial.replace(self._marker)

    def _check_format(self) -> None:
        try:
            marker = msgspec.json.decode(self._marker.read_bytes(), type=_Marker)
        except (OSError, msgspec.MsgspecError) as error:
            raise DataFolderDamagedError(
                f"{self._marker} cannot be read ({error}): restore it or choose another --data"
            ) from None
        if marker.format > FOLDER_FORMAT:
            raise DataFolderNewerError(
                f"{self.root} has format {marker.format}, this version of Skitter reads up to"
                f" {FOLDER_FORMAT}: upgrade Skitter or choose another --data"
            )


@contextmanager
def announced(root: Path, sockets: Path) -> Iterator[None]:
    """While inside, `control_socket` tells where the crawl of this folder can be reached."""
    path = root / _ANNOUNCEMENT
    path.write_text(str(sockets / "control"))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def control_socket(root: Path) -> Path | None:
    """Where the supervisor of a running crawl listens; None if none does."""
    try:
        path = Path((root / _ANNOUNCEMENT).read_text().strip())
    except OSError:
        return None
    return path if path.is_socket() else None


def frontier_socket(root: Path) -> Path | None:
    """Where a running crawl answers questions about its frontier; None if none does."""
    try:
        path = Path((root / _ANNOUNCEMENT).read_text().strip()).with_name("coordinator")
    except (OSError, ValueError):
        return None
    return path if path.is_socket() else None


def _links_below(folder: str | Path) -> Iterator[str]:
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                yield entry.path
            elif entry.is_dir():
                yield from _links_below(entry.path)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_dead(pid: str) -> bool:
    if not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _folder_error(root: Path, error: OSError) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFullError(f"no space left for {root}: make room and run it again")
    return DataFolderError(
        f"cannot write to the data folder {root} ({error.strerror}): choose another with --data"
    )
