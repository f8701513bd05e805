"""robots.txt by RFC 9309. Pure: fetching and caching are the engine's.

Groups are read here, because the product token must match as a whole, unknown lines must not end a
group, and a verdict must name its line. Patterns are matched by protego.
"""

import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from urllib.parse import quote

from msgspec import Struct
from protego import Protego

from skitter.politeness.robots_lines import ANYBODY, Rule, products, read_lines

__all__ = ["ALLOW_ALL", "Decision", "RobotsRules", "read_robots"]


class Decision(Struct, frozen=True, kw_only=True):
    """Whether a URL may be fetched, and the line that says so."""

    allowed: bool
    #: From 1; None: no rule is about this URL, so it is allowed.
    line_number: int | None = None
    #: The line as written, without the space around it.
    line: str = ""
    #: Whom the group is for: our product token or `*`; empty: no group is for us.
    agent: str = ""


class RobotsRules:
    """What one host's robots.txt says to us. URLs are normalised ones of that host."""

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        *,
        agent: str = "",
        crawl_delay_s: float | None = None,
        sitemaps: Iterable[str] = (),
    ) -> None:
        #: Seconds between requests the host asks for; None if it does not say.
        self.crawl_delay_s = crawl_delay_s
        #: As written: not all are URLs.
        self.sitemaps: tuple[str, ...] = tuple(sitemaps)
        self._rules = tuple(rules)
        self._agent = agent
        forbids = any(not rule.allows for rule in rules)
        self._parsed = _compile(rules) if forbids else None

    def allows(self, url: str) -> bool:
        """True if the URL may be fetched."""
        if self._parsed is None:
            return True
        if "%2" in url and "?" in url:
            url = _same_slashes(url)
        return bool(self._parsed.can_fetch(url, ANYBODY))

    def explain(self, url: str) -> Decision:
        """Says the same as `allows`, and why; slower by the number of rules."""
        allowed = self.allows(url)
        same = (rule for rule in self._rules if rule.allows is allowed and _matches(rule, url))
        rule = max(same, key=lambda rule: len(rule.pattern), default=None)
        if rule is None:
            return Decision(allowed=allowed, agent=self._agent)
        return Decision(
            allowed=allowed, line_number=rule.line_number, line=rule.line, agent=self._agent
        )


ALLOW_ALL = RobotsRules()


def read_robots(status_code: int, body: bytes, token: str) -> RobotsRules | None:
    """The rules of a response; None if the answer counts as unreachable (RFC 9309, 2.3.1).

    2xx is read, 5xx is unreachable, everything else (4xx, redirects that never ended)
    means that there is no robots.txt and all is allowed. `token` is the product token that groups
    address us by; a whole User-Agent header will do.
    """
    if status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return None
    if not HTTPStatus.OK <= status_code < HTTPStatus.MULTIPLE_CHOICES:
        return ALLOW_ALL
    text = body.decode("utf-8-sig", errors="replace").replace("\0", "")
    file = read_lines(text, products(token))
    agent = max(file.groups.keys() - {ANYBODY}, key=len, default=ANYBODY)
    group = file.groups.get(agent)
    if group is None:
        return RobotsRules(sitemaps=file.sitemaps)
    return RobotsRules(
        group.rules, agent=agent, crawl_delay_s=group.crawl_delay_s, sitemaps=file.sitemaps
    )


def _compile(rules: Iterable[Rule]) -> Protego:
    lines = [f"{'Allow' if rule.allows else 'Disallow'}: {_plain(rule.pattern)}" for rule in rules]
    return Protego.parse("\n".join([f"User-agent: {ANYBODY}", *lines]))


def _matches(rule: Rule, url: str) -> bool:
    """True if the rule is about the URL; asked of the same matcher, so `explain` cannot differ."""
    if not rule.allows:
        return not _compile([rule]).can_fetch(_same_slashes(url), ANYBODY)
    other = Rule(allows=False, pattern="/", line_number=0, line="")
    return bool(_compile([other, rule]).can_fetch(_same_slashes(url), ANYBODY))


#: What Python takes for the end of a line and RFC 9309 does not.
_OTHER_BREAKS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_ENCODED_SLASH = re.compile("%2f", re.IGNORECASE)


def _plain(pattern: str) -> str:
    return _same_slashes(_OTHER_BREAKS.sub(lambda found: quote(found[0]), pattern))


def _same_slashes(url: str) -> str:
    """In a query `%2F` is a slash (RFC 9309, 2.2.2, second example); in a path it is not."""
    path, mark, query = url.partition("?")
    return path + mark + _ENCODED_SLASH.sub("/", query)
