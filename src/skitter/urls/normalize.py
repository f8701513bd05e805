"""URLs by the WHATWG rules, in the one form that is fetched, shown and compared."""

import re

import ada_url

from skitter.errors import InvalidURLError

__all__ = ["host_of", "normalize", "operator_url", "origin_of", "path_of", "port_of"]

_join = ada_url.join_url
_SCHEME = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9+.-]*):(?P<slashes>//)?")
#: Longer URLs are cut in messages.
_SHOWN_LENGTH = 200
_SCHEMES = ("http://", "https://")


def normalize(href: str, base: str | None = None) -> str:
    """The WHATWG href of `href` (against `base`) without its fragment; http and https only."""
    href = href.partition("#")[0]
    try:
        url = ada_url.normalize_url(href) if base is None else _join(base, href)
    except ValueError:
        message = f"not a valid URL: {_shown(href)}"
        raise InvalidURLError(message) from None
    if not url.startswith(_SCHEMES):
        scheme = url.partition(":")[0]
        message = f"only http and https are crawled, not {scheme}: {_shown(href)}"
        raise InvalidURLError(message)
    return url


def operator_url(text: str) -> str:
    """A URL somebody typed: as `normalize`, and one without a scheme gets `http://`."""
    text = text.strip()
    if not text or text.startswith("/"):
        message = f"not a valid URL: {_shown(text)}"
        raise InvalidURLError(message)
    return normalize(text if _has_scheme(text) else "http://" + text)


def origin_of(url: str) -> str:
    """`scheme://host[:port]` of a normalised URL (user-info included if there is any)."""
    return url[: url.index("/", 8)]


def host_of(url: str) -> str:
    """Host of a normalised URL; an IPv6 address keeps its brackets."""
    netloc = url[url.index("//") + 2 : url.index("/", 8)].rpartition("@")[2]
    if netloc.startswith("["):
        return netloc.partition("]")[0] + "]"
    return netloc.partition(":")[0]


def port_of(url: str) -> int:
    """Effective port of a normalised URL."""
    netloc = url[url.index("//") + 2 : url.index("/", 8)].rpartition("@")[2]
    port = netloc.rpartition("]")[2].rpartition(":")[2] if ":" in netloc else ""
    return int(port) if port.isdigit() else (443 if url.startswith("https:") else 80)


def path_of(url: str) -> str:
    """Path and query of a normalised URL."""
    return url[url.index("/", 8) :]


def _has_scheme(text: str) -> bool:
    """True for `mailto:x`, false for `a.test:80`, `box:80` and `a.test?u=http://b.test`."""
    found = _SCHEME.match(text)
    if found is None or found["slashes"]:
        return found is not None
    host_and_port = "." in found["name"] or text[found.end() :][:1].isdigit()
    return not host_and_port and found["name"] != "localhost"


def _shown(text: str) -> str:
    """The text as it can stand in one line of a message."""
    return repr(text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "…")
