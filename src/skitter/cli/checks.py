"""What `skitter doctor` looks at. Each check answers with a value and never raises."""

import importlib
import importlib.metadata
import os
import platform
import resource
import shutil
import sqlite3
import sys
import tempfile
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from skitter.clock import Clock

__all__ = ["DEPENDENCIES", "Finding", "Status", "examine"]

MIN_PYTHON = (3, 11)
#: RETURNING and STRICT tables.
MIN_SQLITE = (3, 37)
#: 256 transfers, their files and databases, with room to spare.
GOOD_DESCRIPTORS = 1024
LOW_DISK_BYTES = 1024**3
#: A clock this much behind our own files is wrong.
CLOCK_SLACK_S = 86_400

#: Distribution -> (module, what it is needed for); the distributions are those of pyproject.toml.
DEPENDENCIES = {
    "ada-url": ("ada_url", "parsing URLs as browsers do"),
    "chardetng-py": ("chardetng_py", "pages that do not name their encoding"),
    "click": ("click", "the command line"),
    "google-re2": ("re2", "--allow and --deny, reading HTML"),
    "isal": ("isal", "compressing what is stored"),
    "msgspec": ("msgspec", "settings, records and JSON"),
    "protego": ("protego", "reading robots.txt"),
    "publicsuffixlist": ("publicsuffixlist", "telling domains apart"),
    "pycares": ("pycares", "resolving host names"),
    "pycurl": ("pycurl", "fetching"),
    "rich": ("rich", "live progress"),
    "structlog": ("structlog", "logs"),
    "xxhash": ("xxhash", "fingerprints of URLs"),
}


class Status(StrEnum):
    """`WARN`: works, with something missing. `FAIL`: a crawl cannot work."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(Struct, frozen=True, kw_only=True):
    """What one check saw."""

    name: str
    status: Status
    detail: str
    needed_for: str
    #: Empty when there is nothing to do.
    fix: str = ""


def examine(data: Path, clock: Clock) -> list[Finding]:
    """Every check, in the order they are shown."""
    return [
        _python(),
        *(_dependency(*entry) for entry in DEPENDENCIES.items()),
        *_libcurl(),
        _sqlite(),
        _parquet(),
        _descriptors(),
        _data_folder(data),
        _disk_space(data),
        _clock(clock),
    ]


def _finding(
    name: str, detail: str, needed_for: str, *, good: bool, otherwise: Status, fix: str
) -> Finding:
    return Finding(
        name=name,
        status=Status.OK if good else otherwise,
        detail=detail,
        needed_for=needed_for,
        fix="" if good else fix,
    )


def _python() -> Finding:
    return _finding(
        "python",
        platform.python_version(),
        "everything",
        good=sys.version_info >= MIN_PYTHON,
        otherwise=Status.FAIL,
        fix="install Python 3.11 or newer",
    )


def _dependency(distribution: str, about: tuple[str, str]) -> Finding:
    module, needed_for = about
    try:
        importlib.import_module(module)
        detail, good = importlib.metadata.version(distribution), True
    except Exception as error:  # noqa: BLE001  (a broken wheel may raise anything)
        detail, good = f"{type(error).__name__}: {error}", False
    return _finding(
        distribution,
        detail,
        needed_for,
        good=good,
        otherwise=Status.FAIL,
        fix=f"pip install --force-reinstall {distribution}",
    )


def _libcurl() -> list[Finding]:
    try:
        curl = importlib.import_module("pycurl")
    except ImportError:
        return []  # already said by its dependency
    info = curl.version_info()
    bits: int = info[4]
    features = (
        ("tls", bool(info[5]), "https", Status.FAIL),
        ("http2", bool(bits & curl.VERSION_HTTP2), "HTTP/2", Status.WARN),
        ("http3", bool(bits & curl.VERSION_HTTP3), "HTTP/3", Status.WARN),
        ("brotli", bool(bits & curl.VERSION_BROTLI), "bodies in brotli", Status.WARN),
    )
    return [
        _finding(
            f"libcurl {name}",
            f"libcurl {info[1]}, {info[5] or 'no TLS'}" if name == "tls" else _yes(has),
            needed_for,
            good=has,
            otherwise=otherwise,
            fix="pip install --force-reinstall --only-binary :all: pycurl",
        )
        for name, has, needed_for, otherwise in features
    ]


def _yes(has: bool) -> str:
    return "yes" if has else "no"


def _sqlite() -> Finding:
    return _finding(
        "sqlite",
        sqlite3.sqlite_version,
        "frontier and catalog of the data folder",
        good=sqlite3.sqlite_version_info >= MIN_SQLITE,
        otherwise=Status.FAIL,
        fix=f"use a Python with SQLite {'.'.join(map(str, MIN_SQLITE))} or newer",
    )


def _parquet() -> Finding:
    try:
        detail, good = importlib.metadata.version("pyarrow"), True
    except importlib.metadata.PackageNotFoundError:
        detail, good = "not installed", False
    return _finding(
        "extra parquet",
        detail,
        "-o FILE.parquet",
        good=good,
        otherwise=Status.WARN,
        fix="pip install 'skitter[parquet]'",
    )


def _descriptors() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _finding(
        "descriptors",
        str(soft),
        "many transfers at once",
        good=soft == resource.RLIM_INFINITY or soft >= GOOD_DESCRIPTORS,
        otherwise=Status.WARN,
        fix=f"ulimit -n {GOOD_DESCRIPTORS if hard < 0 else min(hard, GOOD_DESCRIPTORS)}",
    )


def _data_folder(data: Path) -> Finding:
    place = _nearest_existing(data)
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
        detail, good = str(data), True
    except OSError as error:
        detail, good = f"{place}: {error.strerror}", False
    return _finding(
        "data folder",
        detail,
        "keeping what was crawled",
        good=good,
        otherwise=Status.FAIL,
        fix="choose a folder you can write to with --data DIR",
    )


def _disk_space(data: Path) -> Finding:
    free = shutil.disk_usage(_nearest_existing(data)).free
    return _finding(
        "disk space",
        f"{free / 1024**3:.1f} GiB free",
        "keeping what was crawled",
        good=free >= LOW_DISK_BYTES,
        otherwise=Status.WARN,
        fix="make room, or choose another disk with --data DIR",
    )


def _nearest_existing(folder: Path) -> Path:
    """A check leaves nothing behind, so it does not create the folder either."""
    full = folder.absolute()
    return next(place for place in (full, *full.parents) if place.is_dir())


def _clock(clock: Clock) -> Finding:
    behind_s = Path(__file__).stat().st_mtime - clock.time()
    return _finding(
        "clock",
        "plausible" if behind_s <= CLOCK_SLACK_S else f"{behind_s:.0f} s behind our own files",
        "timestamps, TLS certificates",
        good=behind_s <= CLOCK_SLACK_S,
        otherwise=Status.WARN,
        fix="set the machine's clock (timedatectl set-ntp true)",
    )
