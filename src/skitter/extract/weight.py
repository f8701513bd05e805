"""How dear a page would be to a tree builder, told before it runs, because it cannot be stopped.

Building a tree the way browsers do is not linear. Elements on a deep stack are searched for every
tag, every attribute is compared with those before it, and formatting elements left open are cloned
into every paragraph that follows: 33 KB of `<b a1><b a2>…</p><p>x<p>x…` make 4 million nodes and
1.6 GB. So the page's tags are counted, and if they are many, walked.

All figures are upper bounds: what a page hides in comments, quotes or scripts can only make it
look heavier than it is.
"""

import re

import re2

from skitter.extract.tokens import TAG

__all__ = ["is_heavy"]


def _bytes_options() -> "re2.Options":
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    return options


#: Up to here nothing is counted: the worst page of this size costs some 0.4 s and 200 MB.
_ALWAYS_LIGHT_BYTES = 8 * 1024
#: Below this many tags no product of two kinds of tags is above `_MAX_CLONES`.
_FEW_TAGS = 2_449
#: The search of the open elements costs up to tags times depth: 1.4 s for this product.
_MAX_SEARCH = 24_576**2
#: Most nodes that clones of formatting elements may add.
_MAX_CLONES = 1_500_000
#: Up to here even one tag that fills the whole page is cheap enough: its attributes, one every
#: two bytes, are compared with each other.
_MAX_TAG_BYTES = 64 * 1024
_WINDOW_BYTES = 16 * 1024

# These two scan whole pages that match nowhere: RE2 does that three times as fast as `re`.
#: Three of each of the twelve names without attributes stay open at once (the Noah's Ark clause).
_BARE_FORMATTING = 36
_FORMATTING_TAG = re2.compile(
    rb"<(?i:b|big|code|em|font|i|s|small|strike|strong|tt|u)[\t\n\f\r /]", _bytes_options()
)
_FORMATTING = frozenset(b"a b big code em font i nobr s small strike strong tt u".split())
_VOID = frozenset(
    b"area base basefont bgsound br col embed hr img input keygen link meta param source track"
    b" wbr".split()
)
#: What an end tag closes on its way to its own element (HTML standard, 13.2.6.3).
_IMPLIED = frozenset(b"dd dt li option optgroup p rb rp rt rtc".split())
_TABLE_PARTS = _IMPLIED | frozenset(b"caption colgroup tbody td tfoot th thead tr".split())

_NOT_ANGLES = bytes(byte for byte in range(256) if byte not in b"<>")
_QUOTED_END = re2.compile(rb"""=[\t\n\f\r ]*(?:"[^">]*>|'[^'>]*>)""", _bytes_options())
_SIMPLE_TAG = re.compile(rb"<(/?+[a-zA-Z][^\t\n\f\r />]*+)")


def is_heavy(body: bytes) -> bool:
    """Whether a tree of `body` could take more than about two seconds or 400 MB."""
    if len(body) <= _ALWAYS_LIGHT_BYTES:
        return False
    tags = body.count(b"<")
    if len(body) > _MAX_TAG_BYTES and not _is_plain(body):
        return _is_heavy_when_walked(body, tags)
    if tags <= _FEW_TAGS:
        return False
    formatting = len(_FORMATTING_TAG.findall(body)) + _BARE_FORMATTING
    if tags * tags <= _MAX_SEARCH and formatting * tags <= _MAX_CLONES:
        return False
    return _is_heavy_when_walked(body, tags)


def _is_plain(body: bytes) -> bool:
    """True if no quoted value contains `>` and no tag can be long enough to matter."""
    if _QUOTED_END.search(body):
        return False
    windows = range(0, len(body) - _WINDOW_BYTES, _WINDOW_BYTES)
    return all(body.find(b">", start, start + _WINDOW_BYTES) >= 0 for start in windows)


def _is_heavy_when_walked(body: bytes, tags: int) -> bool:
    # Inside SVG and MathML a CDATA section hides tags that are none.
    if b"<![CDATA[" in body:
        return True
    walk = _Walk()
    angles = body.translate(None, _NOT_ANGLES)
    if angles == b"<>" * (len(angles) // 2) and _is_plain(body):
        # Angles that alternate and are not quoted hide no tags: their names suffice.
        walk.follow(_SIMPLE_TAG.findall(body))
    else:
        found = TAG.findall(body)
        if any(len(attributes) > _MAX_TAG_BYTES for _, _, attributes, _ in found):
            return True
        walk.follow([closing + name for closing, name, _, _ in found])
    return tags * walk.deepest > _MAX_SEARCH or tags * walk.most_formatting > _MAX_CLONES


class _Walk:
    """The stack of open elements, or a deeper one.

    An element is taken off only where the standard certainly does: by its own end tag, with
    nothing above it but what that end tag implies. Whatever else closes elements is left out.
    """

    def __init__(self) -> None:
        self.deepest = 0
        self.most_formatting = 0

    def follow(self, tags: list[bytes]) -> None:
        """Walk over tags: names, with a slash before those that end one."""
        kinds = {tag: (tag.startswith(b"/"), tag.removeprefix(b"/").lower()) for tag in set(tags)}
        stack: list[bytes] = []
        formatting = 0
        for tag in tags:
            closing, name = kinds[tag]
            if closing:
                # Depth is greatest where an element ends.
                if len(stack) > self.deepest:  # noqa: PLR1730 - max() is four times as dear
                    self.deepest = len(stack)
                if stack and stack[-1] == name:
                    stack.pop()
                elif not _close(stack, name):
                    continue
                formatting -= name in _FORMATTING
            elif name and name not in _VOID:
                stack.append(name)
                if name in _FORMATTING:
                    formatting += 1
                    self.most_formatting = max(self.most_formatting, formatting)
        self.deepest = max(self.deepest, len(stack))


def _close(stack: list[bytes], name: bytes) -> bool:
    """End an element that is not the innermost; False: its end tag may well be ignored."""
    implied = _TABLE_PARTS if name == b"table" else _IMPLIED
    place = len(stack) - 1
    while place >= 0 and stack[place] != name:
        if stack[place] not in implied:
            return False
        place -= 1
    if place < 0:
        return False
    del stack[place:]
    return True
