"""The cookies of every job a worker works for: a jar for each, and nothing between them.

Each worker process has jars of its own, so a site sees as many visitors as there are workers; what
all of them must have (a login) is the job's own `--cookie`. Jars end with the run: one that is
resumed begins new sessions. robots.txt is shared by jobs, and takes no part in any of this.
"""

from skitter.clock import Clock
from skitter.engine.cookies import CookieJar
from skitter.engine.identity import HeaderLines
from skitter.errors import InvalidURLError
from skitter.fetch.base import FetchResult
from skitter.models import Lease
from skitter.urls.normalize import normalize

__all__ = ["Sessions", "leads_to_itself"]


class Sessions:
    """Jars by job; a job whose sites set no cookies has none."""

    def __init__(self, clock: Clock, *, enabled: bool) -> None:
        self._clock = clock
        self._enabled = enabled
        self._jars: dict[str, CookieJar] = {}

    def lines_for(self, lease: Lease, lines: HeaderLines) -> HeaderLines:
        """Header lines with the cookies that the lease's URL gets."""
        jar = self._jars.get(lease.job)
        if jar is None:
            return lines
        request = lease.request
        return jar.lines_for(request.url, request.domain, lines, lease.identity, self._clock.time())

    def learn(self, lease: Lease, result: FetchResult) -> bool:
        """Take the cookies of a response; True: it had some."""
        if not self._enabled:
            return False
        jar = self._jars.get(lease.job) or CookieJar()
        learnt = jar.learn(lease.request.url, result.head, lease.identity, self._clock.time())
        if learnt:
            self._jars[lease.job] = jar
        return learnt


def leads_to_itself(url: str, result: FetchResult) -> bool:
    """Whether a redirect has no other target: who sets a cookie with it wants to see that again."""
    for line in result.head:
        if line[:9].lower() == b"location:":
            target = line[9:].strip().decode("utf-8", "replace")
            try:
                return normalize(target, url) == url
            except InvalidURLError:
                return False
    return False
