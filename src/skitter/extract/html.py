"""Links, title and directives of an HTML page. Nothing a page contains makes this raise."""

import re
from functools import lru_cache

from msgspec import Struct

from skitter.extract.charset import decode
from skitter.extract.directives import refresh_url, robots_directives
from skitter.extract.references import attribute_text, text
from skitter.extract.tokens import ONE_ATTRIBUTE, tags

__all__ = ["Anchor", "Page", "parse"]

#: (href as written, trimmed and without fragment; text).
Anchor = tuple[str, str]

MAX_LINKS = 10_000
MAX_BYTES = 10 * 1024 * 1024
MAX_TEXT_CHARS = 512

#: Text is read from this much of what is between a tag and its end.
_CONTENT_BYTES = 16 * 1024
_UTF8_BOM = b"\xef\xbb\xbf"
_REPLACEMENT = "\ufffd".encode()
#: What the URL standard strips around a URL.
_URL_MARGIN = "".join(map(chr, range(33)))
_FOREIGN_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.\-]*:", re.IGNORECASE)
_LINK_RELATIONS = frozenset(("canonical", "next", "prev"))
_FRAMES = frozenset((b"frame", b"iframe"))
#: Tags, comments and the content of scripts within an anchor.
_MARKUP = re.compile(
    rb"<!--.*?(?:--!?>|\Z)|<(script|style)(?=[\s/>]).*?(?:</\1|\Z)[^>]*+>?"
    rb"""|</?[a-zA-Z](?:"[^"]*+"|'[^']*+'|[^'">])*+>|<[!?/][^>]*+>?""",
    re.IGNORECASE | re.DOTALL,
)


class Page(Struct, frozen=True, kw_only=True):
    """What a page says, as written: nothing is resolved yet."""

    title: str | None = None
    #: href of the first `<base href>`; see `skitter.extract.links.document_base`.
    base: str | None = None
    #: In document order, each href once; a meta refresh comes first.
    anchors: list[Anchor] = []
    canonical: str | None = None
    refresh: str | None = None
    nofollow: bool = False
    noindex: bool = False
    #: There were more links, or more bytes, than are read.
    truncated: bool = False


def parse(
    body: bytes,
    charset: str = "utf-8",
    *,
    follow_nofollow: bool = True,
    max_links: int = MAX_LINKS,
    max_bytes: int = MAX_BYTES,
    agent: str = "skitter",
) -> Page:
    """Reads a page of the given charset (see `skitter.extract.charset.detect`).

    Links are those of `a area frame iframe`, meta refresh and `link rel=canonical|next|prev`
    that can lead to http or https; empty ones and mere fragments are left out.
    `follow_nofollow=False` leaves out those marked `rel=nofollow`. Robots directives are those
    for all and for `agent`.
    """
    truncated = len(body) > max_bytes
    reader = _Reader(
        max_links=max_links, follow_nofollow=follow_nofollow, agent=agent.lower().encode()
    )
    reader.read(_as_utf8(body[:max_bytes], charset))
    return Page(
        title=reader.title,
        base=reader.base,
        anchors=reader.anchors(),
        canonical=reader.canonical,
        refresh=reader.refresh,
        nofollow=reader.nofollow,
        noindex=reader.noindex,
        truncated=truncated or reader.truncated,
    )


def _as_utf8(body: bytes, charset: str) -> bytes:
    # UTF-8 stays as it is: what is not valid is replaced where it is read.
    if charset != "utf-8":
        body = decode(body, charset).encode("utf-8", "replace")
    elif body.startswith(_UTF8_BOM):
        body = body[3:]
    return body.replace(b"\0", _REPLACEMENT) if b"\0" in body else body


class _Reader:
    """Collects what tags say; the first of several equal links counts."""

    def __init__(self, *, max_links: int, follow_nofollow: bool, agent: bytes) -> None:
        self.title: str | None = None
        self.base: str | None = None
        self.canonical: str | None = None
        self.refresh: str | None = None
        self.nofollow = False
        self.noindex = False
        self.truncated = False
        self._found: dict[str, str] = {}
        self._max_links = max_links
        self._follow_nofollow = follow_nofollow
        self._agent = agent

    def read(self, body: bytes) -> None:
        # Pages repeat themselves: most links end at the first `in`.
        seen: set[bytes] = set()
        for name, simple, attributes, content in tags(body):
            if name:
                self._other(name.lower(), simple, attributes, content)
                continue
            written = simple or attributes
            if written in seen:
                continue
            seen.add(written)
            href = simple.decode("utf-8", "replace") if simple else _link_of(attributes)
            self._add(href, attributes, content)
            if self.truncated:
                break

    def anchors(self) -> list[Anchor]:
        """The links found, that of a refresh first."""
        refresh = self.refresh and _trimmed(self.refresh)
        if not refresh or _FOREIGN_SCHEME.match(refresh):
            return list(self._found.items())
        others = [anchor for anchor in self._found.items() if anchor[0] != refresh]
        return [(refresh, ""), *others[: self._max_links - 1]]

    def _add(self, href: str, attributes: bytes, content: bytes = b"") -> None:
        """Takes a trimmed link unless it is known, leads nowhere or is not to be followed."""
        if not href or href in self._found or (":" in href and _FOREIGN_SCHEME.match(href)):
            return
        if not self._follow_nofollow and _is_nofollow(attributes):
            return
        if len(self._found) >= self._max_links:
            self.truncated = True
            return
        self._found[href] = _text_of(content) if content else ""

    def _other(self, name: bytes, simple: bytes, attributes: bytes, content: bytes) -> None:
        attributes = b'href="%s"%s' % (simple, attributes) if simple else attributes
        if name == b"title":
            if self.title is None:
                self.title = _collapsed(text(_decoded(content)))
        elif name == b"meta":
            self._meta(attributes)
        elif name == b"base":
            href = _value(attributes, b"href")
            self.base = self.base or (href and href.strip(_URL_MARGIN))
        elif name != b"link":
            target = _value(attributes, b"src" if name in _FRAMES else b"href")
            self._add(_trimmed(target or ""), attributes)
        elif relations := _relations(attributes) & _LINK_RELATIONS:
            href = _value(attributes, b"href")
            if "canonical" in relations and href and self.canonical is None:
                self.canonical = href.strip(_URL_MARGIN) or None
            self._add(_trimmed(href or ""), attributes)

    def _meta(self, attributes: bytes) -> None:
        # Most pages have many metas and none of these: looking here first spares reading them.
        written = attributes.lower()
        if not (b"robots" in written or b"refresh" in written or self._agent in written):
            return
        content = _value(attributes, b"content")
        if not content:
            return
        if (_value(attributes, b"name") or "").strip().lower() in {"robots", self._agent.decode()}:
            directives = robots_directives(content)
            self.noindex = self.noindex or directives.noindex
            self.nofollow = self.nofollow or directives.nofollow
        elif (_value(attributes, b"http-equiv") or "").strip().lower() == "refresh":
            self.refresh = self.refresh or refresh_url(content)


@lru_cache(maxsize=8_192)
def _link_of(attributes: bytes) -> str:
    """Where an `a` with these attributes leads; empty: nowhere."""
    return _trimmed(_value(attributes, b"href") or _value(attributes, b"xlink:href") or "")


def _trimmed(href: str) -> str:
    """Without fragment and margin."""
    return (href.partition("#")[0] if "#" in href else href).strip(_URL_MARGIN)


def _value(attributes: bytes, wanted: bytes) -> str | None:
    """The value of the first attribute of that name; empty if it has none."""
    for attribute in ONE_ATTRIBUTE.finditer(attributes):
        name, value = attribute.groups()
        if name.lower() == wanted:
            value = value or b""
            if value[:1] in (b'"', b"'"):
                value = value[1:].removesuffix(value[:1])
            return attribute_text(_decoded(value))
    return None


def _is_nofollow(attributes: bytes) -> bool:
    return "nofollow" in _relations(attributes)


@lru_cache(maxsize=1_024)
def _relations(attributes: bytes) -> frozenset[str]:
    return frozenset((_value(attributes, b"rel") or "").lower().split())


def _text_of(content: bytes) -> str:
    if len(content) > _CONTENT_BYTES:
        content = content[:_CONTENT_BYTES]
    if b"<" in content:
        content = _MARKUP.sub(b"", content)
    return _collapsed(text(_decoded(content)))


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _collapsed(raw: str) -> str:
    return " ".join(raw.split())[:MAX_TEXT_CHARS]
