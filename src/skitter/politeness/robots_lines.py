"""The lines of a robots.txt: which groups there are, and what they say to us."""

import math
import re
from collections.abc import Collection
from typing import NamedTuple

__all__ = ["ANYBODY", "Group", "RobotsFile", "Rule", "products", "read_lines"]

#: The agent of the group for whoever has none of their own.
ANYBODY = "*"

#: A year. Nobody waits longer, and sums of times stay sane.
MAX_CRAWL_DELAY_S = 366 * 86_400.0

_LINE_END = re.compile(r"\r\n|\r|\n")
_PRODUCT = re.compile(r"[^\s/;(*]+")
_VERSIONED = re.compile(r"([A-Za-z][\w-]*)/")
_SECONDS = re.compile(r"(\d{1,9})(?:[.,](\d{1,9}))?\s*(?:s|secs?|seconds?)?\.?")

#: What webmasters write, as large crawlers read it.
_FIELDS = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), "agent"),
    **dict.fromkeys(
        ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), "disallow"
    ),
    "allow": "allow",
    **dict.fromkeys(("sitemap", "site-map", "sitemaps"), "sitemap"),
    **dict.fromkeys(("crawl-delay", "crawldelay", "crawl delay"), "delay"),
    # Not read, but whoever writes them has begun the rules of a group.
    **dict.fromkeys(("request-rate", "visit-time"), "other rule"),
}


class Rule(NamedTuple):
    """An `Allow` or `Disallow` with something to match."""

    allows: bool
    pattern: str
    line_number: int
    line: str


class Group:
    """What all groups of one agent say together."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.crawl_delay_s: float | None = None

    def add_delay(self, delay_s: float) -> None:
        """The longest holds, if there are several."""
        self.crawl_delay_s = max(delay_s, self.crawl_delay_s or 0.0)


class RobotsFile(NamedTuple):
    """The groups of the agents asked for, by product in lower case, and everybody's sitemaps."""

    groups: dict[str, Group]
    sitemaps: list[str]


def products(agent: str) -> set[str]:
    """The product tokens of a token or a User-Agent header, in lower case."""
    return {_product(agent), *(name.lower() for name in _VERSIONED.findall(agent))} - {""}


def read_lines(text: str, wanted: Collection[str]) -> RobotsFile:
    """Reads the groups of `wanted` and of everybody."""
    file = RobotsFile({}, [])
    current: list[Group] = []
    in_rules = False
    for number, raw in enumerate(_LINE_END.split(text), 1):
        field, value = _field(raw)
        if field == "sitemap" and value:
            file.sitemaps.append(value)
        elif field == "agent":
            if in_rules:
                current, in_rules = [], False
            agent = ANYBODY if value.split()[:1] == [ANYBODY] else _product(value)
            if agent == ANYBODY or agent in wanted:
                current.append(file.groups.setdefault(agent, Group()))
        elif field in {"allow", "disallow", "delay", "other rule"}:
            in_rules = True
            _add(current, field, value, (number, raw))
    return file


def _add(groups: list[Group], field: str, value: str, line: tuple[int, str]) -> None:
    if field == "delay":
        delay_s = _seconds(value)
        if delay_s is not None:
            for group in groups:
                group.add_delay(delay_s)
    elif value and field != "other rule":
        rule = Rule(field == "allow", value, line[0], line[1].strip())
        for group in groups:
            if not group.rules or group.rules[-1] is not rule:
                group.rules.append(rule)


def _field(raw: str) -> tuple[str | None, str]:
    """What a line is about, by our name, and its value; None: nothing that we read."""
    line = raw.partition("#")[0].strip()
    name, colon, value = line.partition(":")
    field = _FIELDS.get(name.strip().lower()) if colon else None
    if field is None:
        # `Disallow /a` is read as it is meant.
        name, _, value = line.replace("\t", " ").partition(" ")
        field = _FIELDS.get(name.lower())
    return field, value.strip()


def _product(agent: str) -> str:
    found = _PRODUCT.match(agent.strip())
    return found[0].lower() if found else ""


def _seconds(value: str) -> float | None:
    try:
        delay_s = float(value)
    except ValueError:
        found = _SECONDS.fullmatch(value)
        if found is None:
            return None
        delay_s = float(f"{found[1]}.{found[2] or 0}")
    if math.isnan(delay_s) or math.isinf(delay_s) or delay_s < 0:
        return None
    return min(delay_s, MAX_CRAWL_DELAY_S)
