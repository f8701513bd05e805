"""Parquet with typed columns, written in row groups so that memory stays bounded."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
from pyarrow import parquet

from skitter.catalog.base import Page
from skitter.models import Record
from skitter.outputs.base import Source
from skitter.outputs.bodies import BODY_FIELDS, body_cell

__all__ = ["schema", "write_parquet"]

#: A row group ends with either.
_GROUP_ROWS = 2_000
_GROUP_BYTES = 32 * 1024 * 1024

_LINKS = pa.list_(pa.struct([("url", pa.string()), ("text", pa.string())]))
_HEADERS = pa.map_(pa.string(), pa.list_(pa.string()))

#: Columns that are not plain text.
_TYPES = {
    "status_code": pa.int32(),
    "timestamp": pa.timestamp("us"),  # UTC
    "depth": pa.int32(),
    "length": pa.int64(),
    "links": _LINKS,
    "request_headers": _HEADERS,
    "response_headers": _HEADERS,
    "elapsed_ms": pa.int64(),
    "body_base64": pa.bool_(),
}

#: How a field's value becomes what its column takes; any other goes in as it is.
_CONVERT: dict[str, Callable[[Any], object]] = {
    "outcome": str,
    "timestamp": datetime.fromisoformat,
    "links": lambda links: [{"url": link.url, "text": link.text} for link in links],
    "request_headers": lambda headers: list(headers.items()),
    "response_headers": lambda headers: list(headers.items()),
    "attrs": lambda attrs: None if attrs is None else msgspec.json.encode(attrs).decode(),
}


def schema(*, include_body: bool) -> pa.Schema:
    """One column per field of a record, in its order."""
    names = Record.__struct_fields__ + (BODY_FIELDS if include_body else ())
    return pa.schema([(name, _TYPES.get(name, pa.string())) for name in names])


async def write_parquet(file: BinaryIO, source: Source) -> int:
    """Write every page; returns how many."""
    columns = schema(include_body=source.include_body)
    count = 0
    waiting: list[Page] = []
    waiting_bytes = 0
    with parquet.ParquetWriter(file, columns, compression="zstd") as writer:
        async for page in source.pages():
            waiting.append(page)
            waiting_bytes += len(page.line) + len(page.body)
            if len(waiting) >= _GROUP_ROWS or waiting_bytes >= _GROUP_BYTES:
                writer.write_batch(_batch(waiting, columns))
                count += len(waiting)
                waiting, waiting_bytes = [], 0
        if waiting:
            writer.write_batch(_batch(waiting, columns))
    return count + len(waiting)


def _batch(pages: Sequence[Page], columns: pa.Schema) -> pa.RecordBatch:
    cells: dict[str, list[object]] = {}
    records = [page.record for page in pages]
    for name in Record.__struct_fields__:
        values = [getattr(record, name) for record in records]
        convert = _CONVERT.get(name)
        cells[name] = [convert(value) for value in values] if convert else values
    if BODY_FIELDS[0] in columns.names:
        bodies = [body_cell(page) for page in pages]
        cells[BODY_FIELDS[0]] = [cell.body for cell in bodies]
        cells[BODY_FIELDS[1]] = [cell.body_base64 for cell in bodies]
    return pa.RecordBatch.from_pydict(cells, schema=columns)
