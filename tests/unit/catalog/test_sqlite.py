"""The embedded catalog's file: damage, other versions, a crash between write and commit."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from skitter.catalog.base import Page, SavedOutput
from skitter.catalog.sqlite import CATALOG_FORMAT, SqliteCatalog
from skitter.errors import DataFolderDamagedError, DataFolderNewerError
from skitter.models import Outcome, Record

#: Adds a page, appends its line to a file, and dies before the commit.
DIES = """
import asyncio, os, signal, sys
from pathlib import Path
from skitter.catalog.sqlite import SqliteCatalog

async def main():
    catalog = SqliteCatalog(Path(sys.argv[1]))
    [page] = [p async for p in catalog.pages("news")]
    again = type(page)(head=page.head, line=page.line)
    def append(pages):
        with open(sys.argv[2], "ab") as file:
            file.write(page.line)
            file.flush()
            os.fsync(file.fileno())
        os.kill(os.getpid(), signal.SIGKILL)
    await catalog.add("other", [again], append)

asyncio.run(main())
"""


def page(number: int) -> Page:
    record = Record(
        id=f"{number:032x}",
        appid="skitter",
        crawlid="news",
        job="a" * 32,
        url=f"http://site.test/{number}",
        response_url=f"http://site.test/{number}",
        redirected_from=None,
        outcome=Outcome.DONE,
        status_code=200,
        status_msg="OK",
        timestamp="2026-01-02T03:04:05.000006",
        depth=0,
        parent=None,
        spider="link",
        encoding=None,
        content_type=None,
        length=0,
        digest=None,
        title=None,
        links=[],
        request_headers={},
        response_headers={},
        attrs=None,
        elapsed_ms=1,
        truncated=None,
        error=None,
    )
    return Page.of(record)


def nothing(_pages: Sequence[Page]) -> list[SavedOutput]:
    return []


async def filled(path: Path) -> None:
    catalog = SqliteCatalog(path)
    await catalog.add("news", [page(1)], nothing)
    await catalog.aclose()


async def listed(path: Path, job: str = "news") -> list[str]:
    catalog = SqliteCatalog(path)
    try:
        return [found.record.id async for found in catalog.pages(job)]
    finally:
        await catalog.aclose()


def test_killed_between_append_and_commit_nothing_is_there(tmp_path: Path) -> None:
    path, output = tmp_path / "catalog.sqlite", tmp_path / "out.jsonl"
    asyncio.run(filled(path))
    died = subprocess.run([sys.executable, "-c", DIES, path, output], check=False)
    assert died.returncode == -signal.SIGKILL
    assert output.stat().st_size > 0
    assert asyncio.run(listed(path)) == [page(1).record.id]
    assert asyncio.run(listed(path, "other")) == []


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    asyncio.run(filled(path))
    with sqlite3.connect(path) as raw:
        raw.execute(f"PRAGMA user_version={CATALOG_FORMAT + 1}")
    raw.close()
    with pytest.raises(DataFolderNewerError, match="upgrade"):
        SqliteCatalog(path)


@pytest.mark.parametrize("record", [b"", b"garbage", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_row_is_told(tmp_path: Path, record: bytes) -> None:
    path = tmp_path / "catalog.sqlite"
    asyncio.run(filled(path))
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE page SET record = ?", (record,))
    raw.close()
    with pytest.raises(DataFolderDamagedError, match="restore"):
        asyncio.run(listed(path))


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    path.write_bytes(os.urandom(5_000))
    with pytest.raises(DataFolderDamagedError):
        SqliteCatalog(path)
