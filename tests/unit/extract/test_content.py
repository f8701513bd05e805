import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.extract.content import Content, essence, media_type, sniffed_type

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
        ("text/html", "/", b"%PDF-1.7\n", OTHER),
        ("text/html", "/", b"\x89PNG\r\n\x1a\n", OTHER),
        ("text/html", "/", b"\x1f\x8b\x08\x00", OTHER),
        ("text/plain", "/", b"GIF89a", OTHER),
        ("text/html", "/", b"BMW builds cars", HTML),
    ],
)
def test_kind(content_type: str | None, url: str, start: bytes, expected: Content) -> None:
    assert media_type(content_type, "http://h.example" + url, start) is expected


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (b"<!DOCTYPE html><p>", "text/html"),
        (b"\n <html>", "text/html"),
        (b"<?xml version='1.0'?><x/>", "text/xml"),
        (b"<?xml version='1.0'?><html>", "text/html"),
        (b"%PDF-1.4", "application/pdf"),
        (b"GIF87a", "image/gif"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"BM\x00\x01", "image/bmp"),
        (b"BMW builds cars", "text/plain"),
        (b"\x00\x00\x01\x00\x01", "image/x-icon"),
        (b"\x1f\x8b\x08\x00", "application/x-gzip"),
        (b"PK\x03\x04", "application/zip"),
        (b"plain words", "text/plain"),
        (b"\xfe\xff\x00a", "text/plain"),
        (b"\x00\x01\x02", "application/octet-stream"),
        (b"", "text/plain"),
    ],
)
def test_sniffing(start: bytes, expected: str) -> None:
    assert sniffed_type(start) == expected


def test_essence() -> None:
    assert essence(" Text/HTML ;charset=x") == "text/html"
    assert essence("text html") == essence("a/b/c") == essence(None) == ""


@given(st.none() | st.text(max_size=40), st.text(max_size=20), st.binary(max_size=300))
def test_anything_has_a_kind(content_type: str | None, url: str, start: bytes) -> None:
    assert media_type(content_type, url, start) in Content
