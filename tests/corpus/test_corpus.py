"""Every case of the corpus: what we read is what its expectation says."""

import asyncio
from pathlib import Path

import pytest
from corpus.cases import (
    CORPUS,
    CharsetExpected,
    HtmlExpected,
    ResponseExpected,
    RobotsExpected,
    SitemapExpected,
    UrlExpected,
    cases,
)
from msgspec import UNSET
from support.answers import fetch_bytes

from skitter.errors import InvalidURLError
from skitter.extract import charset, html, sitemap
from skitter.extract.links import LinkResolver, document_base
from skitter.politeness.robots import RobotsRules, read_robots
from skitter.urls.domain import domain_of_url
from skitter.urls.fingerprint import fingerprint
from skitter.urls.normalize import host_of, normalize

KINDS = ("robots", "sitemaps", "html", "charset", "urls", "responses")


def test_inputs_and_expectations_come_in_pairs() -> None:
    inputs = {path.with_suffix("") for kind in KINDS for path in (CORPUS / kind).glob("*.in")}
    expectations = {
        path.with_suffix("") for kind in KINDS for path in (CORPUS / kind).glob("*.json")
    }
    assert inputs == expectations
    assert inputs, f"no cases in {CORPUS}"


@pytest.mark.parametrize(("path", "expected"), cases("robots", RobotsExpected))
def test_robots(path: Path, expected: RobotsExpected) -> None:
    body = path.read_bytes()

    def rules(agent: str) -> RobotsRules:
        found = read_robots(expected.status, body, agent)
        assert found is not None, "unreachable"
        return found

    if expected.unreachable:
        assert read_robots(expected.status, body, "skitter") is None
        return
    found = [
        (agent, url, rules(agent).allows(normalize(url))) for agent, url, _ in expected.allowed
    ]
    assert found == expected.allowed
    for agent, url, allowed in expected.allowed:
        assert rules(agent).explain(normalize(url)).allowed is allowed
    lines = [
        (agent, url, rules(agent).explain(normalize(url)).line_number)
        for agent, url, _ in expected.lines
    ]
    assert lines == expected.lines
    delays = {agent: rules(agent).crawl_delay_s for agent in expected.crawl_delay_s}
    assert delays == expected.crawl_delay_s
    if expected.sitemaps is not UNSET:
        assert list(rules("skitter").sitemaps) == expected.sitemaps


@pytest.mark.parametrize(("path", "expected"), cases("sitemaps", SitemapExpected))
def test_sitemap(path: Path, expected: SitemapExpected) -> None:
    found = sitemap.read(path.read_bytes())
    if expected.urls is not UNSET:
        assert [entry.url for entry in found.urls] == expected.urls
    if expected.lastmods is not UNSET:
        assert [entry.lastmod for entry in found.urls] == expected.lastmods
    if expected.alternates is not UNSET:
        assert [list(entry.alternates) for entry in found.urls] == expected.alternates
    assert found.sitemaps == expected.sitemaps
    assert found.truncated is expected.truncated
    assert len(found.urls) >= expected.at_least


@pytest.mark.parametrize(("path", "expected"), cases("html", HtmlExpected))
def test_html(path: Path, expected: HtmlExpected) -> None:
    body = path.read_bytes()
    encoding = charset.detect(body, expected.content_type)
    page = html.parse(body, encoding)
    base = document_base(expected.url, page.base)
    links = LinkResolver().resolve(base, page.anchors)
    found = {
        "links": [url for url, _ in links],
        "texts": [text for _, text in links],
        "title": page.title,
        "canonical": None if page.canonical is None else normalize(page.canonical, base),
        "encoding": encoding,
        "nofollow": page.nofollow,
        "noindex": page.noindex,
    }
    wanted = {name: getattr(expected, name) for name in found}
    wanted = {name: value for name, value in wanted.items() if value is not UNSET}
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize(("path", "expected"), cases("charset", CharsetExpected))
def test_charset(path: Path, expected: CharsetExpected) -> None:
    body = path.read_bytes()
    found = charset.detect(body, expected.content_type)
    assert found == expected.charset
    assert expected.text in charset.decode(body, found)


@pytest.mark.parametrize(("path", "expected"), cases("urls", UrlExpected))
def test_url(path: Path, expected: UrlExpected) -> None:
    href = path.read_bytes().decode()
    if expected.url is None:
        with pytest.raises(InvalidURLError):
            normalize(href, expected.base)
        return
    url = normalize(href, expected.base)
    assert url == expected.url
    assert normalize(url) == url
    assert expected.host in {UNSET, host_of(url)}
    assert expected.domain in {UNSET, domain_of_url(url)}
    assert {fingerprint(normalize(other)) for other in expected.same_as} <= {fingerprint(url)}
    assert fingerprint(url) not in {fingerprint(normalize(o)) for o in expected.differs_from}


# libcurl works on a copy of the descriptor it is given; the original is closed when it is freed.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.parametrize(("path", "expected"), cases("responses", ResponseExpected))
def test_response(path: Path, expected: ResponseExpected) -> None:
    found = asyncio.run(fetch_bytes(path.read_bytes(), then=expected.then))
    error = None if found.error is None else found.error.value
    assert (found.status_code, error) == (expected.status_code, expected.error)
    assert found.truncated == expected.truncated
    found.detail.encode()  # what is no text could not be recorded
    if expected.body is not UNSET:
        assert found.body.decode() == expected.body
    if expected.length is not UNSET:
        assert len(found.body) == expected.length
