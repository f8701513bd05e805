"""What a reader of each format finds."""

import base64
import csv
import io
import json
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from skitter.models import Outcome, Record
from skitter.outputs import parquet as our_parquet
from skitter.outputs.bodies import body_cell
from skitter.outputs.csv import CsvRows
from skitter.outputs.jsonl import JsonLines

#: The class is in conftest.py, which no test can import.
Crawl: TypeAlias = Any

#: Name -> body, encoding, and what it is in a text format.
BODIES: dict[str, tuple[bytes, str | None, object]] = {
    "utf8": ("héllo\n".encode(), "utf-8", "héllo\n"),
    "mark": (b"\xef\xbb\xbfhi", "utf-8", "\ufeffhi"),
    "latin": ("héllo €".encode("cp1252"), "windows-1252", "héllo €"),
    "wide": ("héllo".encode("utf-16-le"), "utf-16le", "héllo"),
    "japanese": ("日本".encode("shift_jis"), "shift_jis", "日本"),
    "unsaid": (b'{"a":1}', None, '{"a":1}'),
    "empty": (b"", None, ""),
    "nul": (b"a\0b", "utf-8", "a\0b"),
    "broken": (b"caf\xe9", "utf-8", None),
    "no such": (b"abc", "x-unheard-of", None),
    "slow codec": (b"abc", "punycode", None),
    "binary": (b"\x89PNG\r\n\x1a\n", None, None),
}


def fill(crawl: Crawl) -> None:
    pages = [crawl.page(name, body, encoding=enc) for name, (body, enc, _) in BODIES.items()]
    pages.append(crawl.page("gone", None, Outcome.FAILED))
    pages.append(crawl.page("moved", b"", Outcome.REDIRECTED))
    crawl.run(crawl.add(pages))


def expected_body(name: str) -> tuple[object, bool]:
    body, _, text = BODIES[name]
    return (base64.b64encode(body).decode(), True) if text is None else (text, False)


def test_jsonl_is_the_records_as_they_are(crawl: Crawl, tmp_path: Path) -> None:
    fill(crawl)
    assert crawl.export(tmp_path / "a.jsonl") == len(BODIES) + 1
    lines = (tmp_path / "a.jsonl").read_bytes().splitlines()
    assert lines[0] == crawl.page("utf8", *BODIES["utf8"][:1], encoding="utf-8").line
    assert list(json.loads(lines[0])) == list(Record.__struct_fields__)
    assert [json.loads(line)["outcome"] for line in lines][-1] == "failed"


def test_jsonl_bodies_are_text_or_base64(crawl: Crawl, tmp_path: Path) -> None:
    fill(crawl)
    crawl.export(tmp_path / "a.jsonl", include_body=True)
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_bytes().splitlines()]
    for name, row in zip(BODIES, rows, strict=False):
        body, is_base64 = expected_body(name)
        extra = ["body", "body_base64"] if is_base64 else ["body"]
        assert list(row) == [*Record.__struct_fields__, *extra]
        assert (row["body"], row.get("body_base64", False)) == (body, is_base64)
    assert rows[-1]["body"] is None


def test_everything_means_redirected_and_dropped_too(crawl: Crawl, tmp_path: Path) -> None:
    fill(crawl)
    assert crawl.export(tmp_path / "a.jsonl", everything=True) == len(BODIES) + 2
    assert b'"redirected"' in (tmp_path / "a.jsonl").read_bytes().splitlines()[-1]


def test_csv_round_trip(crawl: Crawl, tmp_path: Path) -> None:
    nasty = 'a "quoted", thing\r\nwith\nlines\rand \0 and ünïcode'
    pages = [
        crawl.page("a", title=nasty, attrs={"n": [1, None]}),
        crawl.page("b", None, Outcome.FAILED, title=None),
    ]
    crawl.run(crawl.add(pages))
    crawl.export(tmp_path / "a.csv", include_body=True)
    raw = (tmp_path / "a.csv").read_bytes()
    header = ",".join((*Record.__struct_fields__, "body", "body_base64"))
    assert raw.startswith(header.encode() + b"\r\n")
    first, second = csv.DictReader(io.StringIO(raw.decode(), newline=""))
    assert first["title"] == nasty
    assert json.loads(first["links"]) == [{"url": "http://site.test/x", "text": 'say "x", please'}]
    assert json.loads(first["response_headers"]) == {"Set-Cookie": ["a=1", "b=2"]}
    assert json.loads(first["attrs"]) == {"n": [1, None]}
    assert (first["status_code"], first["body"], first["error"]) == ("200", "<p>hello", "")
    assert (second["status_code"], second["title"], second["body"]) == ("", "", "")


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_csv_text_is_never_a_formula(crawl: Crawl, start: str) -> None:
    page = crawl.page("a", body=f"{start}cmd".encode(), title=f"{start}1+1", elapsed_ms=-5)
    rows = CsvRows(include_body=True)
    text = (rows.header + rows.encode([page])).decode()
    [row] = csv.DictReader(io.StringIO(text, newline=""))
    assert (row["title"], row["body"]) == (f"'{start}1+1", f"'{start}cmd")
    assert row["elapsed_ms"] == "-5"


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=st.text(), body=st.binary())
def test_any_text_survives_csv_and_jsonl(crawl: Crawl, title: str, body: bytes) -> None:
    page = crawl.page("a", body, title=title)
    cell = body_cell(page)
    back = base64.b64decode(cell.body or "") if cell.body_base64 else (cell.body or "").encode()
    assert back == body
    rows = CsvRows(include_body=True)
    text = (rows.header + rows.encode([page])).decode()
    [row] = csv.DictReader(io.StringIO(text, newline=""))
    safe = title.startswith(FORMULA_STARTS)
    assert row["title"] == ("'" if safe else "") + title
    line = json.loads(JsonLines(include_body=True).encode([page]))
    assert (line["title"], line["body"]) == (title, cell.body)


def test_parquet_round_trip(crawl: Crawl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(our_parquet, "_GROUP_ROWS", 5)
    fill(crawl)
    assert crawl.export(tmp_path / "a.parquet", include_body=True) == len(BODIES) + 1
    file = parquet.ParquetFile(tmp_path / "a.parquet")
    assert file.num_row_groups == 3
    table = file.read()
    file.close()
    assert table.schema.equals(our_parquet.schema(include_body=True))
    assert (
        str(table.schema.field("links").type) == "list<element: struct<url: string, text: string>>"
    )
    rows = table.to_pylist()
    first = rows[0]
    assert first["timestamp"] == datetime(2026, 1, 2, 3, 4, 5, 6)  # noqa: DTZ001
    assert first["links"] == [{"url": "http://site.test/x", "text": 'say "x", please'}]
    assert first["response_headers"] == [("Set-Cookie", ["a=1", "b=2"])]
    assert (first["status_code"], first["outcome"], first["attrs"]) == (200, "done", None)
    for name, row in zip(BODIES, rows, strict=False):
        assert (row["body"], row["body_base64"]) == expected_body(name)
    assert (rows[-1]["status_code"], rows[-1]["body"]) == (None, None)


def test_parquet_without_pages_has_its_columns(crawl: Crawl, tmp_path: Path) -> None:
    assert crawl.export(tmp_path / "a.parquet") == 0
    assert parquet.read_table(tmp_path / "a.parquet").column_names == list(Record.__struct_fields__)


class CheckCommand:
    verbose = True

    def __init__(self, path: Path) -> None:
        self.inputs = [str(path)]


def test_warc_holds_the_stored_records(
    crawl: Crawl, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(crawl)
    target = tmp_path / "a.warc.gz"
    assert crawl.export(target, everything=True) == len(BODIES) + 2
    assert Checker(CheckCommand(target)).process_all() == 0
    assert capsys.readouterr().out.count("digest pass") == len(BODIES) + 1
    with target.open("rb") as file:
        records = [(r.rec_type, r.content_stream().read()) for r in ArchiveIterator(file)]
    assert records[0][0] == "warcinfo"
    assert [body for _, body in records[1:-2]] == [body for body, _, _ in BODIES.values()]
    assert records[-2] == ("metadata", b'{"depth":1}')
    segment = next((crawl.folder / "segments").rglob("*.warc.gz")).read_bytes()
    start = segment.index(b"\x1f\x8b", 1)
    assert target.read_bytes().endswith(segment[start:])


def test_warc_tells_of_what_was_never_stored(crawl: Crawl, tmp_path: Path) -> None:
    page = crawl.page("dropped", None, Outcome.DROPPED)
    crawl.run(crawl.catalog.add("news", [page], lambda _new: []))
    assert crawl.export(tmp_path / "a.warc.gz", everything=True) == 1
    with (tmp_path / "a.warc.gz").open("rb") as file:
        _, record = [(r.rec_type, r.content_stream().read()) for r in ArchiveIterator(file)]
    assert record == ("metadata", page.line)
