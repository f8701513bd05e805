"""The URLs that are no pages: redirects, errors, resets, dead links.

Each method answers for one family of paths. None: there is no such URL.
"""

from msgspec.structs import replace

from skitter.sim.graph import LONG_CHAIN_HOPS, Graph, Spot
from skitter.sim.page import RESET, PageKind, SimPage, notice, text

__all__ = ["Detours"]

_REDIRECTS = (301, 302, 303, 307, 308)
_ERRORS = (500, 500, 502, 504)


class Detours:
    """All of them are linked from one page alone, or from each other."""

    def __init__(self, graph: Graph, origins: list[str]) -> None:
        self._graph = graph
        self._dice = graph.dice
        self._origins = origins

    def go(self, here: Spot, index: int) -> SimPage | None:
        """A redirect, or the next of a chain, to an ordinary page."""
        hops = self._graph.redirect_hops(here.host, index)
        for hop in range(hops):
            if here.target == f"/go/{index}/{hop}":
                there = f"/go/{index}/{hop + 1}"
                if hop == hops - 1:
                    there = self._graph.page_target(here.host, index)
                return self._redirect(here, Spot(here.host, there), index + hop)
        return None

    def loop(self, here: Spot, index: int) -> SimPage | None:
        """Two URLs that lead to each other."""
        sides = (f"/loop/{index}/a", f"/loop/{index}/b")
        if here.target not in sides or not self._graph.has_loop(here.host, index):
            return None
        there = sides[1 - sides.index(here.target)]
        return self._redirect(here, Spot(here.host, there), index)

    def away(self, here: Spot, index: int) -> SimPage | None:
        """A redirect to another host."""
        there = self._graph.away(here.host, index)
        if there is None or here.target != f"/away/{index}":
            return None
        return self._redirect(here, there, index)

    def long(self, here: Spot, index: int) -> SimPage | None:
        """A chain that no crawl follows to its end."""
        known = self._graph.options.redirect_rate and here.host == 1
        if not known or here.target != f"/long/{index}" or index > LONG_CHAIN_HOPS:
            return None
        if index == LONG_CHAIN_HOPS:
            return notice(PageKind.PAGE, 200, "The end of a long way")
        return self._redirect(here, Spot(here.host, f"/long/{index + 1}"), index)

    def error(self, here: Spot, index: int) -> SimPage | None:
        """500, 502 or 504 for ever."""
        exists = self._graph.has("error", self._graph.options.error_rate, here.host, index)
        if not exists or here.target != f"/error/{index}":
            return None
        status = _ERRORS[self._dice.number("error status", here.host, index) % len(_ERRORS)]
        return text(PageKind.ERROR, status, f"{here.target} always fails.\n")

    def reset(self, here: Spot, index: int) -> SimPage | None:
        """No answer for ever."""
        exists = self._graph.has("reset", self._graph.options.reset_rate, here.host, index)
        if not exists or here.target != f"/reset/{index}":
            return None
        return text(PageKind.RESET, RESET, "")

    def gone(self, here: Spot, index: int) -> SimPage | None:
        """A link that leads nowhere."""
        exists = self._graph.has("gone", self._graph.options.gone_rate, here.host, index)
        if not exists or here.target != f"/gone/{index}":
            return None
        status = 410 if self._dice.number("gone status", here.host, index) % 4 == 0 else 404
        return notice(PageKind.GONE, status, f"{status} nothing at {here.target}")

    def _redirect(self, here: Spot, there: Spot, salt: int) -> SimPage:
        number = self._dice.number("redirect status", here.host, salt)
        url = self._origins[there.host] + there.target
        bare = there.target if there.host == here.host and number & 8 else url
        status = _REDIRECTS[(number >> 4) % len(_REDIRECTS)]
        moved = text(PageKind.REDIRECT, status, f"{here.target} moved to {there.target}\n")
        return replace(moved, location=bare, redirects_to=url)
