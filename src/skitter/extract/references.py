"""Character references (`&amp;`), in text and in attribute values."""

import html
import re
from html.entities import html5

__all__ = ["attribute_text", "text"]

_REFERENCE = re.compile(r"&(?:#[xX]?[0-9a-fA-F]+;?|([A-Za-z][A-Za-z0-9]*;?)(=?))")


def text(raw: str) -> str:
    """Running text with its references resolved."""
    return html.unescape(raw) if "&" in raw else raw


def attribute_text(raw: str) -> str:
    """An attribute value with its references resolved.

    Unlike in text, one without a semicolon stays as it is before `=` or a letter or digit, so
    that `?a=1&copy=2` is not changed (HTML standard, 13.2.5.73).
    """
    return _REFERENCE.sub(_resolved, raw) if "&" in raw else raw


def _resolved(reference: re.Match[str]) -> str:
    name, equals = reference.groups()
    if name is None:
        return html.unescape(reference[0])
    if equals and not name.endswith(";"):
        return reference[0]
    return html5.get(name, "&" + name) + equals
