"""Inputs that look enough like the real thing to get somewhere, and are wrong in some way."""

from functools import lru_cache
from pathlib import Path

from hypothesis import strategies as st

CORPUS = Path(__file__).parents[1] / "corpus"

#: Larger seeds make slow examples, not better ones.
_MAX_SEED_BYTES = 4_000


def pieces(*words: bytes) -> st.SearchStrategy[bytes]:
    """Any sequence of these words and of bytes nobody chose."""
    word = st.sampled_from(words) | st.binary(max_size=6)
    return st.lists(word, max_size=40).map(b"".join)


@st.composite
def damaged(draw: st.DrawFn, kind: str) -> bytes:
    """A case of the corpus with a part of it replaced, or of another in its place."""
    seeds = _seeds(kind)
    data = draw(st.sampled_from(seeds))
    start = draw(st.integers(0, len(data)))
    end = draw(st.integers(start, len(data)))
    patch = draw(st.binary(max_size=12) | st.sampled_from(seeds))
    return data[:start] + patch + data[end:]


@lru_cache
def _seeds(kind: str) -> list[bytes]:
    return [
        path.read_bytes()
        for path in sorted((CORPUS / kind).glob("*.in"))
        if path.stat().st_size <= _MAX_SEED_BYTES
    ]


ROBOTS = damaged("robots") | pieces(
    *(b"User-agent:", b"Disallow:", b"Allow:", b"Crawl-delay:", b"Sitemap:", b"#", b"\r", b"\n"),
    *(b" ", b"*", b"skitter", b"/", b"$", b"%2F", b"%", b"?", b"/a", b"1e999", b"\xef\xbb\xbf"),
)
SITEMAPS = damaged("sitemaps") | pieces(
    *(b"<urlset>", b"<url>", b"<loc>", b"http://h.test/", b"</loc>", b"</url>", b"<sitemap>"),
    *(b"<rss>", b"<item>", b"<link>", b"<guid>", b"<![CDATA[", b"]]>", b"<!--", b"&amp;", b"&x;"),
    *(
        b"<!DOCTYPE x [",
        b"<!ENTITY a 'b'>",
        b"]>",
        b"<?xml version='1.0'?>",
        b"\x1f\x8b\x08",
        b"\n",
    ),
)
HTML = damaged("html") | pieces(
    *(b"<a", b" href=", b'"', b"'", b">", b"</a>", b"<", b"/", b"x", b"#", b"?", b"&amp;", b"&#0;"),
    *(b"<base", b"<title>", b"<script>", b"</script>", b"<!--", b"-->", b"<svg>", b"<meta ", b"\0"),
    *(b"name=robots content=none", b"charset=koi8-r", b"<iframe src=", b"<plaintext>", b"\xff"),
)
URLS = damaged("urls") | pieces(
    *(b"http:", b"https:", b"//", b"/", b"\\", b"h.test", b":80", b"@", b"[::1]", b"127.1", b"%2e"),
    *(b"..", b".", b"?", b"a=1", b"&", b"#", b" ", b"\t", b"\n", b"\xc3\xa9", b"xn--", b"%"),
)
CHARSETS = damaged("charset") | damaged("html") | st.binary(max_size=300)
RESPONSES = damaged("responses") | pieces(
    *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 404\r\n", b"HTTP/1.1 302 Found\r\n", b"\r\n", b"\n", b":"),
    *(b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: gzip\r\n"),
    *(b"Location: /a\r\n", b"Content-Type: text/html\r\n", b"5\r\nhello\r\n", b"0\r\n\r\n"),
    *(b"<a href=/a>", b"X-Robots-Tag: none\r\n", b"Retry-After: 1\r\n", b"\x1f\x8b\x08"),
)
