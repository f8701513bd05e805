"""A small crawl to export: real catalog, real store, pages made to order."""

import asyncio
import hashlib
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from skitter.catalog.base import Append, Page
from skitter.catalog.sqlite import SqliteCatalog
from skitter.models import Link, Outcome, Record
from skitter.outputs.base import Source, parse_outputs
from skitter.outputs.set import OutputSet
from skitter.outputs.whole import write_whole
from skitter.store.base import StoredPage
from skitter.store.segments import SegmentStore
from skitter.urls.fingerprint import fingerprint, record_id

T = TypeVar("T")

JOB = "news"
JOB_ID = "a" * 32


class StoppedClock:
    def time(self) -> float:
        return 1_700_000_000.0

    def monotonic(self) -> float:
        return 0.0


class Crawl:
    """Records of job `news`; `add` is what a group commit does, in its order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = StoppedClock()
        self.catalog = SqliteCatalog(folder / "catalog.sqlite")
        self.store = SegmentStore(
            folder / "segments", clock=self.clock, software="Test/1", segment_bytes=1 << 20
        )

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(work)

    def page(
        self,
        name: str,
        body: bytes | None = b"<p>hello",
        outcome: Outcome = Outcome.DONE,
        **changes: object,
    ) -> Page:
        """`body` None: there was no response."""
        url = f"http://site.test/{name}"
        record = Record(
            id=record_id(JOB_ID, fingerprint(url), 0),
            appid="skitter",
            crawlid=JOB,
            job=JOB_ID,
            url=url,
            response_url=url,
            redirected_from=None,
            outcome=outcome,
            status_code=None if body is None else 200,
            status_msg=None if body is None else "OK",
            timestamp="2026-01-02T03:04:05.000006",
            depth=1,
            parent="http://site.test/",
            spider="link",
            encoding="utf-8",
            content_type="text/html",
            length=len(body or b""),
            digest=None if body is None else f"sha256:{hashlib.sha256(body).hexdigest()}",
            title="A title",
            links=[Link("http://site.test/x", 'say "x", please')],
            request_headers={"Accept": ["*/*"]},
            response_headers={"Set-Cookie": ["a=1", "b=2"]},
            attrs=None,
            elapsed_ms=7,
            truncated=None,
            error="dns" if body is None else None,
        )
        record = msgspec.structs.replace(record, **changes)
        return Page.of(record, body=body or b"")

    async def add(self, pages: Sequence[Page], append: Append | None = None) -> None:
        stored = [
            StoredPage(
                record_id=page.record.id,
                url=page.record.url,
                timestamp=page.record.timestamp,
                head=(b"HTTP/1.1 200 OK", b"Content-Encoding: gzip") if page.record.digest else (),
                body=page.body,
                digest=page.record.digest,
                fields=b'{"depth":1}',
            )
            for page in pages
        ]
        places = await self.store.append(JOB_ID, stored)
        rows = [
            msgspec.structs.replace(page, location=place)
            for page, place in zip(pages, places, strict=True)
        ]
        await self.catalog.add(JOB, rows, append or (lambda _new: []))

    def source(self, *, include_body: bool = False, everything: bool = False) -> Source:
        return Source(
            catalog=self.catalog,
            store=self.store,
            clock=self.clock,
            job=JOB,
            include_body=include_body,
            everything=everything,
        )

    def export(self, path: Path, *, include_body: bool = False, everything: bool = False) -> int:
        [file] = parse_outputs([path])
        source = self.source(include_body=include_body, everything=everything)
        return self.run(write_whole(file, source))

    def outputs(self, *paths: Path, include_body: bool = False) -> OutputSet:
        return OutputSet(parse_outputs(paths), clock=self.clock, include_body=include_body)

    async def run_with(
        self, pages: Sequence[Page], *paths: Path, include_body: bool = False, dies: bool = False
    ) -> None:
        """One run of the crawl that adds these pages, each in a group of its own."""
        outputs = self.outputs(*paths, include_body=include_body)
        await outputs.prepare(self.catalog, self.store, JOB)
        for page in pages:
            await self.add([page], outputs.append)
        if not dies:
            await outputs.finish(self.catalog, self.store, JOB)
        outputs.close()


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    folder = tmp_path / "data"
    folder.mkdir()
    made = Crawl(folder)
    yield made
    made.run(made.store.aclose())
    made.run(made.catalog.aclose())
