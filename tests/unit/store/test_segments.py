"""Segments on a disk: torn tails, full disks, and other people's tools."""

import asyncio
import errno
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from hashlib import sha256
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.cli import main as warcio

from skitter.errors import BackendError, DataFolderDamagedError, StorageFullError
from skitter.models import Location
from skitter.store.base import StoredPage
from skitter.store.segments import SegmentStore, whole_length

JOB = "a" * 32


class StoppedClock:
    def time(self) -> float:
        return 1_700_000_000.0

    def monotonic(self) -> float:
        return 0.0


def open_store(root: Path, segment_bytes: int = 1 << 20) -> SegmentStore:
    return SegmentStore(root, clock=StoppedClock(), software="Test/1", segment_bytes=segment_bytes)


def page(number: int, body: bytes = b"<p>hello") -> StoredPage:
    return StoredPage(
        record_id=f"{number:032x}",
        url=f"http://site.test/{number}",
        timestamp="2026-01-02T03:04:05.000006",
        head=(b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked", b"Content-Encoding: gzip"),
        body=body,
        digest=f"sha256:{sha256(body).hexdigest()}",
    )


def append(root: Path, *pages: StoredPage, segment_bytes: int = 1 << 20) -> list[Location]:
    async def main() -> list[Location]:
        store = open_store(root, segment_bytes)
        try:
            return await store.append(JOB, pages)
        finally:
            await store.aclose()

    return asyncio.run(main())


def read(root: Path, location: Location) -> StoredPage:
    return asyncio.run(open_store(root).read(location))


def ids_by_warcio(path: Path) -> list[str]:
    with path.open("rb") as file:
        found = list(ArchiveIterator(file, check_digests="raise"))
    return [record.rec_headers.get_header("WARC-Target-URI") for record in found]


def check(*paths: Path) -> str:
    """What `warcio check` prints; nothing if it has no complaint."""
    printed = io.StringIO()
    with redirect_stdout(printed), pytest.raises(SystemExit) as ended:
        warcio(["check", *map(str, paths)])
    assert ended.value.code == 0, printed.getvalue()
    return printed.getvalue()


def test_warcio_has_no_complaint(tmp_path: Path) -> None:
    noise = [os.urandom(1_500) for _ in range(12)]
    for number, body in enumerate(noise):
        append(tmp_path, page(number, body), page(100 + number), segment_bytes=6_000)
    segments = sorted((tmp_path / JOB).iterdir())
    assert [path.name for path in segments] == [f"{n:08}.warc.gz" for n in range(1, 5)]
    assert check(*segments) == ""
    bodies = []
    for path in segments:
        with path.open("rb") as file:
            records = [(r.rec_type, r.content_stream().read()) for r in ArchiveIterator(file)]
        assert records[0][0] == "warcinfo"
        bodies += [body for _, body in records[1:]]
    assert bodies[::2] == noise


@pytest.fixture(scope="module")
def segment(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[Location]]:
    """Bytes of a segment with three pages, the last one with a body that does not compress."""
    root = tmp_path_factory.mktemp("segment")
    locations = append(root, page(1), page(2), page(3, os.urandom(200)))
    return (root / locations[0].segment).read_bytes(), locations


def test_a_tail_torn_at_any_byte_is_cut(
    tmp_path: Path, segment: tuple[bytes, list[Location]]
) -> None:
    data, locations = segment
    last = locations[-1]
    path = tmp_path / last.segment
    path.parent.mkdir()
    for size in range(last.offset, len(data)):
        path.write_bytes(data[:size])
        assert whole_length(path) == last.offset, size
    path.write_bytes(data)
    assert whole_length(path) == len(data)


def test_after_a_tear_appending_goes_on_where_it_was_whole(
    tmp_path: Path, segment: tuple[bytes, list[Location]]
) -> None:
    data, locations = segment
    last = locations[-1]
    path = tmp_path / last.segment
    path.parent.mkdir()
    for size in range(last.offset, len(data), 7):
        path.write_bytes(data[:size])
        [location] = append(tmp_path, page(4))
        assert location.offset == last.offset
        assert read(tmp_path, location) == page(4)
        assert ids_by_warcio(path)[1:] == [f"http://site.test/{n}" for n in (1, 2, 4)]


@pytest.mark.parametrize("tail", [b"\0" * 5_000, b"garbage", b"\x1f\x8b", b"\x1f\x8b\x08\0" * 99])
def test_what_a_power_cut_left_behind_is_cut(
    tmp_path: Path, segment: tuple[bytes, list[Location]], tail: bytes
) -> None:
    data, locations = segment
    path = tmp_path / locations[0].segment
    path.parent.mkdir()
    path.write_bytes(data + tail)
    assert whole_length(path) == len(data)


@pytest.mark.parametrize("size", [0, 1, 30])
def test_a_segment_without_its_first_record_begins_anew(
    tmp_path: Path, segment: tuple[bytes, list[Location]], size: int
) -> None:
    path = tmp_path / segment[1][0].segment
    path.parent.mkdir()
    path.write_bytes(segment[0][:size])
    append(tmp_path, page(9))
    assert ids_by_warcio(path) == [None, "http://site.test/9"]


def test_members_larger_than_a_read_are_measured(tmp_path: Path) -> None:
    append(tmp_path, page(1, os.urandom(300_000)), page(2), page(3, os.urandom(70_000)))
    [path] = (tmp_path / JOB).iterdir()
    size = path.stat().st_size
    assert whole_length(path) == size
    os.truncate(path, size - 1)
    assert size - 72_000 < whole_length(path) < size - 70_000


def test_files_of_other_names_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / JOB
    folder.mkdir()
    for name in ("1.warc.gz", "notes.txt", "123456789.warc.gz"):
        (folder / name).write_bytes(b"mine")
    [location] = append(tmp_path, page(1))
    assert location.segment == f"{JOB}/00000001.warc.gz"
    assert (folder / "1.warc.gz").read_bytes() == b"mine"


def test_a_link_out_of_the_store_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "store"
    root.mkdir()
    (root / JOB).symlink_to(outside)
    with pytest.raises(DataFolderDamagedError):
        append(root, page(1))
    with pytest.raises(DataFolderDamagedError):
        asyncio.run(open_store(root).delete(JOB))
    assert outside.is_dir()
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, StorageFullError),
        (errno.EDQUOT, StorageFullError),
        (errno.EIO, BackendError),
    ],
)
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_failed_group_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, kind: type[Exception]
) -> None:
    real = getattr(os, call)

    def half_then_fail(descriptor: int, *data: bytes) -> int:
        if data:
            real(descriptor, data[0][: len(data[0]) // 2])
        raise OSError(number, os.strerror(number))

    async def main() -> list[Location]:
        store = open_store(tmp_path)
        kept = await store.append(JOB, [page(1)])
        with monkeypatch.context() as patch:
            patch.setattr(os, call, half_then_fail)
            with pytest.raises(kind):
                await store.append(JOB, [page(2), page(3)])
        kept += await store.append(JOB, [page(4)])
        await store.aclose()
        return kept

    kept = asyncio.run(main())
    assert [read(tmp_path, location) for location in kept] == [page(1), page(4)]
    [path] = (tmp_path / JOB).iterdir()
    assert ids_by_warcio(path)[1:] == ["http://site.test/1", "http://site.test/4"]


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    where = tmp_path / "tiny"
    where.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(where)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a tmpfs needs root")
    yield where
    subprocess.run(["umount", str(where)], check=True)


async def fill(store: SegmentStore, kept: list[Location]) -> None:
    for number in range(100):
        kept += await store.append(JOB, [page(number, os.urandom(3_000))])


@pytest.mark.skipif(sys.platform != "linux", reason="tmpfs is Linux's")
def test_a_full_disk_keeps_what_was_durable_and_goes_on_with_room(tiny_disk: Path) -> None:
    ballast = tiny_disk / "ballast"
    ballast.write_bytes(b"x" * 20_000)

    async def main() -> list[Location]:
        store = open_store(tiny_disk)
        kept: list[Location] = []
        with pytest.raises(StorageFullError):
            await fill(store, kept)
        [path] = (tiny_disk / JOB).iterdir()
        assert len(ids_by_warcio(path)) == 1 + len(kept)
        ballast.unlink()
        kept += await store.append(JOB, [page(200)])
        await store.aclose()
        return kept

    kept = asyncio.run(main())
    assert len(kept) > 5
    assert read(tiny_disk, kept[-1]) == page(200)
    [path] = (tiny_disk / JOB).iterdir()
    assert check(path) == ""


def test_cancelling_waits_for_the_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    async def main() -> None:
        store = open_store(tmp_path)
        await store.append(JOB, [page(1)])
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(store.append(JOB, [page(2)]))

        def cancel_first(descriptor: int) -> None:
            loop.call_soon_threadsafe(task.cancel)
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()
            real(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", cancel_first)
            with pytest.raises(asyncio.CancelledError):
                await task
        await store.append(JOB, [page(3)])
        await store.aclose()

    asyncio.run(main())
    [path] = (tmp_path / JOB).iterdir()
    assert ids_by_warcio(path)[1:] == [f"http://site.test/{n}" for n in (1, 2, 3)]
