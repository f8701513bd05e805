"""Reading what a crawl left: output files, catalog, frontier."""

import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from isal import isal_zlib

from skitter.sim.truth import Truth
from skitter.urls.fingerprint import fingerprint

Record = dict[str, Any]
#: id, status, error code, digest: two crawls are equal when their sets of these are.
Identity = tuple[str, int | None, str | None, str | None]


def read_jsonl(path: Path) -> list[Record]:
    """Every line of a JSONL output; a torn one is an error."""
    data = path.read_bytes()
    assert data == b"" or data.endswith(b"\n"), f"{path} ends within a line"
    return [json.loads(line) for line in data.splitlines()]


def read_csv_ids(path: Path) -> list[str]:
    """The id of every row; a row of another width is an error."""
    csv.field_size_limit(1 << 30)
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert all(len(row) == len(header) for row in rows)
    return [row[header.index("id")] for row in rows]


def read_catalog(data: Path) -> list[Record]:
    """All records, with those that have no line in exports."""
    with closing(_open(data / "catalog.sqlite")) as catalog:
        rows = catalog.execute("SELECT record FROM page ORDER BY id").fetchall()
    return [json.loads(isal_zlib.decompress(packed)) for (packed,) in rows]


def frontier_states(data: Path) -> Counter[str]:
    """How many requests are in which state, counted one by one."""
    names = ("queued", "queued", "done", "redirected", "failed", "dropped")
    with closing(_open(data / "frontier.sqlite")) as frontier:
        rows = frontier.execute("SELECT state, COUNT(*) FROM request GROUP BY state").fetchall()
    states: Counter[str] = Counter()
    for state, count in rows:
        states[names[state]] += count
    return states


def identities(records: Iterable[Record]) -> set[Identity]:
    """What is compared of two crawls."""
    return {
        (record["id"], record["status_code"], error_code(record), record["digest"])
        for record in records
    }


def error_code(record: Record) -> str | None:
    """The code that `error` begins with."""
    return (record["error"] or "").partition(":")[0] or None


def twice(ids: Iterable[object]) -> list[object]:
    """Those that occur more than once."""
    return [thing for thing, count in Counter(ids).items() if count > 1]


def by_path(records: Iterable[Record]) -> dict[str, Record]:
    """Records of one origin by their path."""
    return {"/" + record["url"].split("/", 3)[3]: record for record in records}


def differences(truths: Iterable[Truth], records: Iterable[Record]) -> list[str]:
    """How a crawl differs from the manifest; URLs that differ only in query order are one."""
    wanted = {fingerprint(truth.url): truth for truth in truths}
    got = {fingerprint(record["url"]): record for record in records}
    return list(_differences(wanted, got))


def _differences(wanted: dict[int, Truth], got: dict[int, Record]) -> Iterator[str]:
    for key in got.keys() - wanted.keys():
        yield f"{got[key]['url']} is not in the manifest"
    for key, truth in wanted.items():
        if key not in got:
            yield f"{truth.url} has no record"
            continue
        record = got[key]
        error = truth.error or truth.reason
        expected = (truth.outcome, truth.status_code, error, truth.digest, truth.title)
        found = (
            record["outcome"],
            record["status_code"],
            error_code(record),
            record["digest"],
            record["title"],
        )
        if found != expected:
            yield f"{truth.url}: {found}, not {expected}"


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)
