"""What a page's `meta` elements ask of its reader."""

import re
from typing import NamedTuple

__all__ = ["RobotsDirectives", "refresh_url", "robots_directives"]


class RobotsDirectives(NamedTuple):
    """`noindex`: do not keep the page. `nofollow`: do not follow its links."""

    noindex: bool = False
    nofollow: bool = False


def robots_directives(content: str) -> RobotsDirectives:
    """Reads the content of a robots `meta`; unknown words are ignored."""
    words = {word.strip() for word in content.lower().split(",")}
    none = "none" in words
    return RobotsDirectives(none or "noindex" in words, none or "nofollow" in words)


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
