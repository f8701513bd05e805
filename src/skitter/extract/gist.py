"""Whether two pages say the same: a hash of their text without numbers."""

import re

from xxhash import xxh3_64_intdigest

__all__ = ["gist"]

#: Read of a page; more than most of the web's pages have.
_MAX_BYTES = 256 * 1024
#: What stands between tags; scripts count as text, which makes pages differ, never alike.
_TEXT = re.compile(rb">[^<]++")
#: Dates, counters and prices differ between pages that are otherwise the same; so does layout.
_IGNORED = b"0123456789 \t\r\n\f>"


def gist(body: bytes) -> int:
    """64 bits of an HTML page's text, in any encoding. 0: it has none."""
    text = b"".join(_TEXT.findall(body[:_MAX_BYTES])).translate(None, _IGNORED)
    number: int = xxh3_64_intdigest(text) if text else 0
    return number
