"""One form of each URL, by the WHATWG rules."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.errors import InvalidURLError
from skitter.urls.normalize import (
    host_of,
    normalize,
    operator_url,
    origin_of,
    path_of,
    port_of,
)

hosts = st.sampled_from(("a.test", "A.Test", "[::1]", "127.1", "bücher.example", "x"))
paths = st.text(st.characters(codec="utf-8"), max_size=30)
urls = st.builds(
    "{}://{}{}/{}".format,
    st.sampled_from(("http", "https", "HTTP")),
    hosts,
    st.sampled_from(("", ":80", ":443", ":8080")),
    paths,
)


@settings(max_examples=400, deadline=None, database=None, derandomize=True)
@given(urls)
def test_normalising_twice_changes_nothing(url: str) -> None:
    once = normalize(url)
    assert normalize(once) == once
    assert once.isascii()
    assert "#" not in once
    assert origin_of(once) + path_of(once) == once


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(urls, paths)
def test_a_join_is_normalised_too(base: str, href: str) -> None:
    try:
        joined = normalize(href, normalize(base))
    except InvalidURLError:
        return
    assert normalize(joined) == joined


@pytest.mark.parametrize(
    ("given_url", "normal"),
    [
        ("HTTP://A.Test", "http://a.test/"),
        ("http://a.test:80/", "http://a.test/"),
        ("https://a.test:443/", "https://a.test/"),
        ("https://a.test:80/", "https://a.test:80/"),
        ("http://a.test/x/../y/./z", "http://a.test/y/z"),
        ("http://a.test/%7ejoe", "http://a.test/%7ejoe"),
        ("http://a.test/a b", "http://a.test/a%20b"),
        ("http://a.test/?b=2&a=1", "http://a.test/?b=2&a=1"),
        ("http://a.test/index.html", "http://a.test/index.html"),
        ("http://a.test/#x", "http://a.test/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("  http://a.test/\n", "http://a.test/"),
        (r"http:\\a.test\x", "http://a.test/x"),
        (r"http://good.test\@bad.test/", "http://good.test/@bad.test/"),
        ("http://good.test@bad.test/", "http://good.test@bad.test/"),
        ("http://a.te\nst/\t", "http://a.test/"),
    ],
)
def test_the_normal_form(given_url: str, normal: str) -> None:
    assert normalize(given_url) == normal


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("b", "http://a.test/d/b"),
        ("/b", "http://a.test/b"),
        ("//b.test", "http://b.test/"),
        ("?q", "http://a.test/d/c?q"),
        ("#frag", "http://a.test/d/c"),
        ("", "http://a.test/d/c"),
        ("../../../b", "http://a.test/b"),
    ],
)
def test_links_are_joined_to_their_page(href: str, url: str) -> None:
    assert normalize(href, "http://a.test/d/c") == url


@pytest.mark.parametrize(
    "text",
    [
        "",
        "relative",
        "http://",
        "http://a b/",
        "http://a.test:99999/",
        "http://[::1",
        "ftp://a.test/",
        "javascript:alert(1)",
        "mailto:a@b.test",
        "file:///etc/passwd",
        "data:text/html,x",
        "http://1.2.3.4.5/",
        "http://999.1.1.1/",
        "http://a\0b.test/",
    ],
)
def test_what_is_not_crawled(text: str) -> None:
    with pytest.raises(InvalidURLError) as caught:
        normalize(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("a.test", "http://a.test/"),
        ("a.test/x:y", "http://a.test/x:y"),
        ("a.test:8080/x", "http://a.test:8080/x"),
        ("localhost:8080", "http://localhost:8080/"),
        ("box:8080", "http://box:8080/"),
        ("https://a.test", "https://a.test/"),
        (" a.test ", "http://a.test/"),
        ("a.test?u=http://b.test/", "http://a.test/?u=http://b.test/"),
        ("[::1]:8080/x", "http://[::1]:8080/x"),
        ("127.0.0.1", "http://127.0.0.1/"),
    ],
)
def test_an_operator_may_leave_the_scheme_out(typed: str, url: str) -> None:
    assert operator_url(typed) == url


@pytest.mark.parametrize("typed", ["", "  ", "/etc/passwd", "//a.test", "mailto:x@a.test"])
def test_what_an_operator_cannot_mean(typed: str) -> None:
    with pytest.raises(InvalidURLError):
        operator_url(typed)


@pytest.mark.parametrize(
    ("url", "origin", "host", "port", "path"),
    [
        ("http://a/", "http://a", "a", 80, "/"),
        ("https://a/b?c", "https://a", "a", 443, "/b?c"),
        ("http://a.test:8080/x", "http://a.test:8080", "a.test", 8080, "/x"),
        ("https://u:p@a.test/", "https://u:p@a.test", "a.test", 443, "/"),
        ("http://[::1]/", "http://[::1]", "[::1]", 80, "/"),
        ("http://[::1]:81/x", "http://[::1]:81", "[::1]", 81, "/x"),
        ("http://u:1@[::1]:81/@:9", "http://u:1@[::1]:81", "[::1]", 81, "/@:9"),
    ],
)
def test_the_parts_of_a_url(url: str, origin: str, host: str, port: int, path: str) -> None:
    assert normalize(url) == url
    assert (origin_of(url), host_of(url), port_of(url), path_of(url)) == (origin, host, port, path)
