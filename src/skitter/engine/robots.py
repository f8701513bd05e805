"""Fetches robots.txt once per origin and remembers the answer.

A copy is good for 24 hours, a failure for one (settings). An old copy is used when a new one
cannot be had; where there never was one, the origin's requests fail.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from skitter.clock import Clock
from skitter.config.settings import Robots as RobotsSettings
from skitter.engine.hooks import Hooks
from skitter.errors import InvalidURLError
from skitter.fetch.base import Fetch, Fetcher, FetchResult, fetch_once
from skitter.models import ErrorCode
from skitter.politeness.robots import RobotsRules, read_robots
from skitter.urls.normalize import host_of, normalize

__all__ = ["RobotsAnswer", "RobotsCache", "RobotsCopy", "SharedRobots"]

#: RFC 9309 2.3.1.2: at least five hops should be followed.
_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
#: URL, identity -> header lines: a hop to another origin must not carry this one's credentials.
HeadersFor = Callable[[str, int], tuple[str, ...]]
#: Origins remembered; the oldest are asked again.
_MAX_ORIGINS = 100_000


class RobotsCopy(Struct, frozen=True, kw_only=True):
    """What came of asking for a robots.txt: an answer, or a problem."""

    status_code: int | None = None
    body: bytes = b""
    problem: str = ""
    #: The address guard refused the host.
    forbidden: bool = False
    #: No proxy let us ask: worth another try after so long; says nothing about the host.
    retry_after_s: float | None = None
    #: Seconds for which it may still be used.
    fresh_s: float = 0.0

    def as_result(self) -> FetchResult:
        """The copy as if it had been fetched here."""
        if self.status_code is None:
            return FetchResult(error=ErrorCode.ROBOTS_UNREACHABLE, detail=self.problem)
        return FetchResult(status_code=self.status_code, body=self.body)


class RobotsAnswer(Struct, frozen=True, kw_only=True):
    """`rules`, or why there are none. `forbidden`: the address guard refused the host."""

    rules: RobotsRules | None = None
    problem: str = ""
    forbidden: bool = False
    #: See `RobotsCopy.retry_after_s`.
    retry_after_s: float | None = None
    #: Its crawl-delay is longer than is accepted.
    too_slow: bool = False
    expires_at: float = 0.0

    def as_result(self) -> FetchResult:
        """What a request ends with for which no proxy was to be had."""
        return FetchResult(
            error=ErrorCode.CONNECT,
            detail=self.problem,
            by_proxy=True,
            retry_after_s=self.retry_after_s,
        )


class SharedRobots(Protocol):
    """Copies that several workers share, so that a host is asked once."""

    async def robots(self, worker: str, origin: str) -> RobotsCopy | None:
        """A fresh copy, waited for if somebody is fetching it; None: fetch it, then publish."""
        ...

    async def publish_robots(self, origin: str, copy: RobotsCopy) -> RobotsCopy:
        """Here is what was asked for. Returns the copy in force: an older one beats a problem."""
        ...


class RobotsCache:
    """Answers by origin. `lookup` never waits; `load` is for when it has nothing."""

    def __init__(
        self,
        worker: str,
        fetcher: Fetcher,
        settings: RobotsSettings,
        *,
        clock: Clock,
        hooks: Hooks,
        shared: SharedRobots | None = None,
    ) -> None:
        self._worker = worker
        self._fetcher = fetcher
        self._hooks = hooks
        self._settings = settings
        self._clock = clock
        self._shared = shared
        self._answers: dict[str, RobotsAnswer] = {}

    def lookup(self, origin: str) -> RobotsAnswer | None:
        """A fresh answer, if there is one."""
        answer = self._answers.get(origin)
        if answer is None or answer.expires_at <= self._clock.monotonic():
            return None
        return answer

    async def load(self, origin: str, headers_for: HeadersFor, identity: int) -> RobotsAnswer:
        """The origin's robots.txt: somebody else's copy, or fetched, with its own retries."""
        if self._shared is None:
            return self._remember(origin, await self._obtain(origin, headers_for, identity))
        copy, own = await self._shared.robots(self._worker, origin), None
        if copy is None:
            own = await self._obtain(origin, headers_for, identity)
            copy = await self._shared.publish_robots(origin, own)
        if own is None or own.status_code != copy.status_code:
            self._hooks.robots_read(origin, copy.as_result())
        return self._remember(origin, copy)

    async def _obtain(self, origin: str, headers_for: HeadersFor, identity: int) -> RobotsCopy:
        result = await self._fetch(origin, headers_for, identity)
        copy = self._copy(result)
        for _ in range(self._settings.retries):
            if copy.status_code is not None or copy.forbidden or copy.retry_after_s is not None:
                break
            await asyncio.sleep(self._settings.retry_delay_s)
            result = await self._fetch(origin, headers_for, identity)
            copy = self._copy(result)
        if copy.retry_after_s is None:
            self._hooks.robots_read(origin, result)
        return copy

    def _remember(self, origin: str, copy: RobotsCopy) -> RobotsAnswer:
        old = self._answers.get(origin)
        rules = None
        if copy.status_code is not None:
            rules = read_robots(copy.status_code, copy.body, self._settings.user_agent_token)
        elif old is not None:
            rules = old.rules
        answer = RobotsAnswer(
            rules=rules,
            problem=copy.problem,
            forbidden=copy.forbidden,
            retry_after_s=copy.retry_after_s,
            too_slow=rules is not None and self._is_too_slow(rules),
            expires_at=self._clock.monotonic() + copy.fresh_s,
        )
        while len(self._answers) >= _MAX_ORIGINS:
            del self._answers[next(iter(self._answers))]
        self._answers[origin] = answer
        return answer

    def _is_too_slow(self, rules: RobotsRules) -> bool:
        limit_s = self._settings.max_crawl_delay_s
        return limit_s is not None and (rules.crawl_delay_s or 0.0) > limit_s

    async def _fetch(self, origin: str, headers_for: HeadersFor, identity: int) -> FetchResult:
        url = f"{origin}/robots.txt"
        result = await self._fetch_hop(url, headers_for(url, identity), identity)
        for _ in range(_MAX_REDIRECTS):
            if result.error is not None or result.status_code not in _REDIRECTS:
                break
            try:
                target = normalize(_location(result), url)
            except InvalidURLError:
                break
            url = target
            result = await self._fetch_hop(url, headers_for(url, identity), identity)
        return result

    async def _fetch_hop(self, url: str, headers: tuple[str, ...], identity: int) -> FetchResult:
        fetch = Fetch(
            url=url,
            host=host_of(url),
            headers=headers,
            max_body_bytes=self._settings.max_bytes,
            timeout_s=self._settings.timeout_s,
            identity=identity,
        )
        result = await fetch_once(self._fetcher, fetch)
        self._hooks.robots_fetched(url, result)
        return replace(result, body=_whole_lines(result.body)) if result.truncated else result

    def _copy(self, result: FetchResult) -> RobotsCopy:
        status = result.status_code
        if result.error is None and status is not None and status < 500:
            return RobotsCopy(status_code=status, body=result.body, fresh_s=self._settings.ttl_s)
        problem = result.detail if result.error is not None else f"answered {status}"
        if result.by_proxy:
            return RobotsCopy(problem=problem, retry_after_s=result.retry_after_s or 0.0)
        return RobotsCopy(
            problem=f"robots.txt: {problem}",
            forbidden=result.forbidden,
            fresh_s=self._settings.error_ttl_s,
        )


def _whole_lines(body: bytes) -> bytes:
    """The last line of a file that was cut may forbid more than it was meant to."""
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]


def _location(result: FetchResult) -> str:
    for line in result.head:
        if line[:9].lower() == b"location:":
            return line[9:].strip().decode("utf-8", "replace")
    return ""
