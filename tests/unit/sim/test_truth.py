"""The manifest: complete, without contradictions, and true."""

from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from skitter.models import DropReason, Outcome
from skitter.sim import (
    EVERYTHING,
    Crawl,
    PageKind,
    SimOptions,
    SimWeb,
    Truth,
    truth,
    write_manifest,
)
from skitter.urls.fingerprint import fingerprint
from skitter.urls.normalize import normalize

RATE = st.sampled_from((0.0, 0.1, 0.5, 1.0))

OPTIONS = st.builds(
    SimOptions,
    seed=st.integers(0, 2**64),
    hosts=st.integers(1, 4),
    pages=st.integers(1, 40),
    fanout=st.integers(1, 10),
    links=st.integers(0, 3),
    body_bytes=st.just(200),
    error_rate=RATE,
    reset_rate=RATE,
    gone_rate=RATE,
    flaky_rate=RATE,
    throttle_rate=RATE,
    redirect_rate=RATE,
    robots_rate=RATE,
    charset_rate=RATE,
    sitemaps=st.booleans(),
    trap_fanout=st.integers(0, 1),
)


@settings(max_examples=40, deadline=None)
@given(options=OPTIONS, sitemaps=st.booleans(), obey_robots=st.booleans())
def test_manifest_has_no_contradictions(
    options: SimOptions, *, sitemaps: bool, obey_robots: bool
) -> None:
    crawl = Crawl(depth=50, sitemaps=sitemaps, obey_robots=obey_robots)
    lines = list(truth(SimWeb(options, port=8080), crawl))
    assert len({line.url for line in lines}) == len(lines)
    ordinary = [line for line in lines if line.kind is PageKind.PAGE]
    assert len(ordinary) == options.hosts * options.pages
    assert all(line.outcome is Outcome.DONE for line in ordinary)
    for line in lines:
        check_line(line)
    calendar = [line.depth for line in lines if line.kind is PageKind.CALENDAR]
    assert len(calendar) == options.trap_fanout * options.hosts * crawl.depth
    if not obey_robots:
        assert all(line.reason is not DropReason.ROBOTS for line in lines)


def check_line(line: Truth) -> None:
    assert (line.reason is not None) == (line.outcome is Outcome.DROPPED)
    assert (line.error is not None) == (line.outcome is Outcome.FAILED)
    assert (line.requests == 0) == (line.outcome is Outcome.DROPPED)
    unanswered = line.outcome is Outcome.DROPPED or line.error == "reset"
    assert (line.status_code is None) == (line.digest is None) == unanswered
    if line.outcome is Outcome.REDIRECTED:
        assert line.status_code in {301, 302, 303, 307, 308}


def test_depth_limit_and_scope() -> None:
    web = SimWeb(SimOptions(hosts=3, pages=100, trap_fanout=1), port=8080)
    one = list(truth(web, Crawl(seeds=(web.seeds[1],), depth=2)))
    assert {line.url.split("/")[2] for line in one} == {"site0002.test:8080"}
    assert max(line.depth for line in one) == 2
    assert [line.depth for line in one] == sorted(line.depth for line in one)
    assert len(list(truth(web, Crawl(depth=0)))) == 3


def test_urls_are_normalised_and_have_one_fingerprint_each() -> None:
    web = SimWeb(replace(EVERYTHING, hosts=3), port=8080)
    urls = [line.url for line in truth(web, Crawl(sitemaps=True))]
    assert [normalize(url) for url in urls] == urls
    assert len({fingerprint(url) for url in urls}) == len(urls)


def test_too_long_a_chain_is_dropped_once() -> None:
    web = SimWeb(SimOptions(hosts=2, pages=5, redirect_rate=0.01), port=8080)
    lines = {line.url.partition("8080")[2]: line for line in truth(web, Crawl())}
    assert lines["/long/10"].outcome is Outcome.REDIRECTED
    assert lines["/long/11"].reason is DropReason.TOO_MANY_REDIRECTS
    assert "/long/12" not in lines


def test_manifest_file_reads_back(tmp_path: Path) -> None:
    lines = list(truth(SimWeb(replace(EVERYTHING, hosts=2, pages=20), port=80), Crawl()))
    path = tmp_path / "manifest.jsonl"
    assert write_manifest(path, lines) == len(lines)
    assert msgspec.json.Decoder(Truth).decode_lines(path.read_bytes()) == lines
