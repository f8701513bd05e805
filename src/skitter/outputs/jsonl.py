"""JSON lines: the record as the catalog has it, so a line costs no encoding."""

from collections.abc import Sequence

import msgspec

from skitter.catalog.base import Page
from skitter.outputs.bodies import body_cell

__all__ = ["JsonLines"]


class JsonLines:
    """One JSON object per line."""

    #: What the file begins with.
    header = b""

    def __init__(self, *, include_body: bool) -> None:
        self._include_body = include_body

    def encode(self, pages: Sequence[Page]) -> bytes:
        """The lines of these pages."""
        if self._include_body:
            return b"".join([_line_with_body(page) for page in pages])
        return b"".join([page.line + b"\n" for page in pages])


def _line_with_body(page: Page) -> bytes:
    cell = body_cell(page)
    body = msgspec.json.encode(cell.body)
    # The record is an object that is never empty: take off its brace, go on after a comma.
    flag = b',"body_base64":true' if cell.body_base64 else b""
    return b"".join((page.line[:-1], b',"body":', body, flag, b"}\n"))
