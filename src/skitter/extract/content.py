"""What kind of document a body is, whatever its header says.

In the spirit of the WHATWG MIME Sniffing Standard: a header that names a real type is believed, one
that is missing or says nothing (`text/plain`, `application/octet-stream`) is checked with the
body's first bytes, and only bytes that cannot be meant otherwise overrule it.
"""

import re
from enum import StrEnum

__all__ = ["Content", "essence", "media_type", "sniffed_type"]


class Content(StrEnum):
    """Only `HTML` (XHTML included) is read for links; `XML` and `TEXT` may be sitemaps."""

    HTML = "html"
    XML = "xml"
    TEXT = "text"
    OTHER = "other"


#: The standard looks at the "resource header" of this size.
_SNIFFED_BYTES = 1_445

_HTML_TYPES = frozenset(("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"))
_XML_TYPES = frozenset(("text/xml", "application/xml"))
#: Types that servers send for files they know nothing about.
_VAGUE_TYPES = frozenset(
    ("", "text/plain", "application/octet-stream", "application/unknown", "unknown/unknown",
     "binary/octet-stream", "application/force-download", "application/x-download", "*/*")
)  # fmt: skip
_TEXT_EXTENSIONS = {
    "html": Content.HTML, "htm": Content.HTML, "xhtml": Content.HTML,
    "xml": Content.XML, "rss": Content.XML, "atom": Content.XML, "txt": Content.TEXT,
}  # fmt: skip

_START = rb"(?:\xef\xbb\xbf)?(?:[\t\n\f\r ]|<!--(?s:.*?)-->)*+"
_HTML = re.compile(
    _START + rb"(?:<\?xml[^>]*+>)?" + _START +
    rb"<(?:!doctype\s++html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p"
    rb"|meta|link|frameset)(?=[\s/>])",
    re.IGNORECASE,
)  # fmt: skip
_XML = re.compile(_START + rb"<(?:\?xml\s|rss[\s>]|feed[\s>]|urlset[\s>]|sitemapindex[\s>])")
#: Bytes that no text contains (MIME Sniffing Standard, 3 "binary data byte").
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_UTF16_BOMS = (b"\xfe\xff", b"\xff\xfe")
#: Bytes that begin one kind of file and nothing else (MIME Sniffing Standard, 6).
_SIGNATURES = (
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x1f\x8b\x08", "application/x-gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07", "application/x-rar-compressed"),
    (b"OggS\x00", "application/ogg"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
)
#: These are short enough to begin a text, so something binary has to follow.
_WEAK_SIGNATURES = (
    (b"BM", "image/bmp"),
    (b"ID3", "audio/mpeg"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
)
_STARTS = tuple(start for start, _ in _SIGNATURES)


def essence(content_type: str | None) -> str:
    """`type/subtype` in lower case; empty when the header is missing or malformed."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    return kind if kind.count("/") == 1 and not any(map(str.isspace, kind)) else ""


def media_type(content_type: str | None, url: str, start: bytes) -> Content:
    """What to read a body as. `start` is the body or at least its first 1,445 bytes."""
    kind = essence(content_type)
    if start.startswith(_STARTS):
        return Content.OTHER
    if kind in _HTML_TYPES:
        return Content.HTML
    if kind in _VAGUE_TYPES:
        return _sniff(url, start[:_SNIFFED_BYTES], kind)
    if kind in _XML_TYPES or kind.endswith("+xml"):
        return Content.XML if kind == "image/svg+xml" else _html_or(Content.XML, start)
    return Content.TEXT if kind.startswith("text/") else Content.OTHER


def sniffed_type(start: bytes) -> str:
    """The media type of a body whose header says nothing, by its first 1,445 bytes."""
    start = start[:_SNIFFED_BYTES]
    for signature, kind in _SIGNATURES:
        if start.startswith(signature):
            return kind
    if start.startswith(b"RIFF") and start[8:14] == b"WEBPVP":
        return "image/webp"
    if _HTML.match(start):
        return "text/html"
    if _XML.match(start):
        return "text/xml"
    if start.startswith(_UTF16_BOMS) or not _BINARY.search(start):
        return "text/plain"
    weak = (kind for signature, kind in _WEAK_SIGNATURES if start.startswith(signature))
    return next(weak, "application/octet-stream")


def _html_or(otherwise: Content, start: bytes) -> Content:
    return Content.HTML if _HTML.match(start[:_SNIFFED_BYTES]) else otherwise


def _sniff(url: str, start: bytes, kind: str) -> Content:
    if _HTML.match(start):
        return Content.HTML
    if _XML.match(start):
        return Content.XML
    if not start.startswith(_UTF16_BOMS) and _BINARY.search(start):
        return Content.OTHER
    if kind == "text/plain":
        return Content.TEXT
    return _TEXT_EXTENSIONS.get(_extension(url), Content.TEXT)


def _extension(url: str) -> str:
    name = url.partition("?")[0].partition("#")[0].rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""
