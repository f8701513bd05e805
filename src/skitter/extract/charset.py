"""Which charset a body is in. In doubt there is always an answer, and decoding never fails.

The order is that of the HTML standard: a byte order mark, the Content-Type header, what the page
says of itself, then what its bytes look like. The mark comes before the header because a body that
begins with one was written by something that knew.
"""

import codecs
import re
from functools import lru_cache

from chardetng_py import EncodingDetector

from skitter.extract.labels import CODECS, canonical_name

__all__ = ["FALLBACK", "decode", "detect"]

#: What browsers assume of western pages that say nothing.
FALLBACK = "windows-1252"

#: HTML standard: a page says its charset in the first 1,024 bytes or not at all.
_PRESCAN_BYTES = 1_024
#: More makes detection slower, not better.
_SAMPLE_BYTES = 4_096

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_HEADER_CHARSET = re.compile(
    r"charset\s*+=\s*+(?:\"([^\"]*+)|'([^']*+)|([^\s;\"']++))", re.IGNORECASE
)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_XML_ENCODING = re.compile(rb"""\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([A-Za-z0-9._:\-]+)["']""")
_META = re.compile(rb"<meta[\s/][^>]*", re.IGNORECASE)
_META_CHARSET = re.compile(rb"""[\s/"';]charset\s*=\s*["']?\s*([^\s"'>;/]+)""", re.IGNORECASE)
_MARKUP = re.compile(
    rb"<(?:script|style)\b.*?(?:</|\Z)|<[^>]*+>|[\t\n\f\r ]{2,}", re.IGNORECASE | re.DOTALL
)
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")

#: What the detector calls by another name than records do; both are decoded alike.
_SAME = {"cp874": "windows-874", "gb18030": "gbk"}
#: The letters in which KOI8-U differs from KOI8-R: Ukrainian ones.
_KOI8_U = re.compile(rb"[\xa4\xa6\xa7\xad\xb4\xb6\xb7\xbd]")


def detect(body: bytes, content_type: str | None = None) -> str:
    """The charset's name by the WHATWG Encoding Standard, in lower case; for `decode`."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    return (
        (content_type and _of_header(content_type))
        or _of_prescan(body[:_PRESCAN_BYTES])
        or _of_bytes(body)
    )


def decode(body: bytes, charset: str) -> str:
    """The text of a body; bytes that mean nothing in `charset` become U+FFFD, a mark is dropped."""
    codec = CODECS.get(canonical_name(charset) or FALLBACK, "cp1252")
    return body.decode(codec, "replace").removeprefix("\ufeff")


@lru_cache(maxsize=256)
def _of_header(content_type: str) -> str | None:
    match = _HEADER_CHARSET.search(content_type[:1_024])
    label = next((group for group in match.groups() if group is not None), "") if match else ""
    return canonical_name(label)


def _of_prescan(start: bytes) -> str | None:
    declared = _XML_ENCODING.match(start)
    name = canonical_name(declared[1].decode("ascii")) if declared else None
    if name is None and b"charset" in start.lower():
        name = _of_meta(_COMMENT.sub(b"", start))
    # Whoever could read the declaration as ASCII was not reading UTF-16 (HTML standard, 13.2.3.2).
    return "utf-8" if name in {"utf-16le", "utf-16be"} else name


def _of_meta(start: bytes) -> str | None:
    for meta in _META.finditer(start):
        match = _META_CHARSET.search(meta[0])
        name = canonical_name(match[1].decode("latin-1")) if match else None
        if name is not None:
            return name
    return None


def _of_bytes(body: bytes) -> str:
    if body.isascii() or _is_utf8(body):
        return "utf-8"
    return _guess(_sample(body)) or FALLBACK


def _guess(sample: bytes) -> str | None:
    detector = EncodingDetector()
    detector.feed(sample, last=True)
    name = detector.guess(tld=None, allow_utf8=False).lower()
    if name == "koi8-u" and not _KOI8_U.search(sample):
        return "koi8-r"
    return canonical_name(_SAME.get(name, name))


def _is_utf8(body: bytes) -> bool:
    try:
        # Not final: a body cut in the middle of a character is still UTF-8.
        codecs.utf_8_decode(body, "strict", False)  # noqa: FBT003 - positional only
    except UnicodeDecodeError:
        return False
    return True


def _sample(body: bytes) -> bytes:
    """The text around the first bytes that can tell; markup only blurs the picture."""
    first = _BEYOND_ASCII.search(body)
    start = max(0, first.start() - 256) if first else 0
    window = body[start : start + 4 * _SAMPLE_BYTES]
    return _MARKUP.sub(b" ", window)[:_SAMPLE_BYTES]
