"""Pages that a tree builder must not see as they are.

Building a tree the way browsers do is not linear. Elements on a deep stack are searched for every
tag, every attribute is compared with those before it, and formatting elements left open are cloned
into every paragraph that follows: 33 KB of `<b a1><b a2>…</p><p>x<p>x…` make 4 million nodes and
1.6 GB. The parser cannot be interrupted, so such pages are recognised before it runs and reduced,
in linear time, to their links: no nesting, few attributes, nothing left open.

The two limits are upper bounds that count bytes, never guesses about structure: what a page hides
in comments or quotes can only make it look heavier than it is.
"""

import re

__all__ = ["flatten", "is_heavy"]

#: Up to here nothing is counted: the worst page of this size costs some 0.4 s and 200 MB.
_ALWAYS_LIGHT_BYTES = 8 * 1024
#: Below this many tags no product of two kinds of tags is large.
_FEW_TAGS = 1_500
#: The search of the open elements costs up to the square of this, 0.5 s.
_MAX_TAGS = 8_192
#: Most nodes that clones of formatting elements may add.
_MAX_CLONES = 1_500_000
#: Up to here even one tag that fills the whole page is cheap enough.
_FEW_ATTRIBUTES_BYTES = 64 * 1024
#: The comparison of attributes costs up to the square of this, 1 s.
_MAX_ATTRIBUTES = 24_000

#: Three of each of the twelve names without attributes stay open at once (the Noah's Ark clause).
_BARE_FORMATTING = 36
# The look-ahead is what makes it fast: most tags fail on it.
_FORMATTING = re.compile(
    rb"<(?=[bcefistuBCEFISTU])"
    rb"(?i:b|big|code|em|font|i|s|small|strike|strong|tt|u)[\t\n\f\r /]"
)
_SEPARATORS = b"\t\n\f\r /\"'"


def is_heavy(body: bytes) -> bool:
    """Whether a tree of `body` could take more than about two seconds or 400 MB."""
    if len(body) <= _ALWAYS_LIGHT_BYTES:
        return False
    tags = body.count(b"<")
    if tags > _MAX_TAGS:
        return True
    if len(body) > _FEW_ATTRIBUTES_BYTES and _has_many_attributes(body):
        return True
    if tags <= _FEW_TAGS:
        return False
    formatting = len(_FORMATTING.findall(body)) + _BARE_FORMATTING
    return formatting * tags > _MAX_CLONES


def _has_many_attributes(body: bytes) -> bool:
    """Whether one tag could hold too many: each attribute needs a space, a slash or two quotes."""
    separators = len(body) - len(body.translate(None, _SEPARATORS))
    if separators <= _MAX_ATTRIBUTES:
        return False
    quotes = body.count(b'"') + body.count(b"'")
    return len(body.split()) + body.count(b"/") + quotes // 2 > _MAX_ATTRIBUTES


_SPACE = rb"[\t\n\f\r ]"
_VALUE = rb"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >"'][^\t\n\f\r >]*+|(?=>)|\Z)"""
_NAME = rb"(?:=[^\t\n\f\r />=]*+|[^\t\n\f\r />=]++)"
_ATTRIBUTE = rb"%s(?:%s*+=%s*+%s)?+" % (_NAME, _SPACE, _SPACE, _VALUE)
_ATTRIBUTES = rb"(?:[\t\n\f\r /]++|%s)*+" % _ATTRIBUTE
# Every branch that has begun ends, at the end of the page if nowhere else: no branch is tried
# twice from the same place, which keeps the scan linear.
_TOKEN = re.compile(
    rb"<(?:!--(?:-?>|(?s:.*?)(?:--!?>|\Z))"
    rb"|(/?)([a-zA-Z][^\t\n\f\r />]*+)(%s)(>|\Z)"
    rb"|[!?/][^>]*+>?)" % _ATTRIBUTES
)
_ONE_ATTRIBUTE = re.compile(rb"(%s)(?:%s*+=%s*+%s)?+" % (_NAME, _SPACE, _SPACE, _VALUE))

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
    for match in _ONE_ATTRIBUTE.finditer(attributes):
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
    while flat.has_room() and (token := _TOKEN.search(body, position)):
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
