"""The simulated web as a pure function: a host and a path give a page.

Nothing is stored and nothing depends on what was asked before, so a server, a manifest and
a test in another process all see the same web.
"""

import re
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from skitter.sim.charsets import CHARSETS, PLAIN, Charset
from skitter.sim.detours import Detours
from skitter.sim.discovery import Discovery
from skitter.sim.graph import SECTIONS, Graph, Spot
from skitter.sim.html import Html
from skitter.sim.mazes import MAZES, Maze
from skitter.sim.options import SimOptions
from skitter.sim.page import RESET, PageKind, SimPage, notice

__all__ = ["HTTP_PORT", "SimWeb", "canonical_target"]

#: What URLs leave out.
HTTP_PORT = 80

_INDEX = re.compile(r"/(?:s\d/p|item\?id=|\w+/(?:open/)?)(\d{1,300})(?:\.html|/\w*|&view=full)?$")

_MISSING = notice(PageKind.MISSING, 404, "404 there is no such page")

_Family = Callable[[Spot, int], SimPage | None]


def canonical_target(target: str) -> str:
    """The path with its query sorted, as the fingerprint has it."""
    path, mark, query = target.partition("?")
    return path + mark + "&".join(sorted(query.split("&"))) if mark else target


class SimWeb:
    """All hosts of one set of options behind one port."""

    def __init__(self, options: SimOptions, *, port: int) -> None:
        self.options = options
        self.hosts = [f"site{n:04d}.test" for n in range(1, options.hosts + 1)]
        suffix = "" if port == HTTP_PORT else f":{port}"
        self._origins = ["", *(f"http://{host}{suffix}" for host in self.hosts)]
        self._numbers = {host: n for n, host in enumerate(self.hosts, 1)}
        self._mazes = {
            name: Maze(kind, f"http://{name}{suffix}", options.trap_links)
            for name, kind in _trap_hosts(options.trap_hosts)
        }
        self._graph = Graph(options)
        self._dice = self._graph.dice
        self._html = Html(self._graph, self._origins)
        self._discovery = Discovery(self._graph, self._origins)
        self._families = self._index_families()

    @property
    def seeds(self) -> list[str]:
        """Every host's home page."""
        return [origin + "/" for origin in self._origins[1:]]

    @property
    def trap_seeds(self) -> dict[str, str]:
        """The home page of every host that is a trap -> its kind. No other page leads there."""
        return {maze.home: maze.kind for maze in self._mazes.values()}

    def page(self, host: str, target: str) -> SimPage:
        """`target` is the path with its query, in any order; unknown ones are 404."""
        number = self._numbers.get(host)
        if host in self._mazes:
            return self._mazes[host].page(canonical_target(target))
        if number is None:
            return _MISSING
        here = Spot(number, canonical_target(target))
        path = here.target.partition("?")[0]
        family = self._families.get(path.split("/", 2)[1]) if path[:1] == "/" else None
        page = family(here, _index_of(here.target)) if family else None
        return page or _MISSING

    def _index_families(self) -> dict[str, _Family]:
        detours = Detours(self._graph, self._origins)
        families: dict[str, _Family] = {
            "": self._ordinary,
            "item": self._ordinary,
            "orphan": self._orphan,
            "private": self._private,
            "calendar": self._calendar,
            "go": detours.go,
            "loop": detours.loop,
            "away": detours.away,
            "long": detours.long,
            "error": detours.error,
            "reset": detours.reset,
            "gone": detours.gone,
            "robots.txt": self._robots,
            "sitemap.xml": self._sitemap,
            "maps": self._sitemap,
        }
        return families | {f"s{n}": self._ordinary for n in range(SECTIONS)}

    def _ordinary(self, here: Spot, index: int) -> SimPage | None:
        if index >= self.options.pages:
            return None
        if here.target != self._graph.page_target(here.host, index):
            return None
        links = self._graph.links(here.host, index)
        charset = self._charset(here.host, index)
        page = self._content(PageKind.PAGE, here, index, links, charset)
        faults = self._faults(here.host, index)
        return replace(page, faults=faults) if faults else page

    def _orphan(self, here: Spot, index: int) -> SimPage | None:
        if here.target != f"/orphan/{index}" or index >= self._graph.orphans():
            return None
        return self._content(PageKind.ORPHAN, here, index, [Spot(here.host, "/")])

    def _private(self, here: Spot, index: int) -> SimPage | None:
        if not self._graph.has("private", self.options.robots_rate, here.host, index):
            return None
        if here.target != self._graph.private_target(here.host, index):
            return None
        disallowed = not here.target.startswith("/private/open/")
        page = self._content(PageKind.PRIVATE, here, index, [Spot(here.host, "/")])
        return replace(page, disallowed=disallowed)

    def _calendar(self, here: Spot, index: int) -> SimPage | None:
        if not self.options.trap_fanout or here.target != f"/calendar/{index}":
            return None
        links = self._graph.calendar_links(here.host, index)
        return self._content(PageKind.CALENDAR, here, index, links)

    def _robots(self, here: Spot, _index: int) -> SimPage | None:
        body, sitemaps = self._discovery.robots(here.host)
        return SimPage(
            kind=PageKind.ROBOTS, status=200, content_type="text/plain", body=body, links=sitemaps
        )

    def _sitemap(self, here: Spot, _index: int) -> SimPage | None:
        found = self._discovery.sitemap(here)
        if found is None:
            return None
        kind = "application/gzip" if here.target.endswith(".gz") else "application/xml"
        return SimPage(
            kind=PageKind.SITEMAP, status=200, content_type=kind, body=found[0], links=found[1]
        )

    def _content(
        self, kind: PageKind, here: Spot, index: int, links: list[Spot], charset: Charset = PLAIN
    ) -> SimPage:
        title = f"{charset.sample[0]} {index} ({kind.value}) of site {here.host}"
        urls = dict.fromkeys(self._origins[link.host] + link.target for link in links)
        return SimPage(
            kind=kind,
            status=200,
            content_type=charset.content_type,
            body=self._html.page(here, title, links, charset),
            title=title,
            links=tuple(urls),
            gzip=self._graph.has("gzip", self.options.gzip_rate, here.host, index),
        )

    def _charset(self, host: int, index: int) -> Charset:
        if not self._graph.has("charset", self.options.charset_rate, host, index):
            return PLAIN
        return CHARSETS[self._dice.number("charset kind", host, index) % len(CHARSETS)]

    def _faults(self, host: int, index: int) -> tuple[int, ...]:
        number = self._dice.number("fault", host, index)
        kinds: tuple[int, int]
        if self._graph.has("flaky", self.options.flaky_rate, host, index):
            kinds = (500, RESET)
        elif self._graph.has("throttle", self.options.throttle_rate, host, index):
            kinds = (429, 503)
        else:
            return ()
        faults = kinds[number & 1], kinds[number >> 1 & 1]
        return faults[: 1 + (number >> 2 & 1)]


def _trap_hosts(count: int) -> Iterator[tuple[str, str]]:
    kinds = list(MAZES)
    for number in range(count):
        yield f"trap{number + 1:04d}.test", kinds[number % len(kinds)]


def _index_of(target: str) -> int:
    found = _INDEX.match(target)
    return int(found[1]) if found else 0
