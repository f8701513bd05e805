"""What a correct crawl of the simulated web must record, worked out without HTTP.

The rules are those of the design: a redirect's target is an ordinary request at the same
depth and at most ten hops away; links of pages at the depth limit are not followed; 429 and
503 cost no try; 5xx and resets are tried four times; 404 is done. /robots.txt has no record.
"""

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from skitter.models import DropReason, ErrorCode, Outcome
from skitter.sim.page import RESET, PageKind, SimPage
from skitter.sim.site import SimWeb

__all__ = ["MAX_HOPS", "TRIES", "Crawl", "Truth", "truth", "write_manifest"]

#: Redirects that a crawl follows one after the other.
MAX_HOPS = 10

#: The first try and three more.
TRIES = 4


class Crawl(msgspec.Struct, frozen=True, kw_only=True):
    """The crawl to be judged. Scope is `host`: a link counts when its host is a seed's."""

    #: Empty: every host's home page.
    seeds: tuple[str, ...] = ()
    depth: int = 10
    obey_robots: bool = True
    #: Read /sitemap.xml of the seeds' hosts and, where robots are obeyed, what robots.txt names.
    sitemaps: bool = False


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the manifest. Query parameters of `url` are sorted, as in the fingerprint."""

    url: str
    outcome: Outcome
    status_code: int | None = None
    error: str | None = None
    reason: DropReason | None = None
    digest: str | None = None
    #: The shortest way there; a crawl in another order may record more.
    depth: int
    title: str | None = None
    kind: PageKind
    #: GETs that the server sees if nothing but the page itself goes wrong.
    requests: int


class _Visit(msgspec.Struct, frozen=True):
    url: str
    hops: int = 0


def truth(web: SimWeb, crawl: Crawl) -> Iterator[Truth]:
    """Every URL with a record, once, nearest first."""
    seeds = crawl.seeds or tuple(web.seeds)
    scope = {_host(url) for url in _with_targets(web, seeds)}
    level = deque(_Visit(url) for url in (*seeds, *_sitemap_seeds(web, crawl, seeds)))
    seen: set[str] = set()
    depth = 0
    while level and depth <= crawl.depth:
        following: dict[str, None] = {}
        while level:
            visit = level.popleft()
            if visit.url in seen:
                continue
            seen.add(visit.url)
            page = _page(web, visit.url)
            verdict = _judge(page, visit, crawl, depth)
            yield verdict
            hops = visit.hops + 1 if page.redirects_to else 0
            level += [_Visit(url, hops) for url in _near(page, verdict) if _host(url) in scope]
            following |= dict.fromkeys(url for url in _far(page, verdict) if _host(url) in scope)
        level += [_Visit(url) for url in following if url not in seen]
        depth += 1


def write_manifest(path: Path, truths: Iterable[Truth]) -> int:
    """One JSON object a line; how many there are."""
    encoder = msgspec.json.Encoder()
    count = 0
    with path.open("wb") as file:
        for line in truths:
            file.write(encoder.encode(line) + b"\n")
            count += 1
    return count


def _judge(page: SimPage, visit: _Visit, crawl: Crawl, depth: int) -> Truth:
    verdict = partial(Truth, url=visit.url, depth=depth, kind=page.kind)
    if visit.hops > MAX_HOPS:
        reason = DropReason.TOO_MANY_REDIRECTS
        return verdict(outcome=Outcome.DROPPED, requests=0, reason=reason)
    if page.disallowed and crawl.obey_robots:
        return verdict(outcome=Outcome.DROPPED, requests=0, reason=DropReason.ROBOTS)
    if page.status == RESET:
        return verdict(outcome=Outcome.FAILED, requests=TRIES, error=ErrorCode.RESET.value)
    digest = f"sha256:{hashlib.sha256(page.body).hexdigest()}"
    answered = partial(verdict, status_code=page.status, digest=digest, title=page.title)
    if page.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        error = f"{ErrorCode.HTTP.value}{page.status}"
        return answered(outcome=Outcome.FAILED, requests=TRIES, error=error)
    outcome = Outcome.REDIRECTED if page.redirects_to else Outcome.DONE
    return answered(outcome=outcome, requests=1 + len(page.faults))


def _near(page: SimPage, verdict: Truth) -> tuple[str, ...]:
    """Where it leads without going deeper: redirects and sitemaps."""
    if verdict.outcome is Outcome.REDIRECTED and page.redirects_to:
        return (page.redirects_to,)
    return page.links if page.kind is PageKind.SITEMAP else ()


def _far(page: SimPage, verdict: Truth) -> tuple[str, ...]:
    """Where it leads one level down."""
    fetched = verdict.outcome is Outcome.DONE and page.kind is not PageKind.SITEMAP
    return page.links if fetched else ()


def _with_targets(web: SimWeb, seeds: Iterable[str]) -> Iterator[str]:
    """What a seed redirects to is as good as a seed."""
    for seed in seeds:
        url: str | None = seed
        for _ in range(MAX_HOPS + 1):
            if url is None:
                break
            yield url
            url = _page(web, url).redirects_to


def _sitemap_seeds(web: SimWeb, crawl: Crawl, seeds: Iterable[str]) -> Iterator[str]:
    if not crawl.sitemaps:
        return
    for origin in dict.fromkeys(url[: url.index("/", 8)] for url in seeds):
        yield f"{origin}/sitemap.xml"
        if crawl.obey_robots:
            yield from _page(web, f"{origin}/robots.txt").links


def _page(web: SimWeb, url: str) -> SimPage:
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return web.page(parts.hostname or "", parts.path + query)


def _host(url: str) -> str:
    return url.split("/", 3)[2]
