"""Pages that a tree builder must not see as they are, reduced to their links.

In linear time and without a tree: no nesting, few attributes, nothing left open.
"""

import re

from skitter.extract.tokens import ONE_ATTRIBUTE, TAG

__all__ = ["flatten"]

_RAW_TEXT = {
    name: re.compile(rb"</%s(?=[\t\n\f\r />])" % name, re.IGNORECASE)
    for name in (
        b"iframe", b"noembed", b"noframes", b"script", b"style", b"textarea", b"title", b"xmp",
    )
}  # fmt: skip
_KEPT_ATTRIBUTES = frozenset((b"href", b"src", b"rel", b"name", b"content", b"http-equiv"))
_HEAD = frozenset((b"base", b"meta"))
_VOID = frozenset((b"area", b"link"))
_FRAMES = frozenset((b"frame", b"iframe"))
#: A longer tag is copied without the attributes nobody reads.
_MAX_TAG_BYTES = 1_024
_MAX_TEXT_BYTES = 4_096


class _Flat:
    """What is kept of a page: the head's tags, then links in document order."""

    def __init__(self, max_tags: int) -> None:
        self.head: list[bytes] = []
        self.links: list[bytes] = []
        self.has_title = False
        self._room = max_tags
        self._text_room = 0

    def has_room(self) -> bool:
        return self._room > 0

    def start(self, name: bytes, attributes: bytes) -> None:
        if name == b"a":
            self.end_anchor()
            self._add(self.links, b"<a%s>", attributes)
            self._text_room = _MAX_TEXT_BYTES
        elif name in _HEAD:
            self._add(self.head, b"<" + name + b"%s>", attributes)
        elif name in _VOID:
            self._add(self.links, b"<" + name + b"%s>", attributes)
        elif name in _FRAMES:
            # As an iframe: a frame outside a frameset is ignored.
            self._add(self.links, b"<iframe%s></iframe>", attributes)

    def _add(self, parts: list[bytes], form: bytes, attributes: bytes) -> None:
        self._room -= 1
        parts.append(form % _slim(attributes))

    def end_anchor(self) -> None:
        if self._text_room:
            self.links.append(b"</a>")
            self._text_room = 0

    def text(self, text: bytes) -> None:
        if self._text_room > 1 and text:
            # One byte stays, to remember that the anchor is open.
            text = text[: self._text_room - 1]
            self._text_room -= len(text)
            self.links.append(text.replace(b"<", b"&lt;"))

    def title(self, text: bytes) -> None:
        if not self.has_title:
            self.has_title = True
            text = text[:_MAX_TEXT_BYTES].replace(b"<", b"&lt;")
            self.head.append(b"<title>%s</title>" % text)

    def page(self) -> bytes:
        head, links = b"".join(self.head), b"".join(self.links)
        return b"<!DOCTYPE html><head>%s</head><body>%s" % (head, links)


def _slim(attributes: bytes) -> bytes:
    """The attributes as they are; of an unusual number only those that matter, each once."""
    if len(attributes) <= _MAX_TAG_BYTES:
        # The space keeps a last unquoted value apart from a slash or the end of the tag.
        return attributes + b" "
    kept: dict[bytes, bytes] = {}
    for match in ONE_ATTRIBUTE.finditer(attributes):
        name = match[1].lower()
        if name in _KEPT_ATTRIBUTES:
            kept.setdefault(name, match[0])
    return b" %s " % b" ".join(kept.values())


def flatten(body: bytes, *, max_tags: int = 40_000) -> bytes:
    """A page with the links, title and metas of `body` that is cheap to parse.

    Linear in `body` and never nested. Scripts, styles and comments are skipped as a browser
    would; what depends on the tree (foreign content, templates) is not known here.
    """
    flat = _Flat(max_tags)
    position = 0
    while flat.has_room() and (token := TAG.search(body, position)):
        flat.text(body[position : token.start()])
        position = token.end()
        closing, name, attributes, end = token.groups()
        if name is None or not end:
            continue
        name = name.lower()
        if name == b"plaintext" and not closing:
            break
        if closing:
            if name == b"a":
                flat.end_anchor()
            continue
        flat.start(name, attributes)
        if name in _RAW_TEXT:
            position = _skip_raw_text(body, name, position, flat)
    flat.text(body[position : position + _MAX_TEXT_BYTES])
    return flat.page()


def _skip_raw_text(body: bytes, name: bytes, position: int, flat: _Flat) -> int:
    """Where the element's end tag begins; without one it reaches to the end of the page."""
    end_tag = _RAW_TEXT[name].search(body, position)
    end = end_tag.start() if end_tag else len(body)
    if name == b"title":
        flat.title(body[position:end])
    return end
