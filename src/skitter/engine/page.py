"""From a fetched response to a record, its stored form and the requests it leads to."""

import hashlib
from functools import lru_cache
from http import HTTPStatus

import msgspec
from msgspec import Struct

from skitter.clock import timestamp
from skitter.config.settings import Settings
from skitter.engine.links import LinkSelector
from skitter.engine.plan import headers_of, sitemap_request
from skitter.engine.verdicts import Judgement
from skitter.errors import InvalidURLError
from skitter.extract import charset, content, html, sitemap
from skitter.extract.directives import RobotsDirectives, header_directives
from skitter.extract.gist import gist
from skitter.extract.links import document_base
from skitter.fetch.base import FetchResult
from skitter.models import (
    Headers,
    Lease,
    Link,
    Outcome,
    Record,
    Request,
    RequestKind,
)
from skitter.store.base import StoredPage
from skitter.urls.domain import domain_of_url
from skitter.urls.fingerprint import fingerprint, record_id
from skitter.urls.normalize import normalize, origin_of

__all__ = ["Processed", "process", "without_body"]

APP_ID = "skitter"
SPIDER = "link"
#: What `truncated` says of a body that was read and not kept.
DEGRADED = "degraded"

#: Enough of a body to tell what it is.
_SNIFFED_BYTES = 1_445
#: A sitemap index may lead to another, so often.
_MAX_SITEMAP_LEVEL = 3

_EMPTY_HEADERS: Headers = {}


class Processed(Struct, frozen=True, kw_only=True, gc=False):
    """A page ready for store, catalog and frontier."""

    record: Record
    stored: StoredPage
    requests: tuple[Request, ...]
    body: bytes
    #: The gist of its text, if the lease asked for it.
    text: int | None = None


class _Own(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The fields of a record that its WARC record cannot tell; see `StoredPage.fields`."""

    crawlid: str
    outcome: str
    depth: int
    parent: str | None = None
    redirected_from: str | None = None
    encoding: str | None = None
    elapsed_ms: int = 0
    error: str | None = None
    reason: str | None = None
    kind: str | None = None
    generation: int = 0


_encode = msgspec.json.Encoder().encode


class _Content(Struct):
    """What was read out of a body."""

    title: str | None = None
    encoding: str | None = None
    robots: RobotsDirectives = RobotsDirectives()
    links: list[Link] = []
    requests: list[Request] = []


def process(
    lease: Lease,
    result: FetchResult,
    judgement: Judgement,
    selector: LinkSelector,
    *,
    settings: Settings,
    now_s: float,
) -> Processed:
    """Everything that follows from a terminal judgement."""
    request = lease.request
    # A body that broke off differs from try to try; it is not kept.
    body = b"" if result.error is not None else result.body
    headers = _headers(result.head)
    declared = headers.get("Content-Type", _NONE)[0]
    read = _Content()
    if judgement.outcome is Outcome.DONE:
        read = _read(request, result, headers, selector, settings)
    elif judgement.outcome is Outcome.REDIRECTED:
        read.requests = _target(request, headers, selector)
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}" if _has_body(result) else None
    plan = selector.plan
    own = _Own(
        crawlid=plan.name,
        outcome=judgement.outcome.value,
        depth=request.depth,
        parent=request.parent,
        redirected_from=request.redirected_from,
        encoding=read.encoding,
        elapsed_ms=round(result.elapsed_s * 1000),
        error=judgement.error,
        reason=judgement.reason.value if judgement.reason else None,
        kind=None if request.kind is RequestKind.PAGE else request.kind.value,
        generation=request.generation,
    )
    status = result.status_code
    record = Record(
        id=record_id(plan.job_id, request.fingerprint, request.generation),
        appid=APP_ID,
        crawlid=plan.name,
        job=plan.job_id,
        url=request.url,
        response_url=request.url,
        redirected_from=request.redirected_from,
        outcome=judgement.outcome,
        status_code=status,
        status_msg=_status_message(result.head[0]) if result.head else None,
        timestamp=timestamp(now_s),
        depth=request.depth,
        parent=request.parent,
        spider=SPIDER,
        encoding=read.encoding,
        content_type=content.essence(declared) or (content.sniffed_type(body) if body else None),
        length=len(body),
        digest=digest,
        title=read.title,
        links=read.links,
        request_headers=_sent_headers(
            result.request_headers or plan.headers_for(request.url, lease.identity),
            origin_of(request.url),
        ),
        response_headers=headers,
        attrs=_attrs(read.robots),
        elapsed_ms=own.elapsed_ms,
        truncated=result.truncated,
        error=judgement.error or own.reason,
    )
    stored = StoredPage(
        record_id=record.id,
        url=request.url,
        timestamp=record.timestamp,
        head=result.head if _has_body(result) else (),
        body=body,
        digest=digest,
        truncated=result.truncated,
        server_ip=result.server_ip,
        fields=_encode(own),
    )
    text = gist(body) if lease.wants_text and read.requests else None
    return Processed(
        record=record, stored=stored, requests=tuple(read.requests), body=body, text=text
    )


def without_body(page: Processed) -> Processed:
    """What is kept of a page when there is no room for bodies: all but that."""
    replace = msgspec.structs.replace
    return replace(
        page,
        record=replace(page.record, truncated=DEGRADED),
        # The digest is that of the body, which a reader of the store would miss.
        stored=replace(page.stored, body=b"", digest=None, truncated=DEGRADED),
        body=b"",
    )


_NONE: list[str | None] = [None]


def _has_body(result: FetchResult) -> bool:
    """True if a whole response came (whatever its status); an empty body is one too."""
    return result.status_code is not None and result.error is None


def _read(
    request: Request,
    result: FetchResult,
    headers: Headers,
    selector: LinkSelector,
    settings: Settings,
) -> _Content:
    body = result.body
    declared = headers.get("Content-Type", _NONE)[0]
    leads_on = result.status_code is not None and 200 <= result.status_code < 300
    if request.kind is RequestKind.SITEMAP:
        max_bytes = settings.fetch.max_sitemap_bytes
        return _read_sitemap(request, body, selector, max_bytes) if leads_on else _Content()
    tags = headers.get("X-Robots-Tag")
    token = settings.robots.user_agent_token
    robots = header_directives(tags, token) if tags else RobotsDirectives()
    kind = content.media_type(declared, request.url, body[:_SNIFFED_BYTES])
    if kind is content.Content.OTHER or not body:
        return _Content(robots=robots)
    encoding = charset.detect(body, declared)
    if kind is not content.Content.HTML:
        return _Content(encoding=encoding, robots=robots)
    page = html.parse(
        body,
        encoding,
        follow_nofollow=settings.links.follow_nofollow,
        max_links=settings.limits.max_links_per_page,
        agent=token,
    )
    robots = RobotsDirectives(page.noindex or robots.noindex, page.nofollow or robots.nofollow)
    read = _Content(title=page.title, encoding=encoding, robots=robots)
    plan = selector.plan
    leads_on = leads_on and not (robots.nofollow and plan.obeys_robots)
    if leads_on and request.depth < plan.spec.depth:
        base = document_base(request.url, page.base)
        found = selector.resolver.resolve(base, page.anchors)
        read.links, read.requests = selector.select(found, request)
    return read


def _attrs(robots: RobotsDirectives) -> dict[str, object] | None:
    """`noindex` is for whoever publishes the page; we record it and keep the page."""
    if not (robots.noindex or robots.nofollow):
        return None
    return {"robots": [word for word, said in robots._asdict().items() if said]}


def _read_sitemap(
    request: Request, body: bytes, selector: LinkSelector, max_bytes: int
) -> _Content:
    """Pages of a sitemap enter at depth 0; only links and redirects carry depth."""
    listing = sitemap.read(body, max_bytes=max_bytes)
    listed = (href for entry in listing.urls for href in (entry.url, *entry.alternates))
    urls = dict.fromkeys(url for href in listed if (url := _absolute(href, request.url)))
    wanted = [url for url in urls if selector.plan.links.accepts(url)]
    requests = [
        Request(
            url=url,
            fingerprint=fingerprint(url),
            domain=domain_of_url(url),
            priority=request.priority - 1,
            parent=request.url,
        )
        for url in wanted
    ]
    if request.hops < _MAX_SITEMAP_LEVEL:
        for nested in listing.sitemaps:
            url = _absolute(nested, request.url)
            if url and _is_near(url, request.url, selector):
                requests.append(sitemap_request(url, request.url, request.hops + 1))
    return _Content(links=[Link(url, "") for url in wanted], requests=requests)


def _is_near(url: str, index_url: str, selector: LinkSelector) -> bool:
    return origin_of(url) == origin_of(index_url) or selector.plan.links.rule.contains(url)


def _absolute(href: str, base: str) -> str | None:
    try:
        return normalize(href, base)
    except InvalidURLError:
        return None


def _target(request: Request, headers: Headers, selector: LinkSelector) -> list[Request]:
    """Where a redirect leads: an ordinary request at the same depth, if it is in scope."""
    location = headers.get("Location", _NONE)[0]
    url = _absolute(location, request.url) if location else None
    links = selector.plan.links
    if url is None or not (links.matches(url) if request.is_seed else links.accepts(url)):
        return []
    target = msgspec.structs.replace(
        request,
        url=url,
        fingerprint=fingerprint(url),
        domain=domain_of_url(url),
        hops=request.hops + 1,
        redirected_from=request.url,
    )
    return [target]


def _headers(head: tuple[bytes, ...]) -> Headers:
    headers: Headers = {}
    for line in head[1:]:
        name, _, value = line.partition(b":")
        headers.setdefault(_title(name), []).append(value.strip().decode("utf-8", "replace"))
    return headers


@lru_cache(maxsize=1_024)
def _title(name: bytes) -> str:
    return name.strip().decode("latin-1").title()


@lru_cache(maxsize=1_024)
def _sent_headers(lines: tuple[str, ...], origin: str) -> Headers:
    """With the one line that libcurl adds."""
    headers = headers_of(lines)
    host = origin.partition("://")[2].rpartition("@")[2]
    return headers if "Host" in headers else {"Host": [host], **headers}


@lru_cache(maxsize=256)
def _status_message(status_line: bytes) -> str:
    """The reason phrase; the standard one where HTTP/2 and 3 send none."""
    _, _, rest = status_line.partition(b" ")
    code, _, phrase = rest.strip().partition(b" ")
    if phrase.strip():
        return phrase.strip().decode("latin-1")
    try:
        return HTTPStatus(int(code)).phrase
    except ValueError:
        return ""
