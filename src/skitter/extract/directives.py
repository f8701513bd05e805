"""What a page's `meta` elements and its `X-Robots-Tag` header ask of its reader."""

import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["RobotsDirectives", "header_directives", "refresh_url", "robots_directives"]


class RobotsDirectives(NamedTuple):
    """`noindex`: do not keep the page. `nofollow`: do not follow its links."""

    noindex: bool = False
    nofollow: bool = False


_WORD_END = re.compile(r"[,;\s]+")
#: Directives with a value: what stands before their colon is no crawler's name.
_VALUED = frozenset(
    ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")
)  # fmt: skip


def robots_directives(content: str) -> RobotsDirectives:
    """Reads the content of a robots `meta`; unknown words are ignored."""
    words = _WORD_END.split(content.lower())
    none = "none" in words
    return RobotsDirectives(none or "noindex" in words, none or "nofollow" in words)


def header_directives(values: Iterable[str], token: str) -> RobotsDirectives:
    """Reads every `X-Robots-Tag`: what is said to all and to `token`, the strictest of it.

    A crawler's name holds for what follows it in the same header: `a: noindex, b: nofollow`.
    """
    noindex = nofollow = False
    for value in values:
        for_us = True
        for part in value.lower().split(","):
            name, colon, rest = part.partition(":")
            if colon and name.strip() not in _VALUED:
                for_us, part = name.strip() == token.lower(), rest  # noqa: PLW2901 - the rest
            if for_us:
                found = robots_directives(part)
                noindex, nofollow = noindex or found.noindex, nofollow or found.nofollow
    return RobotsDirectives(noindex, nofollow)


# HTML standard, "shared declarative refresh steps": a time, a separator, perhaps `url=`.
_REFRESH = re.compile(
    r"[\t\n\f\r ]*+(?:\d|(?=\.))[\d.]*+"
    r"(?:[\t\n\f\r ]*+[;,]|[\t\n\f\r ])[\t\n\f\r ]*+"
    r"(?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+)?+"
    r"(?:\"([^\"]*+)|'([^']*+)|(.*))",
    re.IGNORECASE | re.DOTALL,
)


def refresh_url(content: str) -> str | None:
    """The URL of a `meta http-equiv=refresh`. None: the page only reloads itself, or is wrong."""
    match = _REFRESH.match(content)
    if match is None:
        return None
    url = next(group for group in match.groups() if group is not None)
    return url.strip("\t\n\f\r ") or None
