"""robots.txt by RFC 9309, on protego. Pure: fetching and caching are the engine's."""

from http import HTTPStatus

from protego import Protego

__all__ = ["ALLOW_ALL", "RobotsRules", "read_robots"]


class RobotsRules:
    """What one host's robots.txt says to us."""

    def __init__(self, parsed: Protego | None, token: str) -> None:
        self._parsed = parsed
        self._token = token
        delay = parsed.crawl_delay(token) if parsed else None
        #: Seconds between requests the host asks for; None if it does not say.
        self.crawl_delay_s: float | None = float(delay) if delay is not None else None
        self.sitemaps: tuple[str, ...] = tuple(parsed.sitemaps) if parsed else ()

    def allows(self, url: str) -> bool:
        """True if the URL may be fetched."""
        return self._parsed is None or bool(self._parsed.can_fetch(url, self._token))


ALLOW_ALL = RobotsRules(None, "")


def read_robots(status_code: int, body: bytes, token: str) -> RobotsRules | None:
    """The rules of a response; None if the answer counts as unreachable (RFC 9309, 2.3.1).

    2xx is read, 5xx is unreachable, everything else (4xx, redirects that never ended)
    means that there is no robots.txt and all is allowed.
    """
    if status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return None
    if not HTTPStatus.OK <= status_code < HTTPStatus.MULTIPLE_CHOICES:
        return ALLOW_ALL
    text = body.decode("utf-8-sig", errors="replace").replace("\0", "")
    return RobotsRules(Protego.parse(text), token)
