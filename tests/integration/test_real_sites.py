"""Whole real sites: every URL that links lead to has one record, every body is the file's."""

import hashlib
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import pytest
from support.crawls import AT_FULL_SPEED, run_crawl
from support.realsites import JDK, POSTGRES, served
from support.records import Record, read_jsonl, twice
from warcio.archiveiterator import ArchiveIterator

pytestmark = [
    pytest.mark.integration,
    pytest.mark.needs("nginx", package="nginx-light"),
    pytest.mark.timeout(300),
]


@pytest.mark.needs(str(POSTGRES), package="postgresql-doc-15")
def test_the_postgresql_documentation_is_crawled_completely(tmp_path: Path) -> None:
    with served(POSTGRES, tmp_path) as origin:
        records = crawl_whole(origin, tmp_path)
        assert {record["url"] for record in records} == set(reachable(POSTGRES, origin))
    assert statuses(records) == {("text/html", 200): 1168}
    check_bodies(records, POSTGRES, tmp_path)


@pytest.mark.needs(str(JDK), package="openjdk-17-doc")
def test_the_jdk_documentation_is_crawled_completely(tmp_path: Path) -> None:
    with served(JDK, tmp_path) as origin:
        records = crawl_whole(origin, tmp_path)
    assert statuses(records) == {
        ("text/html", 200): 10_136,
        ("image/svg+xml", 200): 60,
        ("text/html", 404): 48,
    }
    check_bodies(records, JDK, tmp_path)


def crawl_whole(origin: str, folder: Path) -> list[Record]:
    """Crawl from /index.html; every URL must have one record, and only one."""
    outputs = ("-o", "out.jsonl", "-o", "out.warc.gz", "--data", "data", "--json")
    done = run_crawl(folder, f"{origin}/index.html", *AT_FULL_SPEED, *outputs)
    assert done.code == 0, done.err
    records = read_jsonl(folder / "out.jsonl")
    assert twice(record["url"] for record in records) == []
    assert twice(record["id"] for record in records) == []
    assert done.summary["pages"] == done.summary["accepted"] == len(records)
    return records


def statuses(records: list[Record]) -> Counter[tuple[str, int]]:
    return Counter((record["content_type"], record["status_code"]) for record in records)


def check_bodies(records: list[Record], root: Path, folder: Path) -> None:
    """Segments and export hold each file byte by byte, as a foreign reader sees it."""
    for record in records:
        if record["status_code"] == 200:
            assert record["digest"] == f"sha256:{digest_of_file(root, record['url'])}"
    digests = {record["url"]: record["digest"].removeprefix("sha256:") for record in records}
    segments = sorted((folder / "data" / "segments").rglob("*.warc.gz"))
    for archives in (segments, [folder / "out.warc.gz"]):
        found = [response for archive in archives for response in responses(archive)]
        assert len(found) == len(records)
        assert dict(found) == digests
        warcio = [sys.executable, "-m", "warcio.cli", "check", *map(str, archives)]
        check = subprocess.run(warcio, check=False, capture_output=True, text=True)
        assert (check.returncode, check.stdout) == (0, ""), check.stderr


def responses(archive: Path) -> Iterator[tuple[str, str]]:
    """URL and digest of each response."""
    with archive.open("rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type == "response":
                url = record.rec_headers.get_header("WARC-Target-URI")
                yield url, hashlib.sha256(record.content_stream().read()).hexdigest()


def digest_of_file(root: Path, url: str) -> str:
    return hashlib.sha256((root / path_of(url)).read_bytes()).hexdigest()


def path_of(url: str) -> str:
    return unquote(url.split("/", 3)[3])


def reachable(root: Path, origin: str) -> Iterator[str]:
    """What links lead to, found without any code of the crawler."""
    waiting = deque([f"{origin}/index.html"])
    seen = set(waiting)
    while waiting:
        url = waiting.popleft()
        yield url
        links = Hrefs()
        links.feed((root / path_of(url)).read_text("utf-8", "replace"))
        for href in links.found:
            target = urldefrag(urljoin(url, href)).url
            if target.startswith(f"{origin}/") and target not in seen:
                seen.add(target)
                waiting.append(target)


class Hrefs(HTMLParser):
    """The targets of anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"a", "area"}:
            self.found += [value for name, value in attrs if name == "href" and value]
