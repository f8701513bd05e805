"""What every catalog promises. A new backend joins by an entry in `CATALOGS`."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from skitter.catalog.base import Catalog, Page, SavedOutput
from skitter.catalog.sqlite import SqliteCatalog
from skitter.models import Link, Location, Outcome, Record

Open = Callable[[], Catalog]

CATALOGS = {"sqlite": lambda folder: SqliteCatalog(folder / "catalog.sqlite")}


@pytest.fixture(params=CATALOGS)
def open_catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens the same storage again with each call."""
    return lambda: CATALOGS[request.param](tmp_path)


def page(number: int, outcome: Outcome = Outcome.DONE, title: str = "Ünïcode\n\0") -> Page:
    record = Record(
        id=f"{number:032x}",
        appid="skitter",
        crawlid="news",
        job="a" * 32,
        url=f"http://site.test/{number}",
        response_url=f"http://site.test/{number}",
        redirected_from=None,
        outcome=outcome,
        status_code=200 if outcome is Outcome.DONE else None,
        status_msg="OK",
        timestamp="2026-01-02T03:04:05.000006",
        depth=1,
        parent="http://site.test/",
        spider="link",
        encoding="utf-8",
        content_type="text/html",
        length=5,
        digest="sha256:00",
        title=title,
        links=[Link("http://site.test/x", "x")],
        request_headers={"Accept": ["*/*"]},
        response_headers={"Set-Cookie": ["a=1", "b=2"]},
        attrs={"deep": [1, None]},
        elapsed_ms=7,
        truncated=None,
        error=None,
    )
    location = Location("seg", number, 10) if outcome is not Outcome.DROPPED else None
    return Page.of(record, location)


def nothing(_pages: Sequence[Page]) -> list[SavedOutput]:
    return []


async def ids(catalog: Catalog, job: str = "news", *, everything: bool = False) -> list[int]:
    return [int(p.record.id, 16) async for p in catalog.pages(job, everything=everything)]


def test_what_is_found_is_what_was_added(open_catalog: Open) -> None:
    async def main() -> None:
        catalog = open_catalog()
        await catalog.add("news", [page(1), page(2, Outcome.DROPPED)], nothing)
        await catalog.aclose()
        catalog = open_catalog()
        assert await catalog.get("news", page(1).record.id) == page(1)
        assert await catalog.get("news", page(2).record.id) == page(2, Outcome.DROPPED)
        assert await catalog.get("news", page(3).record.id) is None
        assert await catalog.get("other", page(1).record.id) is None
        await catalog.aclose()

    asyncio.run(main())


def test_pages_come_in_the_order_they_were_added(open_catalog: Open) -> None:
    async def main() -> None:
        catalog = open_catalog()
        await catalog.add("news", [page(5), page(3, Outcome.REDIRECTED)], nothing)
        await catalog.add("other", [page(9)], nothing)
        await catalog.add(
            "news", [page(4, Outcome.DROPPED), page(1, Outcome.FAILED), page(2)], nothing
        )
        assert await ids(catalog) == [5, 1, 2]
        assert await ids(catalog, everything=True) == [5, 3, 4, 1, 2]
        assert await ids(catalog, "other") == [9]
        assert await ids(catalog, "none") == []
        await catalog.aclose()

    asyncio.run(main())


def test_adding_again_changes_nothing_and_appends_nothing(open_catalog: Open) -> None:
    appended: list[list[str]] = []

    def append(pages: Sequence[Page]) -> list[SavedOutput]:
        appended.append([p.record.url[-1] for p in pages])
        return []

    async def main() -> None:
        catalog = open_catalog()
        await catalog.add("news", [page(1), page(2)], append)
        await catalog.add("news", [page(2, title="later"), page(3), page(3, title="x")], append)
        await catalog.add("news", [], append)
        assert await ids(catalog) == [1, 2, 3]
        assert await catalog.get("news", page(2).record.id) == page(2)
        assert await catalog.get("news", page(3).record.id) == page(3)
        await catalog.aclose()

    asyncio.run(main())
    assert appended == [["1", "2"], ["3"], []]


def test_lengths_are_committed_with_the_rows(open_catalog: Open) -> None:
    def append(pages: Sequence[Page]) -> list[SavedOutput]:
        return [SavedOutput(path="/a", length=100 * len(pages)), SavedOutput(path="/b", length=7)]

    async def main() -> None:
        catalog = open_catalog()
        await catalog.add("news", [page(1)], append)
        await catalog.add("news", [page(2), page(3)], append)
        await catalog.add("other", [page(4)], nothing)
        await catalog.aclose()
        catalog = open_catalog()
        assert await catalog.outputs("news") == append([page(2), page(3)])
        assert await catalog.outputs("other") == []
        await catalog.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("before", [0, 1])
def test_a_failed_append_takes_the_rows_back(open_catalog: Open, before: int) -> None:
    def fail(_pages: Sequence[Page]) -> list[SavedOutput]:
        raise RuntimeError

    def grow(_pages: Sequence[Page]) -> list[SavedOutput]:
        return [SavedOutput(path="/a", length=9)]

    async def main() -> None:
        catalog = open_catalog()
        await catalog.add("news", [page(7)] * before, nothing)
        with pytest.raises(RuntimeError):
            await catalog.add("fresh", [page(1), page(2)], fail)
        assert await ids(catalog, "fresh") == []
        assert await catalog.outputs("fresh") == []
        await catalog.add("fresh", [page(2), page(1)], grow)
        assert await ids(catalog, "fresh") == [2, 1]
        assert await catalog.outputs("fresh") == grow([])
        await catalog.aclose()

    asyncio.run(main())


def test_save_outputs_replaces_lengths(open_catalog: Open) -> None:
    async def main() -> None:
        catalog = open_catalog()
        await catalog.save_outputs("news", [SavedOutput(path="/a", length=5)])
        await catalog.save_outputs(
            "news", [SavedOutput(path="/a", length=2), SavedOutput(path="/b", length=1)]
        )
        found = await catalog.outputs("news")
        assert {output.path: output.length for output in found} == {"/a": 2, "/b": 1}
        await catalog.aclose()

    asyncio.run(main())


def test_delete_forgets_one_job(open_catalog: Open) -> None:
    async def main() -> None:
        catalog = open_catalog()
        for job in ("news", "other"):
            await catalog.add(job, [page(1)], lambda _: [SavedOutput(path="/a", length=1)])
        await catalog.delete_job("news")
        await catalog.delete_job("news")
        assert await ids(catalog) == []
        assert await catalog.outputs("news") == []
        assert await ids(catalog, "other") == [1]
        await catalog.add("news", [page(1)], nothing)
        assert await ids(catalog) == [1]
        await catalog.aclose()

    asyncio.run(main())
