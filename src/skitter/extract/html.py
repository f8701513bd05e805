"""Links, title and directives of an HTML page. Nothing a page contains makes this raise."""

import re

from msgspec import Struct
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from skitter.extract.charset import decode
from skitter.extract.directives import refresh_url, robots_directives
from skitter.extract.flatten import flatten
from skitter.extract.weight import is_heavy

__all__ = ["Anchor", "Page", "parse"]

#: (href as written, trimmed and without fragment; text).
Anchor = tuple[str, str]

MAX_LINKS = 10_000
MAX_BYTES = 10 * 1024 * 1024
MAX_TEXT_CHARS = 512

#: Anchors may be nested by tricks; together they are read up to this much.
_TEXT_BUDGET_CHARS = 4 * 1024 * 1024
#: The head is looked for in this much of a page that does not say where it ends.
_HEAD_BYTES = 16 * 1024
# Mutation events copy options into `selectedcontent`: work that no link needs.
_OPTIONS = int(LexborDocumentOptions.WO_EVENTS)
_UTF8_BOM = b"\xef\xbb\xbf"
#: What the URL standard strips around a URL.
_URL_MARGIN = "".join(map(chr, range(33)))
_FOREIGN_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.\-]*:", re.IGNORECASE)
_LINK_RELATIONS = frozenset(("canonical", "next", "prev"))
_SVG_PARENTS = frozenset(("svg", "g", "symbol", "defs", "path", "circle", "rect", "text", "use"))
_ROBOTS_NAMES = frozenset(("robots", "skitter"))
_META_WORDS = (b"refresh", b"robots", b"skitter")


def _tag_ids() -> dict[int, str]:
    """Lexbor's numbers of the elements that link; comparing them spares a string per element."""
    names = ("a", "area", "base", "link", "frame", "iframe")
    ids = {}
    for name in names:
        node = LexborHTMLParser("").create_node(name)
        ids[node.tag_id] = name
    return ids


_KINDS = _tag_ids()
_A = next(number for number, name in _KINDS.items() if name == "a")


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
) -> Page:
    """Reads a page of the given charset (see `skitter.extract.charset.detect`).

    Links are those of `a area frame iframe`, meta refresh and `link rel=canonical|next|prev`
    that can lead to http or https; empty ones and mere fragments are left out.
    `follow_nofollow=False` leaves out those marked `rel=nofollow`.
    """
    truncated = len(body) > max_bytes
    body = _as_utf8(body[:max_bytes], charset)
    if is_heavy(body):
        body = flatten(body, max_tags=4 * max_links)
    tree = LexborHTMLParser(body, options=_OPTIONS)
    head = _Head(tree, body)
    links = _Links(max_links=max_links, follow_nofollow=follow_nofollow)
    if head.refresh:
        links.add(head.refresh)
    links.collect(tree)
    return Page(
        title=head.title,
        base=links.base,
        anchors=list(links.found.items()),
        canonical=links.canonical,
        refresh=head.refresh,
        nofollow=head.nofollow,
        noindex=head.noindex,
        truncated=truncated or links.truncated,
    )


def _as_utf8(body: bytes, charset: str) -> bytes:
    # Lexbor reads UTF-8 and keeps what is not; selectolax replaces it when it is read.
    if charset != "utf-8":
        return decode(body, charset).encode("utf-8", "replace")
    return body[3:] if body.startswith(_UTF8_BOM) else body


def _collapsed(text: str) -> str:
    return " ".join(text.split())[:MAX_TEXT_CHARS]


class _Head:
    """What `meta` and `title` say."""

    def __init__(self, tree: LexborHTMLParser, body: bytes) -> None:
        self.refresh: str | None = None
        self.nofollow = False
        self.noindex = False
        end = body.find(b"</head", 0, 4 * _HEAD_BYTES)
        written = body[: end if end >= 0 else _HEAD_BYTES].lower()
        self.title = _title(tree)
        # Most pages have many metas and none of these: looking here first spares reading them.
        if any(word in written for word in _META_WORDS):
            for node in _metas(tree, written.count(b"<meta")):
                self._meta(node)

    def _meta(self, node: LexborNode) -> None:
        attributes = node.attributes
        content = attributes.get("content")
        if not content:
            return
        if (attributes.get("name") or "").strip().lower() in _ROBOTS_NAMES:
            directives = robots_directives(content)
            self.noindex = self.noindex or directives.noindex
            self.nofollow = self.nofollow or directives.nofollow
        elif (attributes.get("http-equiv") or "").strip().lower() == "refresh":
            self.refresh = self.refresh or refresh_url(content)


def _title(tree: LexborHTMLParser) -> str | None:
    head = tree.head
    node = head.css_first("title") if head is not None else None
    if node is None:
        # SVG has titles too, of its shapes.
        titles = (node for node in tree.css("title") if _tag_of_parent(node) not in _SVG_PARENTS)
        node = next(titles, None)
    return None if node is None else _collapsed(node.text())


def _tag_of_parent(node: LexborNode) -> str | None:
    parent = node.parent
    return None if parent is None else parent.tag


def _metas(tree: LexborHTMLParser, written: int) -> list[LexborNode]:
    """Those of the head; all of them if it ended before the page says so.

    An `<img>` in a `<noscript>` is enough to end it.
    """
    head = tree.head
    nodes = head.css("meta") if head is not None else []
    return nodes if len(nodes) >= written else tree.css("meta")


class _Links:
    """Collects links in document order; the first of several equal ones counts."""

    def __init__(self, *, max_links: int, follow_nofollow: bool) -> None:
        self.found: dict[str, str] = {}
        self.base: str | None = None
        self.canonical: str | None = None
        self.truncated = False
        self._max_links = max_links
        self._follow_nofollow = follow_nofollow
        self._text_budget_chars = _TEXT_BUDGET_CHARS

    def collect(self, tree: LexborHTMLParser) -> None:
        # One walk for all elements: cheaper than a list of names, and in document order.
        found = self.found
        for node in tree.css("[href],[src]"):
            tag_id = node.tag_id
            if tag_id == _A:
                attributes = node.attrs
                href = attributes.get("href") or attributes.get("xlink:href") or ""
                if "#" in href:
                    href = href.partition("#")[0]
                # Pages repeat themselves: most links end here.
                if href and href not in found:
                    self._add(href, node)
            elif tag_id in _KINDS:
                self._other(_KINDS[tag_id], node)
            if self.truncated:
                break

    def add(self, href: str) -> None:
        """Adds a link that has no text."""
        self._add(href.partition("#")[0], None)

    def _add(self, href: str, anchor: LexborNode | None) -> None:
        """Adds the link unless it is known, empty or not to be followed."""
        href = href.strip(_URL_MARGIN)
        if not href or href in self.found or (":" in href and _FOREIGN_SCHEME.match(href)):
            return
        if anchor is not None and not self._follow_nofollow and _is_nofollow(anchor):
            return
        if len(self.found) >= self._max_links:
            self.truncated = True
            return
        self.found[href] = "" if anchor is None else self._text(anchor)

    def _text(self, node: LexborNode) -> str:
        if self._text_budget_chars <= 0:
            return ""
        text = node.text()
        self._text_budget_chars -= len(text)
        return _collapsed(text)

    def _other(self, kind: str, node: LexborNode) -> None:
        attributes = node.attributes
        href = attributes.get("src" if kind in {"frame", "iframe"} else "href")
        if not href:
            return
        if kind == "base":
            self.base = self.base or href.strip(_URL_MARGIN)
        elif kind == "link":
            self._link(href, (attributes.get("rel") or "").lower().split())
        elif self._follow_nofollow or not _is_nofollow(node):
            self.add(href)

    def _link(self, href: str, relations: list[str]) -> None:
        if "canonical" in relations and self.canonical is None:
            self.canonical = href.strip(_URL_MARGIN) or None
        if not _LINK_RELATIONS.isdisjoint(relations):
            self.add(href)


def _is_nofollow(node: LexborNode) -> bool:
    return "nofollow" in (node.attributes.get("rel") or "").lower().split()
