"""Sitemaps, by sitemaps.org, and what sites use in their place: text files, RSS, Atom.

The XML is read as a stream by expat without a DTD: a document type that declares anything ends the
reading, so there are no entities beyond the five and the numeric ones, and nothing is fetched.
Broken input yields what was read before the break.
"""

import zlib
from xml.parsers import expat

from msgspec import Struct

from skitter.extract.charset import decode, detect

__all__ = ["Sitemap", "SitemapEntry", "read"]

#: The protocol's own limits.
MAX_URLS = 50_000
MAX_BYTES = 50 * 1024 * 1024
#: The protocol's limit, in characters; longer ones are not URLs anybody crawls.
MAX_URL_CHARS = 2_048

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK_BYTES = 64 * 1024
#: Expat before 2.6 reads an unfinished tag again with every chunk.
_MAX_TOKEN_BYTES = 1024 * 1024
#: urlset/url/xhtml:link is 3; feeds nest a little deeper.
_MAX_DEPTH = 32


class SitemapEntry(Struct, frozen=True, kw_only=True):
    """A page; `lastmod` is as written (W3C date-time, or RFC 822 in RSS)."""

    url: str
    lastmod: str | None = None


class Sitemap(Struct, frozen=True, kw_only=True):
    """What a sitemap lists, in its order and as written: check the URLs before use."""

    urls: list[SitemapEntry] = []
    #: Other sitemaps, of a sitemap index.
    sitemaps: list[str] = []
    #: Something was left out: too many, too large, or the input is broken.
    truncated: bool = False


def read(body: bytes, max_urls: int = MAX_URLS, max_bytes: int = MAX_BYTES) -> Sitemap:
    """Reads a sitemap, an index of sitemaps, a feed or a list of URLs, gzipped or not."""
    truncated = False
    if body.startswith(_GZIP_MAGIC):
        body, truncated = _gunzip(body, max_bytes)
    if len(body) > max_bytes:
        body, truncated = body[:max_bytes], True
    listing = _Listing(max_urls)
    if body[:1_024].removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<") or _is_utf16(body):
        truncated = not _read_xml(body, listing) or truncated
    else:
        _read_lines(body, listing)
    return Sitemap(
        urls=listing.urls, sitemaps=listing.sitemaps, truncated=truncated or listing.is_full
    )


def _is_utf16(body: bytes) -> bool:
    return body.startswith((b"\xfe\xff", b"\xff\xfe", b"\x00<", b"<\x00"))


def _gunzip(body: bytes, max_bytes: int) -> tuple[bytes, bool]:
    """The decompressed bytes, at most one more than `max_bytes`, and whether some are missing."""
    parts: list[bytes] = []
    room = max_bytes + 1
    while body and room > 0:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            part = member.decompress(body, room)
        except zlib.error:
            return b"".join(parts), True
        parts.append(part)
        room -= len(part)
        if not member.eof:
            return b"".join(parts), True
        # Another member may follow, or padding, which is no error.
        body = member.unused_data if member.unused_data.startswith(_GZIP_MAGIC) else b""
    return b"".join(parts), bool(body)


class _Listing:
    """URLs as they are found; `is_full` once one did not fit."""

    def __init__(self, max_urls: int) -> None:
        self.urls: list[SitemapEntry] = []
        self.sitemaps: list[str] = []
        self.is_full = False
        self._max_urls = max_urls

    def add(self, url: str, lastmod: str | None = None, *, is_sitemap: bool = False) -> None:
        url = url.strip()
        if not url or len(url) > MAX_URL_CHARS:
            return
        if len(self.urls) + len(self.sitemaps) >= self._max_urls:
            self.is_full = True
        elif is_sitemap:
            self.sitemaps.append(url)
        else:
            self.urls.append(SitemapEntry(url=url, lastmod=(lastmod or "").strip() or None))


def _read_lines(body: bytes, listing: _Listing) -> None:
    for line in decode(body, detect(body)).splitlines():
        # What is not a URL here is a page about something else, not a list.
        if line.strip().lower().startswith(("http://", "https://")):
            listing.add(line)
        if listing.is_full:
            return


class _StopReadingError(Exception):
    """Raised in a handler: expat has no other way out."""


def _read_xml(body: bytes, listing: _Listing) -> bool:
    """Whether the document was read to its end and was well-formed."""
    parser = _XmlReader(listing).parser
    try:
        for start in range(0, len(body), _CHUNK_BYTES):
            parser.Parse(body[start : start + _CHUNK_BYTES], False)  # noqa: FBT003 - positional only
            if start - parser.CurrentByteIndex > _MAX_TOKEN_BYTES:
                return False
        parser.Parse(b"", True)  # noqa: FBT003 - positional only
    except (_StopReadingError, expat.ExpatError, ValueError, LookupError):
        # The last two: an encoding Python does not know, or one expat cannot use.
        return False
    return True


#: The elements that hold one entry -> whether it is another sitemap.
_ENTRIES = {"url": False, "sitemap": True, "item": False, "entry": False}
_LOCATIONS = frozenset(("loc", "link"))
#: Prefixes whose `loc` and `link` are no pages: pictures, videos, translations.
_EXTENSIONS = ("image:", "video:", "news:", "media:", "xhtml:")
_DATES = frozenset(("lastmod", "pubdate", "updated"))


class _XmlReader:
    """Expat handlers. Namespaces are ignored: half of all sitemaps get theirs wrong."""

    def __init__(self, listing: _Listing) -> None:
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._refuse
        self.parser.ElementDeclHandler = self._refuse
        self.parser.AttlistDeclHandler = self._refuse
        self.parser.ExternalEntityRefHandler = self._refuse_external
        self.parser.StartDoctypeDeclHandler = self._doctype
        self._listing = listing
        self._depth = 0
        self._entry: str | None = None
        self._entry_depth = 0
        self._collected: list[str] | None = None
        self._collected_chars = 0
        self._url = ""
        self._lastmod = ""

    def _refuse(self, *_declaration: object) -> None:
        raise _StopReadingError

    def _refuse_external(self, *_reference: object) -> int:
        raise _StopReadingError

    def _doctype(self, _name: str, system_id: str | None, _public: str | None, subset: int) -> None:
        if subset or system_id:
            raise _StopReadingError

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _StopReadingError
        name = tag.rpartition(":")[2].lower()
        if self._entry is None:
            if name in _ENTRIES:
                self._entry, self._entry_depth = name, self._depth
                self._url = self._lastmod = ""
        elif self._depth == self._entry_depth + 1 and not tag.lower().startswith(_EXTENSIONS):
            self._start_field(name, attributes)

    def _start_field(self, name: str, attributes: dict[str, str]) -> None:
        if name == "link" and "href" in attributes:
            if attributes.get("rel", "alternate") == "alternate":
                self._url = self._url or attributes["href"]
        elif name in _LOCATIONS or name in _DATES:
            self._collected, self._collected_chars = [], 0

    def _text(self, text: str) -> None:
        if self._collected is not None and self._collected_chars <= MAX_URL_CHARS:
            self._collected.append(text)
            self._collected_chars += len(text)

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2].lower()
        if self._collected is not None and self._depth == self._entry_depth + 1:
            text, self._collected = "".join(self._collected).strip(), None
            if name in _LOCATIONS:
                self._url = self._url or text
            else:
                self._lastmod = self._lastmod or text
        elif self._entry is not None and self._depth == self._entry_depth:
            self._listing.add(self._url, self._lastmod, is_sitemap=_ENTRIES[self._entry])
            self._entry = None
            if self._listing.is_full:
                raise _StopReadingError
        self._depth -= 1
