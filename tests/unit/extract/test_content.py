import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.extract.content import Content, essence, media_type

HTML, XML, TEXT, OTHER = Content.HTML, Content.XML, Content.TEXT, Content.OTHER


@pytest.mark.parametrize(
    ("content_type", "url", "start", "expected"),
    [
        ("text/html; charset=utf-8", "/x.pdf", b"%PDF", HTML),
        ("TEXT/HTML", "/", b"", HTML),
        ("application/xhtml+xml", "/", b"", HTML),
        ("text/plain", "/", b" \n<!DOCTYPE  html>", HTML),
        ("text/plain", "/x.html", b"<p is not what this is about", HTML),
        ("text/plain", "/x.html", b"plain words", TEXT),
        ("text/plain", "/", b"\x89PNG\r\n\x1a\n\x00", OTHER),
        ("application/octet-stream", "/", b"<!-- c --><html>", HTML),
        ("application/octet-stream", "/", b"\x00\x01\x02", OTHER),
        ("application/octet-stream", "/a.txt", b"words", TEXT),
        (None, "/", b"<!doctype html>", HTML),
        (None, "/", b"<?xml version='1.0'?>\n<html xmlns='x'>", HTML),
        (None, "/", b"<?xml version='1.0'?><urlset>", XML),
        (None, "/", b"\xef\xbb\xbf<rss version=2>", XML),
        (None, "/", b"<abbr>", TEXT),
        (None, "/page.htm?x=/y.pdf", b"words", HTML),
        ("nonsense", "/", b"<body>", HTML),
        ("text/xml", "/", b"<urlset>", XML),
        ("application/xml", "/", b"<!DOCTYPE html><html>", HTML),
        ("application/rss+xml", "/", b"<rss>", XML),
        ("image/svg+xml", "/", b"<svg>", XML),
        ("text/css", "/", b"<html>", TEXT),
        ("application/json", "/", b"<html>", OTHER),
        ("image/png", "/x.html", b"<html>", OTHER),
    ],
)
def test_kind(content_type: str | None, url: str, start: bytes, expected: Content) -> None:
    assert media_type(content_type, "http://h.example" + url, start) is expected


def test_essence() -> None:
    assert essence(" Text/HTML ;charset=x") == "text/html"
    assert essence("text html") == essence("a/b/c") == essence(None) == ""


@given(st.none() | st.text(max_size=40), st.text(max_size=20), st.binary(max_size=300))
def test_anything_has_a_kind(content_type: str | None, url: str, start: bytes) -> None:
    assert media_type(content_type, url, start) in Content
