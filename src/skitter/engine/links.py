"""From a page's links to what its record lists and what the frontier is asked to add."""

from collections.abc import Iterable

from skitter.engine.plan import LEVEL_COST, JobPlan
from skitter.extract.html import Anchor
from skitter.extract.links import LinkResolver
from skitter.models import Link, Request
from skitter.urls.domain import domain_of_url
from skitter.urls.fingerprint import fingerprint, session_fingerprint
from skitter.urls.traps import without_session

__all__ = ["LinkSelector"]

#: URLs whose fate is remembered; pages of a site repeat their links.
_MEMO_ENTRIES = 131_072
#: Fingerprints the frontier is known to have; asking again would be harmless but dear.
_KNOWN_ENTRIES = 1_000_000


class LinkSelector:
    """Applies a job's scope and patterns, and leaves out what the frontier has already."""

    def __init__(self, plan: JobPlan, *, ignores_sessions: bool = True) -> None:
        self.plan = plan
        self._ignores_sessions = ignores_sessions
        self.resolver = LinkResolver()
        self._fates: dict[str, int | None] = {}
        self._known: set[int] = set()

    def use(self, plan: JobPlan) -> None:
        """Go on with a job whose scope has grown."""
        self.plan = plan
        self._fates.clear()

    def select(self, found: Iterable[Anchor], page: Request) -> tuple[list[Link], list[Request]]:
        """The links in scope, in document order, and requests for those that may be new."""
        links = []
        requests = []
        fates = self._fates
        known = self._known
        for url, text in found:
            fate = fates.get(url, 0)
            if fate == 0:
                fate = self._decide(url)
            if fate is None:
                continue
            links.append(Link(url, text))
            if fate not in known:
                requests.append(_child(url, fate, page))
        return links, requests

    def mark_known(self, requests: Iterable[Request]) -> None:
        """These are in the frontier now, for good."""
        if len(self._known) >= _KNOWN_ENTRIES:
            self._known.clear()
        self._known.update(request.fingerprint for request in requests)

    def _decide(self, url: str) -> int | None:
        """The fingerprint of a URL that belongs to the crawl, None for one that does not."""
        if len(self._fates) >= _MEMO_ENTRIES:
            self._fates.clear()
        fate = None
        if self.plan.links.accepts(url):
            free = without_session(url) if self._ignores_sessions else None
            fate = fingerprint(url) if free is None else session_fingerprint(free)
        self._fates[url] = fate
        return fate


def _child(url: str, url_fingerprint: int, page: Request) -> Request:
    return Request(
        url=url,
        fingerprint=url_fingerprint,
        domain=domain_of_url(url),
        depth=page.depth + 1,
        priority=page.priority - LEVEL_COST,
        parent=page.url,
    )
