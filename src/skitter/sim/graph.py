"""The shape of the simulated web: which URLs there are and which page links to which.

Ordinary pages of a host are numbered from 0, the home page. They form a tree, so each is
reachable and the depth is about log_fanout(pages); links across the tree come on top. Pages
that lead nowhere (errors, 404s …) hang on ordinary ones and are linked from there alone, and
so are the inner URLs of redirect chains: no URL's outcome depends on the order of a crawl.
"""

from collections.abc import Iterator
from typing import NamedTuple

from skitter.sim.dice import Dice
from skitter.sim.options import SimOptions

__all__ = ["LONG_CHAIN_HOPS", "SECTIONS", "Graph", "Spot"]

#: More than the ten hops a crawl follows.
LONG_CHAIN_HOPS = 12

#: Folders that pages are spread over.
SECTIONS = 7

#: In their proportions.
_FORMS = (
    *("/s{section}/p{index}.html",) * 6,
    *("/s{section}/p{index}/",) * 2,
    *("/item?id={index}&view=full",) * 2,
)
_REDIRECTS = (*("single",) * 6, *("chain",) * 2, "loop", "away")


class Spot(NamedTuple):
    """A URL of the web: the host's number, from 1, and the path with its query sorted."""

    host: int
    target: str


class Graph:
    """Everything is computed from the number asked for; nothing is stored."""

    def __init__(self, options: SimOptions) -> None:
        self.options = options
        self.dice = Dice(options.seed)

    def page_target(self, host: int, index: int) -> str:
        """Files, folders and queries, so that relative links are of every sort."""
        if index == 0:
            return "/"
        form = _FORMS[self.dice.number("form", host, index) % len(_FORMS)]
        return form.format(section=index % SECTIONS, index=index)

    def links(self, host: int, index: int) -> list[Spot]:
        """Where an ordinary page leads, in document order."""
        found = [Spot(host, target) for target in self._children(host, index)]
        found += self._across(host, index)
        found += [Spot(host, target) for target in self._extras(host, index)]
        return found

    def calendar_links(self, host: int, index: int) -> list[Spot]:
        """Calendar pages have one parent each, so depth alone decides which are crawled."""
        first = index * self.options.trap_fanout + 1
        return [Spot(host, f"/calendar/{first + n}") for n in range(self.options.trap_fanout)]

    def orphans(self) -> int:
        """How many pages of a host only its sitemaps name."""
        return min(20_000, 2 + self.options.pages // 20) if self.options.sitemaps else 0

    def redirect_hops(self, host: int, index: int) -> int:
        """Redirects between a page and its parent's link to it."""
        kind = self._redirect_kind(host, index)
        if index == 0 or kind not in {"single", "chain"}:
            return 0
        return 1 if kind == "single" else 2 + self.dice.number("hops", host, index) % 3

    def has_loop(self, host: int, index: int) -> bool:
        """Whether `/loop/INDEX/a` and `/b` lead to each other."""
        return self._redirect_kind(host, index) == "loop"

    def away(self, host: int, index: int) -> Spot | None:
        """The page of another host that `/away/INDEX` leads to."""
        hosts = self.options.hosts
        if self._redirect_kind(host, index) != "away" or hosts == 1:
            return None
        other = 1 + (host + self.dice.number("away", host, index) % (hosts - 1)) % hosts
        return Spot(other, self.page_target(other, index))

    def has(self, what: str, rate: float, host: int, index: int) -> bool:
        """Whether page `index` exists and is among the share that `rate` orders."""
        if rate == 0 or not 0 <= index < self.options.pages:
            return False
        return self.dice.share(what, host, index) < rate

    def private_target(self, host: int, index: int) -> str:
        """Every fourth is in the folder that robots.txt opens again."""
        opened = self.dice.number("open", host, index) % 4 == 0
        return f"/private/open/{index}" if opened else f"/private/{index}"

    def _redirect_kind(self, host: int, index: int) -> str | None:
        if not self.has("redirect", self.options.redirect_rate, host, index):
            return None
        return _REDIRECTS[self.dice.number("redirect kind", host, index) % len(_REDIRECTS)]

    def _children(self, host: int, index: int) -> Iterator[str]:
        first = index * self.options.fanout + 1
        for child in range(first, min(first + self.options.fanout, self.options.pages)):
            hops = self.redirect_hops(host, child)
            yield f"/go/{child}/0" if hops else self.page_target(host, child)

    def _across(self, host: int, index: int) -> Iterator[Spot]:
        for position in range(self.options.links):
            number = self.dice.number(f"across {position}", host, index)
            there = 1 + (number >> 3) % self.options.hosts if number % 8 == 0 else host
            yield Spot(there, self.page_target(there, (number >> 16) % self.options.pages))

    def _extras(self, host: int, index: int) -> Iterator[str]:
        options = self.options
        if self.has("error", options.error_rate, host, index):
            yield f"/error/{index}"
        if self.has("reset", options.reset_rate, host, index):
            yield f"/reset/{index}"
        if self.has("gone", options.gone_rate, host, index):
            yield f"/gone/{index}"
        if self.has("private", options.robots_rate, host, index):
            yield self.private_target(host, index)
        if self.has_loop(host, index):
            yield f"/loop/{index}/a"
        if self.away(host, index):
            yield f"/away/{index}"
        if index == 0 and options.trap_fanout:
            yield "/calendar/0"
        if index == 0 and host == 1 and options.redirect_rate:
            yield "/long/0"
