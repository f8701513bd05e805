"""Sitemaps, by sitemaps.org, and what sites use in their place: text files, RSS, Atom.

The XML is read as a stream by expat without a DTD: a document type that declares anything ends the
reading, so there are no entities beyond the five and the numeric ones, and nothing is fetched.
Broken input yields what was read before the break.
"""

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
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
    #: The page in other languages (`xhtml:link hreflang`); each counts as a URL.
    alternates: tuple[str, ...] = ()


class Sitemap(Struct, frozen=True, kw_only=True):
    """What a sitemap lists, in its order and as written: check the URLs before use."""

    urls: list[SitemapEntry] = []
    #: Other sitemaps, of a sitemap index.
    sitemaps: list[str] = []
    #: Something was left out: too many, too large, or the input is broken.
    truncated: bool = False


def read(body: bytes, max_urls: int = MAX_URLS, max_bytes: int = MAX_BYTES) -> Sitemap:
    """Reads a sitemap, an index of sitemaps, a feed or a list of URLs, gzipped or not."""
    listing = _Listing(max_urls)
    unpacked = _Unpacked(body, max_bytes)
    pieces = iter(unpacked)
    first = next(pieces, b"")
    is_whole = True
    if first[:1_024].removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<") or _is_utf16(first):
        if first[:1].isspace():
            first = first.lstrip()  # XML is strict about what comes before its declaration
        is_whole = _read_xml(chain([first], pieces), listing)
    else:
        _read_lines(b"".join([first, *pieces]), listing)
    return Sitemap(
        urls=listing.urls,
        sitemaps=listing.sitemaps,
        truncated=unpacked.is_cut or not is_whole or listing.is_full,
    )


def _is_utf16(body: bytes) -> bool:
    return body.startswith((b"\xfe\xff", b"\xff\xfe", b"\x00<", b"<\x00"))


class _Unpacked:
    """The bytes of a body in pieces, gunzipped if need be, no more of them than `max_bytes`.

    `is_cut`, once they were all taken: there were more, or the gzip is broken.
    """

    def __init__(self, body: bytes, max_bytes: int) -> None:
        self.is_cut = False
        self._body = body
        self._max_bytes = max_bytes

    def __iter__(self) -> Iterator[bytes]:
        room = self._max_bytes
        pieces = self._gunzipped() if self._body.startswith(_GZIP_MAGIC) else self._plain()
        for piece in pieces:
            yield piece[:room]
            room -= len(piece)
            if room < 0:
                self.is_cut = True
                return

    def _plain(self) -> Iterator[bytes]:
        for start in range(0, len(self._body), _CHUNK_BYTES):
            yield self._body[start : start + _CHUNK_BYTES]

    def _gunzipped(self) -> Iterator[bytes]:
        body, position = self._body, 0
        # One member after the other; what follows the last may be padding, which is no error.
        while body.startswith(_GZIP_MAGIC, position):
            member = zlib.decompressobj(zlib.MAX_WBITS | 16)
            while not member.eof:
                packed = member.unconsumed_tail
                if not packed:
                    packed = body[position : position + _CHUNK_BYTES]
                    position += len(packed)
                try:
                    piece = member.decompress(packed, _CHUNK_BYTES)
                except zlib.error:
                    self.is_cut = True
                    return
                if piece:
                    yield piece
                elif not packed:
                    self.is_cut = True
                    return
            position -= len(member.unused_data)


class _Listing:
    """URLs as they are found; `is_full` once one did not fit."""

    def __init__(self, max_urls: int) -> None:
        self.urls: list[SitemapEntry] = []
        self.sitemaps: list[str] = []
        self.is_full = False
        self._max_urls = max_urls
        self._count = 0

    def add(self, url: str, lastmod: str = "", alternates: Iterable[str] = ()) -> None:
        url = url.strip()
        if not _is_usable(url) or not self._has_room():
            return
        others = [other for other in map(str.strip, alternates) if _is_usable(other)]
        others = [other for other in others if other != url and self._has_room()]
        entry = SitemapEntry(url=url, lastmod=lastmod.strip() or None, alternates=tuple(others))
        self.urls.append(entry)

    def add_sitemap(self, url: str) -> None:
        url = url.strip()
        if _is_usable(url) and self._has_room():
            self.sitemaps.append(url)

    def _has_room(self) -> bool:
        """Takes a place; `is_full` if there was none."""
        self.is_full = self._count >= self._max_urls
        self._count += not self.is_full
        return not self.is_full


def _is_usable(url: str) -> bool:
    return 0 < len(url) <= MAX_URL_CHARS


def _read_lines(body: bytes, listing: _Listing) -> None:
    for line in decode(body, detect(body)).splitlines():
        # What is not a URL here is a page about something else, not a list.
        if line.strip().lower().startswith(("http://", "https://")):
            listing.add(line)
        if listing.is_full:
            return


class _StopReadingError(Exception):
    """Raised in a handler: expat has no other way out."""


def _read_xml(pieces: Iterable[bytes], listing: _Listing) -> bool:
    """Whether the document was read to its end and was well-formed."""
    parser = _XmlReader(listing).parser
    fed_bytes = 0
    try:
        for piece in pieces:
            parser.Parse(piece, False)  # noqa: FBT003 - positional only
            if fed_bytes - parser.CurrentByteIndex > _MAX_TOKEN_BYTES:
                return False
            fed_bytes += len(piece)
        parser.Parse(b"", True)  # noqa: FBT003 - positional only
    except (_StopReadingError, expat.ExpatError, ValueError, LookupError):
        # The last two: an encoding Python does not know, or one expat cannot use.
        return False
    return True


#: The elements that hold one entry -> whether it is another sitemap.
_ENTRIES = {"url": False, "sitemap": True, "item": False, "entry": False}
_LOCATIONS = frozenset(("loc", "link"))
#: RSS: an entry without a link may have an id that is one.
_PERMANENT = "guid"
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
        self._permanent = ""
        self._lastmod = ""
        self._alternates: list[str] = []

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
                self._url = self._permanent = self._lastmod = ""
                self._alternates = []
        elif self._depth == self._entry_depth + 1:
            if self._entry == "url" and name == "link":
                self._start_alternate(attributes)
            elif not tag.lower().startswith(_EXTENSIONS):
                self._start_field(name, attributes)

    def _start_alternate(self, attributes: dict[str, str]) -> None:
        if attributes.get("rel") == "alternate" and "href" in attributes:
            self._alternates.append(attributes["href"])

    def _start_field(self, name: str, attributes: dict[str, str]) -> None:
        if name == "link" and "href" in attributes:
            if attributes.get("rel", "alternate") == "alternate":
                self._url = self._url or attributes["href"]
        elif name in _LOCATIONS or name in _DATES or _is_permanent(name, attributes):
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
            elif name == _PERMANENT:
                self._permanent = text
            else:
                self._lastmod = self._lastmod or text
        elif self._entry is not None and self._depth == self._entry_depth:
            if _ENTRIES[self._entry]:
                self._listing.add_sitemap(self._url)
            else:
                self._listing.add(self._url or self._permanent, self._lastmod, self._alternates)
            self._entry = None
            if self._listing.is_full:
                raise _StopReadingError
        self._depth -= 1


def _is_permanent(name: str, attributes: dict[str, str]) -> bool:
    return name == _PERMANENT and attributes.get("isPermaLink", "true").lower() == "true"
