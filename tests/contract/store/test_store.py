"""What every store promises. A new backend joins by an entry in `STORES`."""

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from skitter.errors import SkitterError
from skitter.models import Location
from skitter.store.base import Store, StoredPage
from skitter.store.segments import SegmentStore

Open = Callable[[], Store]

JOB = "0" * 32
OTHER = "f" * 32


class StoppedClock:
    def time(self) -> float:
        return 1_700_000_000.0

    def monotonic(self) -> float:
        return 0.0


def file_store(root: Path) -> Store:
    return SegmentStore(root, clock=StoppedClock(), software="Test/1", segment_bytes=20_000)


STORES = {"file": file_store}


@pytest.fixture(params=STORES)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens the same storage again with each call."""
    return lambda: STORES[request.param](tmp_path / "store")


def page(number: int, body: bytes = b"<p>hello") -> StoredPage:
    return StoredPage(
        record_id=f"{number:032x}",
        url=f"http://site.test/{number}",
        timestamp="2026-01-02T03:04:05.000006",
        head=(b"HTTP/1.1 200 OK", b"Content-Type: text/html"),
        body=body,
        digest=f"sha256:{hashlib.sha256(body).hexdigest()}",
        server_ip="127.0.1.1",
        fields=b'{"depth":1,"parent":"http://site.test/\xc3\xa9"}',
    )


def test_what_is_read_is_what_was_appended(open_store: Open) -> None:
    pages = [
        page(1),
        page(2, b""),
        page(3, bytes(range(256)) * 40 + b"\r\n\r\nWARC/1.1\r\n\r\n"),
        replace(page(4), truncated="length", server_ip=None),
        replace(page(5), head=(), body=b"", digest=None),
    ]

    async def main() -> list[StoredPage]:
        store = open_store()
        locations = await store.append(JOB, pages)
        found = [await store.read(location) for location in locations]
        await store.aclose()
        return found

    assert asyncio.run(main()) == pages


def test_locations_hold_after_reopening_and_over_many_segments(open_store: Open) -> None:
    noise = [hashlib.sha512(bytes([n])).digest() * 60 for n in range(40)]

    async def main() -> list[bytes]:
        locations: list[Location] = []
        for n, body in enumerate(noise):
            store = open_store()
            locations += await store.append(JOB, [page(n, body), page(n + 100, body[::-1])])
            await store.aclose()
        store = open_store()
        bodies = [(await store.read(location)).body for location in locations[::2]]
        await store.aclose()
        return bodies

    assert asyncio.run(main()) == noise


def test_groups_appended_at_once_do_not_mix(open_store: Open) -> None:
    async def main() -> list[str]:
        store = open_store()
        groups = await asyncio.gather(
            *(store.append(JOB, [page(n), page(n + 50)]) for n in range(20))
        )
        found = [(await store.read(place)).record_id for group in groups for place in group]
        await store.aclose()
        return found

    expected = [f"{n + more:032x}" for n in range(20) for more in (0, 50)]
    assert asyncio.run(main()) == expected


def test_delete_removes_one_job_only_and_may_be_repeated(open_store: Open) -> None:
    async def main() -> StoredPage:
        store = open_store()
        [gone] = await store.append(JOB, [page(1)])
        [kept] = await store.append(OTHER, [page(2)])
        await store.delete(JOB)
        await store.delete(JOB)
        with pytest.raises(SkitterError):
            await store.read(gone)
        found = await store.read(kept)
        [again] = await store.append(JOB, [page(3)])
        assert (await store.read(again)).record_id == page(3).record_id
        await store.aclose()
        return found

    assert asyncio.run(main()) == page(2)


@pytest.mark.parametrize("job_id", ["", ".", "..", "../x", "a/b", "/etc", "a\0b"])
def test_an_id_that_is_no_name_is_refused(open_store: Open, job_id: str) -> None:
    async def main() -> None:
        store = open_store()
        for attempt in (store.append(job_id, [page(1)]), store.delete(job_id)):
            with pytest.raises(SkitterError):
                await attempt
        await store.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("segment", ["../secret", "/etc/passwd", f"{JOB}/../../secret"])
def test_a_location_outside_is_refused(open_store: Open, tmp_path: Path, segment: str) -> None:
    (tmp_path / "secret").write_bytes(b"x" * 100)

    async def main() -> None:
        store = open_store()
        await store.append(JOB, [page(1)])
        with pytest.raises(SkitterError):
            await store.copy(Location(segment, 0, 10))
        await store.aclose()

    asyncio.run(main())


@pytest.mark.parametrize(("offset", "length"), [(-1, 10), (0, 10**9), (10**9, 10), (0, -1), (3, 9)])
def test_a_location_that_is_none_is_an_error_of_ours(
    open_store: Open, offset: int, length: int
) -> None:
    async def main() -> None:
        store = open_store()
        [place] = await store.append(JOB, [page(1)])
        with pytest.raises(SkitterError):
            await store.read(Location(place.segment, offset, length))
        await store.aclose()

    asyncio.run(main())
