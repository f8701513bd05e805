"""Fetches robots.txt once per origin and remembers the answer.

A copy is good for 24 hours, a failure for one (settings). An old copy is used when a new one
cannot be had; where there never was one, the origin's requests fail.
"""

import asyncio
from collections.abc import Callable

from msgspec import Struct

from skitter.clock import Clock
from skitter.config.settings import Robots as RobotsSettings
from skitter.engine.hooks import Hooks
from skitter.errors import InvalidURLError
from skitter.fetch.base import Fetch, Fetcher, FetchResult, fetch_once
from skitter.politeness.robots import RobotsRules, read_robots
from skitter.urls.normalize import host_of, normalize

__all__ = ["RobotsAnswer", "RobotsCache"]

#: RFC 9309 2.3.1.2: at least five hops should be followed.
_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
#: URL -> its header lines: a hop to another origin must not carry this one's credentials.
HeadersFor = Callable[[str], tuple[str, ...]]
#: Origins remembered; the oldest are asked again.
_MAX_ORIGINS = 100_000


class RobotsAnswer(Struct, frozen=True, kw_only=True):
    """`rules`, or why there are none. `forbidden`: the address guard refused the host."""

    rules: RobotsRules | None = None
    problem: str = ""
    forbidden: bool = False
    expires_at: float = 0.0


class RobotsCache:
    """Answers by origin. `lookup` never waits; `load` is for when it has nothing."""

    def __init__(
        self, fetcher: Fetcher, settings: RobotsSettings, clock: Clock, hooks: Hooks
    ) -> None:
        self._fetcher = fetcher
        self._hooks = hooks
        self._settings = settings
        self._clock = clock
        self._answers: dict[str, RobotsAnswer] = {}

    def lookup(self, origin: str) -> RobotsAnswer | None:
        """A fresh answer, if there is one."""
        answer = self._answers.get(origin)
        if answer is None or answer.expires_at <= self._clock.monotonic():
            return None
        return answer

    async def load(self, origin: str, headers_for: HeadersFor) -> RobotsAnswer:
        """Fetch the origin's robots.txt, with its own retries."""
        result = await self._fetch(origin, headers_for)
        answer = self._judge(result)
        for _ in range(self._settings.retries):
            if answer.rules is not None or answer.forbidden:
                break
            await asyncio.sleep(self._settings.retry_delay_s)
            result = await self._fetch(origin, headers_for)
            answer = self._judge(result)
        self._hooks.robots_read(origin, result)
        return self._remember(origin, answer)

    def _remember(self, origin: str, answer: RobotsAnswer) -> RobotsAnswer:
        old = self._answers.get(origin)
        if answer.rules is None and old is not None and old.rules is not None:
            expires_at = self._clock.monotonic() + self._settings.error_ttl_s
            answer = RobotsAnswer(rules=old.rules, expires_at=expires_at)
        while len(self._answers) >= _MAX_ORIGINS:
            del self._answers[next(iter(self._answers))]
        self._answers[origin] = answer
        return answer

    async def _fetch(self, origin: str, headers_for: HeadersFor) -> FetchResult:
        url = f"{origin}/robots.txt"
        result = await self._fetch_hop(url, headers_for(url))
        for _ in range(_MAX_REDIRECTS):
            if result.error is not None or result.status_code not in _REDIRECTS:
                break
            try:
                target = normalize(_location(result), url)
            except InvalidURLError:
                break
            url = target
            result = await self._fetch_hop(url, headers_for(url))
        return result

    async def _fetch_hop(self, url: str, headers: tuple[str, ...]) -> FetchResult:
        fetch = Fetch(
            url=url,
            host=host_of(url),
            headers=headers,
            max_body_bytes=self._settings.max_bytes,
            timeout_s=self._settings.timeout_s,
        )
        result = await fetch_once(self._fetcher, fetch)
        self._hooks.robots_fetched(url, result)
        return result

    def _judge(self, result: FetchResult) -> RobotsAnswer:
        now = self._clock.monotonic()
        if result.error is None and result.status_code is not None:
            rules = read_robots(result.status_code, result.body, self._settings.user_agent_token)
            if rules is not None:
                return RobotsAnswer(rules=rules, expires_at=now + self._settings.ttl_s)
            problem = f"robots.txt answered {result.status_code}"
        else:
            problem = f"robots.txt: {result.detail}"
        return RobotsAnswer(
            problem=problem,
            forbidden=result.forbidden,
            expires_at=now + self._settings.error_ttl_s,
        )


def _location(result: FetchResult) -> str:
    for line in result.head:
        if line[:9].lower() == b"location:":
            return line[9:].strip().decode("utf-8", "replace")
    return ""
