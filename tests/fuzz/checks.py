"""What must hold for any input. None of them may raise anything else than an assertion."""

import asyncio
import re

import msgspec
from support.answers import MAX_BODY_BYTES, fetch_bytes

from skitter.config.settings import Settings
from skitter.engine.links import LinkSelector
from skitter.engine.page import process
from skitter.engine.plan import JobPlan, seed_request
from skitter.engine.verdicts import judge
from skitter.errors import InvalidURLError
from skitter.extract import charset, content, html, sitemap
from skitter.extract.labels import CODECS
from skitter.extract.links import LinkResolver, document_base
from skitter.frontier.base import JobInfo
from skitter.models import JobCounts, JobSpec, JobState, Lease, Outcome
from skitter.politeness.robots import read_robots
from skitter.urls.domain import domain_of_url
from skitter.urls.fingerprint import fingerprint
from skitter.urls.normalize import host_of, normalize, origin_of, path_of, port_of

PAGE_URL = "http://h.test/dir/page.html"
_TARGETS = ("http://h.test/", "http://h.test/a/b.html", "http://h.test/a%2Fb?c=%2Fd&e=$*")
_UNFIT = re.compile(r"[\x00-\x20\x7f-\U0010ffff]")


def robots(body: bytes) -> None:
    rules = read_robots(200, body, "skitter")
    assert rules is not None
    assert rules.crawl_delay_s is None or 0 <= rules.crawl_delay_s <= 366 * 86_400
    text = body.decode("utf-8-sig", "replace").replace("\0", "")
    lines = [line.strip() for line in re.split(r"\r\n|\r|\n", text)]
    for url in _TARGETS:
        why = rules.explain(url)
        assert why.allowed is rules.allows(url)
        assert why.allowed or why.line_number is not None
        assert why.line_number is None or lines[why.line_number - 1] == why.line


def sitemaps(body: bytes) -> None:
    found = sitemap.read(body, max_urls=10, max_bytes=100_000)
    urls = [url for entry in found.urls for url in (entry.url, *entry.alternates)]
    assert len(urls) + len(found.sitemaps) <= 10
    for url in (*urls, *found.sitemaps):
        assert 0 < len(url) <= sitemap.MAX_URL_CHARS
        assert url == url.strip()
        msgspec.json.encode(url)


def pages(body: bytes) -> None:
    page = html.parse(body, charset.detect(body, "text/html"), max_links=50)
    msgspec.json.encode(page)
    assert len(page.anchors) <= 50
    assert len(page.title or "") <= html.MAX_TEXT_CHARS
    links = LinkResolver().resolve(document_base(PAGE_URL, page.base), page.anchors)
    assert len({url for url, _ in links}) == len(links)
    for url, _ in links:
        assert normalize(url) == url


def urls(body: bytes) -> None:
    href = body.decode("utf-8", "replace")
    for base in (None, PAGE_URL):
        try:
            url = normalize(href, base)
        except InvalidURLError:
            continue
        assert normalize(url) == url
        assert not _UNFIT.search(url), "what is not printable ASCII is escaped"
        assert url == origin_of(url) + path_of(url)
        assert host_of(url)
        assert 0 <= port_of(url) <= 65_535
        assert domain_of_url(url)
        assert -(1 << 63) <= fingerprint(url) < 1 << 63


def charsets(body: bytes) -> None:
    name = charset.detect(body)
    assert name in CODECS
    charset.decode(body, name).encode()
    assert content.media_type(None, PAGE_URL, body) in content.Content
    assert "/" in content.sniffed_type(body)


def responses(answer: bytes) -> None:
    """All the way from the socket to the record."""
    settings = Settings()
    result = asyncio.run(fetch_bytes(answer))
    assert result.status_code is not None or result.error is not None
    assert len(result.body) <= MAX_BODY_BYTES
    lease = Lease(token=1, job="fuzz", request=seed_request(PAGE_URL), tries=99, holds=99)
    judgement = judge(lease, result, settings, now_s=0.0)
    assert judgement.outcome is not Outcome.RETRY
    selector = LinkSelector(JobPlan(_JOB, Settings().fetch))
    page = process(lease, result, judgement, selector, settings=settings, now_s=0.0)
    msgspec.json.encode(page.record)
    assert page.record.outcome is judgement.outcome


_JOB = JobInfo(
    name="fuzz",
    job_id="0" * 32,
    spec=JobSpec(seeds=(PAGE_URL,)),
    state=JobState.RUNNING,
    counts=JobCounts(),
    scope_seeds=(PAGE_URL,),
    version=0,
    max_pages=None,
    created_s=0.0,
)
