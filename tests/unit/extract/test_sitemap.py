import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.extract.sitemap import Sitemap, SitemapEntry, read


def urls(body: bytes) -> list[str]:
    return [entry.url for entry in read(body).urls]


URLSET = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i" xmlns:xhtml="x">
 <url><loc> http://h.example/a?x=1&amp;y=2 </loc><lastmod>2024-01-02</lastmod>
  <image:image><image:loc>http://h.example/a.png</image:loc></image:image>
  <xhtml:link rel="alternate" hreflang="de" href="http://h.example/de"/></url>
 <url><lastmod/><loc><![CDATA[http://h.example/b]]></loc></url>
 <url></url>
</urlset>"""


def test_urlset() -> None:
    assert read(URLSET) == Sitemap(
        urls=[
            SitemapEntry(
                url="http://h.example/a?x=1&y=2",
                lastmod="2024-01-02",
                alternates=("http://h.example/de",),
            ),
            SitemapEntry(url="http://h.example/b"),
        ]
    )


def test_prefixed_urlset() -> None:
    assert urls(b"<s:urlset xmlns:s='x'><s:url><s:loc>http://h/</s:loc></s:url></s:urlset>") == [
        "http://h/"
    ]


def test_index() -> None:
    body = b"<sitemapindex><sitemap><loc>http://h/1.xml</loc></sitemap></sitemapindex>"
    assert read(body) == Sitemap(sitemaps=["http://h/1.xml"])


def test_list_of_urls() -> None:
    body = b"\xef\xbb\xbfhttp://h/a\r\n\r\nHTTPS://h/b \nnot a URL\nftp://h/c\n"
    assert urls(body) == ["http://h/a", "HTTPS://h/b"]


def test_rss_and_atom() -> None:
    rss = (
        b"<rss><channel><link>http://h/</link><item><title>x</title><link>http://h/1</link>"
        b"<media:content xmlns:media='m' url='x'/><pubDate>Mon, 1 Jan 2024 00:00:00 GMT</pubDate>"
        b"</item></channel></rss>"
    )
    assert read(rss).urls == [
        SitemapEntry(url="http://h/1", lastmod="Mon, 1 Jan 2024 00:00:00 GMT")
    ]
    atom = (
        b"<feed><link href='http://h/'/><entry><link rel='self' href='http://h/self'/>"
        b"<link href='http://h/1'/><updated>2024</updated></entry></feed>"
    )
    assert read(atom).urls == [SitemapEntry(url="http://h/1", lastmod="2024")]


def test_other_encodings() -> None:
    body = '<?xml version="1.0" encoding="{}"?><urlset><url><loc>http://h/é</loc></url></urlset>'
    for encoding in ("utf-16", "iso-8859-1", "windows-1252"):
        assert urls(body.format(encoding).encode(encoding)) == ["http://h/é"]


def test_gzip_of_any_number_of_members() -> None:
    assert read(gzip.compress(URLSET)) == read(URLSET)
    half = len(URLSET) // 2
    assert read(gzip.compress(URLSET[:half]) + gzip.compress(URLSET[half:])) == read(URLSET)
    assert read(gzip.compress(URLSET) + b"\x00" * 10) == read(URLSET)


def test_broken_gzip_yields_what_was_read() -> None:
    body = gzip.compress(b"".join(b"http://h/%d\n" % number for number in range(10_000)))
    part = read(body[: len(body) // 2])
    assert part.truncated
    assert 100 < len(part.urls) < 10_000


def test_gzip_bomb_is_cut_at_the_limit() -> None:
    part = read(gzip.compress(b"http://h/a\n" * 1_000_000), max_bytes=1_100)
    assert part.truncated
    assert len(part.urls) == 100


def test_limits() -> None:
    body = b"<urlset>" + b"<url><loc>http://h/</loc></url>" * 10 + b"</urlset>"
    assert len(read(body, max_urls=10).urls) == 10
    assert not read(body, max_urls=10).truncated
    assert len(read(body, max_urls=3).urls) == 3
    assert read(body, max_urls=3).truncated
    assert len(read(body, max_bytes=100).urls) == 2
    assert read(b"http://h/1\nhttp://h/2", max_urls=1).truncated
    assert urls(b"http://h/" + b"x" * 3_000) == []


def test_broken_xml_yields_what_was_read() -> None:
    part = read(b"<urlset><url><loc>http://h/1</loc></url><url><loc>http://h/2 & 3</loc></url>")
    assert part == Sitemap(urls=[SitemapEntry(url="http://h/1")], truncated=True)
    assert read(b"<urlset><url><loc>http://h/&nbsp;</loc></url></urlset>").truncated
    assert read(b"<?xml version='1.0' encoding='nonsense'?><urlset/>").truncated


@pytest.mark.parametrize(
    "doctype",
    [
        b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>',
        b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>',
        b'<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1/x.dtd"> %p;]>',
        b'<!DOCTYPE x SYSTEM "http://127.0.0.1/x.dtd">',
        b"<!DOCTYPE x [<!ELEMENT x ANY>]>",
    ],
)
def test_document_types_are_refused(doctype: bytes) -> None:
    body = doctype + b"<urlset><url><loc>http://h/&b;&e;</loc></url></urlset>"
    assert read(body) == Sitemap(truncated=True)


def test_billion_laughs_are_not_heard() -> None:
    entities = b"".join(b'<!ENTITY a%d "%s">' % (n + 1, b"&a%d;" % n * 10) for n in range(12))
    body = b'<!DOCTYPE x [<!ENTITY a0 "ha">%s]><urlset><url><loc>&a12;</loc></url></urlset>'
    assert read(body % entities) == Sitemap(truncated=True)


def test_deep_nesting_and_endless_tags_are_refused() -> None:
    assert read(b"<a>" * 100_000).truncated
    assert read(b"<urlset><url a='" + b"x" * 20_000_000).truncated


@given(st.binary(max_size=500))
def test_any_bytes_are_a_sitemap(body: bytes) -> None:
    read(body)
    read(b"\x1f\x8b" + body)
    read(b"<urlset>" + body)


@given(st.integers(0, len(URLSET)), st.integers(0, len(URLSET)), st.binary(max_size=5))
def test_any_damage_to_a_sitemap_is_survived(start: int, end: int, patch: bytes) -> None:
    read(URLSET[:start] + patch + URLSET[end:])
    packed = gzip.compress(URLSET)
    read(packed[: start % len(packed)] + patch + packed[end % len(packed) :])
