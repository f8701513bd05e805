"""Recognises a site that does not want us. Pure, and careful: a wrong guess costs a site an hour.

Only what the makers of such walls document or always send is a mark, and a mark in a body counts
only with a status that no ordinary page has.
"""

from collections.abc import Iterable

from msgspec import Struct

__all__ = ["BlockingPolicy", "challenge"]

#: Statuses under which a wall is served.
_STATUSES = frozenset({401, 403, 405, 406, 429, 503})
#: Marks are near the top; a wall is a small page.
_BODY_BYTES = 16_384

#: Beginning of a header line, in lower case, with what the header says about who is there.
_HEADERS = (
    (b"cf-mitigated: challenge", "Cloudflare"),
    (b"x-amzn-waf-action: challenge", "AWS WAF"),
    (b"x-amzn-waf-action: captcha", "AWS WAF"),
)
_BODIES = (
    (b"/cdn-cgi/challenge-platform/", "Cloudflare"),
    (b"geo.captcha-delivery.com", "DataDome"),
    (b"_Incapsula_Resource", "Imperva"),
    (b"px-captcha", "HUMAN"),
    (b"/_sec/cp_challenge/", "Akamai"),
    (b"Sucuri WebSite Firewall", "Sucuri"),
)


class BlockingPolicy(Struct, frozen=True, kw_only=True):
    """When a domain counts as having blocked us, and what follows."""

    #: Challenges in a row; 0: never.
    challenges: int = 3
    #: 403s in a row; 0: never. Many, because a site may have a large corner that is private.
    forbidden: int = 30
    #: How long it is left alone then.
    rest_s: float = 3_600.0
    #: Each time it is asked so many times gentler than before,
    factor: float = 2.0
    #: at most this,
    max_factor: float = 16.0
    #: and so many good answers take one such step back.
    forgive_transfers: int = 200


def challenge(status: int, head: Iterable[bytes], body: bytes) -> str | None:
    """Whose challenge or wall this response is; None: an ordinary response."""
    if status == 200:
        return None
    for line in head:
        if line[:1] in b"cCxX":
            lower = line.lower()
            for mark, name in _HEADERS:
                if lower.startswith(mark):
                    return name
    if status in _STATUSES:
        start = body[:_BODY_BYTES]
        for mark, name in _BODIES:
            if mark in start:
                return name
    return None
