"""Hosts that are nothing but traps: pages without end that say nothing.

Like the rest of the simulated web they are functions of the URL: nothing is stored, and the
same URL always has the same links.
"""

from collections.abc import Callable

from xxhash import xxh3_64_intdigest, xxh3_128_hexdigest

from skitter.sim.page import PageKind, SimPage, notice, text

__all__ = ["MAZES", "Maze"]

_WORDS = (
    *("north", "south", "east", "west", "up", "down", "left", "right"),
    *("hall", "stair", "door", "arch", "gate", "lane", "yard", "cave"),
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_BRANCHES = 4
_ROOMS = 12
_FACETS = 16
_FIRST_YEAR = 2026

_Links = list[str]


def _number(target: str, salt: int = 0) -> int:
    return xxh3_64_intdigest(target.encode(), salt)


def _last_number(target: str) -> int:
    last = target.partition("?")[0].rpartition("/")[2]
    return int(last) if last.isdigit() and len(last) < 300 else 0


def _tree(target: str, _links: int) -> tuple[str, _Links]:
    """Folders within folders, all names made up."""
    start = _number(target)
    steps = (_WORDS[(start + 5 * n) % len(_WORDS)] for n in range(_BRANCHES))
    folder = target if target.endswith("/") else target + "/"
    return "You are in a maze of twisty little passages", [f"{folder}{step}/" for step in steps]


def _calendar(target: str, _links: int) -> tuple[str, _Links]:
    """Months before and after, and never an event."""
    parts = target.strip("/").split("/")
    dated = len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit()
    year, month = (int(parts[1]), int(parts[2])) if dated else (_FIRST_YEAR, 1)
    here = year * 12 + (month - 1) % 12
    near = [divmod(here + step, 12) for step in (-1, 1)]
    links = [f"/calendar/{y}/{m + 1:02}" for y, m in near]
    return f"{_MONTHS[here % 12]} {year}: no events", links


def _sessions(target: str, _links: int) -> tuple[str, _Links]:
    """A few rooms, and a session id of its own in the links of every page."""
    session = xxh3_128_hexdigest(target.encode())
    rooms = [f"/room/{n};jsessionid={session}" for n in range(_ROOMS)]
    return f"Room {_last_number(target.partition(';')[0])}", rooms


def _visits(target: str, _links: int) -> tuple[str, _Links]:
    """The same with a parameter that nobody knows."""
    visit = xxh3_128_hexdigest(target.encode())
    rooms = [f"/room/{n}?visit={visit}" for n in range(_ROOMS)]
    return f"Room {_last_number(target)}", rooms


def _crowd(target: str, links: int) -> tuple[str, _Links]:
    """Thousands of links on every page."""
    start = _number(target) % 10**12
    return f"Member {_last_number(target)}", [f"/member/{start + n}" for n in range(links)]


def _facets(target: str, _links: int) -> tuple[str, _Links]:
    """A shop whose filters can be combined in any way, and find nothing."""
    _, _, query = target.partition("?")
    chosen = {part for part in query.split("&") if part}
    others = [f"f{n}=yes" for n in range(_FACETS)]
    changes = [chosen ^ {facet} for facet in others]
    return "Nothing was found", [f"/shop?{'&'.join(sorted(kept))}" for kept in changes if kept]


#: Kind -> what a page of it says and where it leads. Redirects are apart, see `Maze`.
MAZES: dict[str, Callable[[str, int], tuple[str, _Links]]] = {
    "tree": _tree,
    "calendar": _calendar,
    "sessions": _sessions,
    "visits": _visits,
    "crowd": _crowd,
    "facets": _facets,
    "redirects": lambda _target, _links: ("Round and round", ["/ring/a", "/way/0", "/way/1000"]),
}


class Maze:
    """One host; `links` is how many a page of a crowd has."""

    def __init__(self, kind: str, origin: str, links: int) -> None:
        self.kind = kind
        self.home = f"{origin}/"
        self._origin = origin
        self._links = links

    def page(self, target: str) -> SimPage:
        """Every URL of the host has one, robots.txt aside."""
        if target == "/robots.txt":
            return notice(PageKind.MISSING, 404, "404 go where you like")
        if self.kind == "redirects" and target != "/":
            return self._redirect(target)
        title, targets = MAZES[self.kind](target, self._links)
        items = "".join(f'<li><a href="{link.replace("&", "&amp;")}">on</a>\n' for link in targets)
        html = f"<!doctype html>\n<title>{title}</title>\n<h1>{title}</h1>\n<ul>{items}</ul>\n"
        page = notice(PageKind.TRAP, 200, title)
        return SimPage(
            kind=page.kind,
            status=page.status,
            content_type=page.content_type,
            body=html.encode(),
            title=title,
            links=tuple(self._origin + link for link in targets),
        )

    def _redirect(self, target: str) -> SimPage:
        """`/ring/a` and `/ring/b` lead to each other, `/way/N` leads on for ever."""
        rings = {"/ring/a": "/ring/b", "/ring/b": "/ring/a"}
        there = rings.get(target) or f"/way/{_last_number(target) + 1}"
        page = text(PageKind.TRAP, 302, f"moved to {there}\n")
        return SimPage(
            kind=page.kind,
            status=page.status,
            content_type=page.content_type,
            body=page.body,
            location=there,
            redirects_to=self._origin + there,
        )
