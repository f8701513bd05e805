"""Bodies as the text formats carry them: text where it is text, base64 where it is not."""

from base64 import b64encode

from msgspec import Struct

from skitter.catalog.base import Page
from skitter.extract.labels import CODECS

__all__ = ["BODY_FIELDS", "BodyCell", "body_cell"]

#: What comes after the record's own fields when bodies are asked for.
BODY_FIELDS = ("body", "body_base64")

_DEFAULT_ENCODING = "utf-8"


class BodyCell(Struct, frozen=True):
    """`body` is None where no whole response came; an empty response is an empty text."""

    body: str | None
    body_base64: bool = False


def body_cell(page: Page) -> BodyCell:
    """Text only if the same bytes can be made from it again."""
    record = page.record
    if record.digest is None:
        return BodyCell(None)
    text = _text(page.body, record.encoding or _DEFAULT_ENCODING)
    if text is not None:
        return BodyCell(text)
    return BodyCell(b64encode(page.body).decode("ascii"), body_base64=True)


def _text(body: bytes, encoding: str) -> str | None:
    codec = CODECS.get(encoding)
    if codec is None:
        return None
    try:
        text = body.decode(codec)
        return text if text.encode(codec) == body else None
    except UnicodeError:
        return None
