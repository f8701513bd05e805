"""The tags of a page that matter to a crawler, as the HTML tokenizer sees them, in linear time.

No tree is built: what links a page has does not depend on how its elements nest, and a page
made to be dear to a tree builder (33 KB that become 4 million nodes) costs no more than others.

Most pages have no angle in a quoted value. There a tag ends at the first `>`, comments and
scripts can be cut out beforehand, and one expression finds everything that is left. Any other
page is read tag by tag, which takes four times as long and gives the same.
"""

import re
from collections.abc import Iterable, Iterator

import re2

__all__ = ["ONE_ATTRIBUTE", "Tag", "tags"]

#: Name, empty for an `a` and else one of `area base frame iframe link meta title`; the value of
#: `href`, less its fragment, where that is simple and comes first; the other attributes as
#: written; for `a` and `title` what comes up to the end of the element, markup included.
Tag = tuple[bytes, bytes, bytes, bytes]

_SPACE = rb"[\t\n\f\r ]"
_VALUE = rb"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >"'][^\t\n\f\r >]*+|(?=>)|\Z)"""
_NAME = rb"(?:=[^\t\n\f\r />=]*+|[^\t\n\f\r />=]++)"
_ATTRIBUTE = rb"%s(?:%s*+=%s*+%s)?+" % (_NAME, _SPACE, _SPACE, _VALUE)
_ATTRIBUTES = rb"(?:[\t\n\f\r /]++|%s)*+" % _ATTRIBUTE
ONE_ATTRIBUTE = re.compile(rb"(%s)(?:%s*+=%s*+(%s))?+" % (_NAME, _SPACE, _SPACE, _VALUE))

# Every branch that has begun ends, at the end of the page if nowhere else: no branch is tried
# twice from the same place, which keeps the scan linear.
#: Comment, tag or bogus comment. Groups: slash, name, attributes, end.
_ANY_TAG = re.compile(
    rb"<(?:!--(?:-?>|(?s:.*?)(?:--!?>|\Z))"
    rb"|(/?)([a-zA-Z][^\t\n\f\r />]*+)(%s)(>|\Z)"
    rb"|[!?/][^>]*+>?)" % _ATTRIBUTES
)
_ENDS = {
    name: re.compile(rb"</%s(?=[\t\n\f\r />])" % name, re.IGNORECASE)
    for name in (
        b"iframe", b"noembed", b"noframes", b"script", b"style", b"textarea", b"title", b"xmp",
    )
}  # fmt: skip
_COMMENT_END = re.compile(rb"--!?>")
_HIDES = frozenset((*_ENDS, b"plaintext"))
_WANTED = frozenset((b"area", b"base", b"frame", b"iframe", b"link", b"meta"))
_ENDS_ANCHOR = frozenset((b"a", b"/a"))

#: What hides markup: comments, and elements whose content is text.
_HIDING = re.compile(
    rb"<(?=[!?sStTxXiInNpP])(?:[!?]"
    rb"|(?i:(iframe|noembed|noframes|plaintext|script|style|textarea|title|xmp)(?=[\t\n\f\r />])))"
)
#: Stands where something was cut out; it is no tag, and makes a tag around it a tangled one.
_CUT = b"<!>"


# RE2 scans a page that matches nowhere three times as fast as `re`.
_BYTES = re2.Options()
_BYTES.encoding = re2.Options.Encoding.LATIN1
#: A quoted value with an angle in it, or a tag that does not end before the next one.
_TANGLED = re2.compile(rb"""=%s*(?:"[^"<>]*[<>]|'[^'<>]*[<>])|<[a-zA-Z/][^<>]*<""" % _SPACE, _BYTES)
#: Gives a `Tag` of a page that is not tangled.
_PLAIN_TAG = re.compile(
    rb"<(?=[aAbBfFiIlLmM])(?:[aA]|((?i:area|base|i?frame|link|meta)))(?=[\t\n\f\r />])"
    rb"""(?:[\t\n\f\r ]++href="([^\x00-\x20"#&<>]*+)(?:#[^"&<>]*+)?+")?+([^<>]*+)>"""
    rb"(?(1)|([^<]*+(?:<(?!/?[aA][\t\n\f\r />])[^<]*+)*+))"
)


def tags(body: bytes) -> Iterable[Tag]:
    """In document order, but the title first; titles of drawings are left out."""
    title, markup = _cut_hidden(body)
    if _TANGLED.search(markup):
        return _exact_tags(body)
    found = _PLAIN_TAG.findall(markup)
    return found if title is None else [(b"title", b"", b"", title), *found]


def _cut_hidden(body: bytes) -> tuple[bytes | None, bytes]:
    """The page's title, and the page without what is no markup, as far as it is plain."""
    title = None
    kept = []
    drawings = _Drawings(body)
    start = position = 0
    while hiding := _HIDING.search(body, position):
        name = hiding[1].lower() if hiding[1] else b""
        begin, position = hiding.start(), hiding.end()
        if name:
            # The tag itself stays: an iframe's leads somewhere.
            begin = position = body.find(b">", position) + 1 or len(body)
        position = _end_of_hidden(body, name, position, drawings)
        if name == b"title" and title is None and not drawings.cover(begin):
            title = body[begin:position]
        kept.append(body[start:begin])
        start = position
    kept.append(body[start:])
    return title, _CUT.join(kept)


def _end_of_hidden(body: bytes, name: bytes, position: int, drawings: "_Drawings") -> int:
    """Where markup goes on; at the end of the page if nothing says so before."""
    if name:
        end = _ENDS[name].search(body, position) if name in _ENDS else None
        return end.start() if end else len(body)
    if body.startswith(b"--", position):
        if body.startswith((b">", b"->"), position + 2):
            return body.index(b">", position) + 1
        comment_end = _COMMENT_END.search(body, position + 2)
        return comment_end.end() if comment_end else len(body)
    if body.startswith(b"[CDATA[", position) and drawings.cover(position):
        return body.find(b"]]>", position) + 1 or len(body)
    return body.find(b">", position) + 1 or len(body)


class _Drawings:
    """Whether an `svg` or `math` element is open, as it is mostly written.

    Asked for growing positions; nothing is looked at twice.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._asked = 0
        self._open = {b"svg": False, b"math": False}

    def cover(self, position: int) -> bool:
        for name, was_open in self._open.items():
            begun = self._body.rfind(b"<" + name, self._asked, position)
            ended = self._body.rfind(b"</" + name, self._asked, position)
            self._open[name] = begun > ended or (begun == ended and was_open)
        self._asked = position
        return any(self._open.values())


def _exact_tags(body: bytes) -> Iterator[Tag]:
    """Tag by tag, each attribute read by the rules."""
    anchor: tuple[bytes, int] | None = None
    drawings = _Drawings(body)
    for begin, end, name, attributes in _start_tags_and_ends_of_anchors(body, drawings):
        if anchor is not None and name in _ENDS_ANCHOR:
            yield b"", b"", anchor[0], body[anchor[1] : begin]
            anchor = None
        if name == b"a":
            anchor = attributes, end
        elif name == b"title":
            if not drawings.cover(begin):
                yield name, b"", b"", body[end : _end_of_hidden(body, name, end, drawings)]
        elif name in _WANTED:
            yield name, b"", attributes, b""
    if anchor is not None:
        yield b"", b"", anchor[0], body[anchor[1] :]


def _start_tags_and_ends_of_anchors(
    body: bytes, drawings: _Drawings
) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Where a tag begins and ends, its name (`/a` for the end of an anchor), its attributes."""
    position = 0
    while token := _ANY_TAG.search(body, position):
        begin, position = token.span()
        closing, name, attributes, end = token.groups()
        if name is None:
            if body.startswith(b"<![CDATA[", begin):
                position = _end_of_hidden(body, b"", begin + 2, drawings)
            continue
        name = closing + name.lower()
        if not end:
            return
        if not closing or name == b"/a":
            yield begin, position, name, attributes
        if name in _HIDES:
            position = _end_of_hidden(body, name, position, drawings)
