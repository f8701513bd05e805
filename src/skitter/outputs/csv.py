"""CSV by RFC 4180, safe to open in a spreadsheet.

A text that a spreadsheet would take for a formula gets an apostrophe in front, which it shows
as text; numbers stay numbers. Nested values are JSON, None is an empty cell.
"""

import csv
import io
from collections.abc import Sequence

import msgspec

from skitter.catalog.base import Page
from skitter.models import Record
from skitter.outputs.bodies import BODY_FIELDS, body_cell

__all__ = ["CsvRows"]

#: The last four are what some spreadsheets take for the first.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class CsvRows:
    """A header row, then one row per record."""

    def __init__(self, *, include_body: bool) -> None:
        self._include_body = include_body
        names = Record.__struct_fields__ + (BODY_FIELDS if include_body else ())
        #: What the file begins with.
        self.header = _rows([names])

    def encode(self, pages: Sequence[Page]) -> bytes:
        """The rows of these pages."""
        return _rows([self._cells(page) for page in pages])

    def _cells(self, page: Page) -> list[object]:
        cells = [_cell(value) for value in msgspec.structs.astuple(page.record)]
        if self._include_body:
            body = body_cell(page)
            cells += [_cell(body.body), "true" if body.body_base64 else None]
        return cells


def _rows(rows: Sequence[Sequence[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode()


def _cell(value: object) -> object:
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA_STARTS) else value
    if isinstance(value, list | dict):
        return msgspec.json.encode(value).decode()
    return value
