import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.extract.directives import refresh_url, robots_directives
from skitter.extract.html import MAX_TEXT_CHARS, parse


def hrefs(page: bytes, **options: bool | int) -> list[str]:
    return [href for href, _ in parse(page, **options).anchors]  # type: ignore[arg-type]


def test_links_come_in_document_order_with_their_text() -> None:
    page = parse(
        b"<title> A\n page </title><a href=1>one</a><map><area href=2></map>"
        b"<iframe src=3></iframe><p><a href=' 4 '>\n four <b>and</b>\tmore </a>"
    )
    assert page.title == "A page"
    assert page.anchors == [("1", "one"), ("2", ""), ("3", ""), ("4", "four and more")]


def test_frames_of_a_frameset_are_links() -> None:
    assert hrefs(b"<frameset><frame src=a.html><frame src=b.html></frameset>") == [
        "a.html",
        "b.html",
    ]


def test_first_of_links_that_differ_in_their_fragment_counts() -> None:
    page = parse(b"<a href=x#a>first</a><a href=x>second</a><a href='x#'>third</a><a href=y>y</a>")
    assert page.anchors == [("x", "first"), ("y", "y")]


@pytest.mark.parametrize(
    "href",
    ["", " ", "#", "#top", " #top", "javascript:void(0)", "JavaScript:x", " mailto:a@b.example",
     "tel:+1", "data:text/html,x", "ftp://h/", "blob:x", "about:blank", "android-app://x"],
)  # fmt: skip
def test_what_leads_nowhere_is_left_out(href: str) -> None:
    assert hrefs(f'<a href="{href}">x</a><a href>y</a><a>z</a>'.encode()) == []


@pytest.mark.parametrize(
    "href", ["HTTP://h/", "https://h/", "//h/x", "?q=1", "a/b:c", "/x?u=mailto:y", "http:x"]
)
def test_what_may_lead_somewhere_is_kept(href: str) -> None:
    assert hrefs(f'<a href="{href}">x</a>'.encode()) == [href]


def test_character_references_in_links_are_resolved_as_browsers_do() -> None:
    assert hrefs(b'<a href="/?a=1&amp;b=2&copy=3&#x41;">x</a>') == ["/?a=1&b=2&copy=3A"]


def test_first_usable_base_wins_wherever_it_is() -> None:
    assert parse(b"<base target=x><base href=' /a/ '><base href=/b/>").base == "/a/"
    assert parse(b"<body><p>x<base href=/late/>").base == "/late/"
    assert parse(b"<a href=x>").base is None


def test_canonical_next_and_prev_are_links_and_other_relations_are_not() -> None:
    page = parse(
        b"<link rel=stylesheet href=s.css><link rel='Canonical' href=/c><link rel=next href=n>"
        b"<link rel='prev nofollow' href=p><link rel=alternate href=feed><a href=a>a</a>"
    )
    assert page.canonical == "/c"
    assert page.anchors == [("/c", ""), ("n", ""), ("p", ""), ("a", "a")]


def test_nofollow_links_are_kept_unless_asked() -> None:
    page = b"<a rel='UGC NoFollow' href=1>x</a><area rel=nofollow href=2><a rel=nofollowed href=3>"
    assert hrefs(page) == ["1", "2", "3"]
    assert hrefs(page, follow_nofollow=False) == ["3"]


def test_link_of_a_drawing_is_a_link_and_its_title_is_not_the_pages() -> None:
    page = parse(b"<body><svg><title>icon</title><a xlink:href=/s>s</a></svg><title>page</title>")
    assert page.title == "page"
    assert page.anchors == [("/s", "s")]


def test_comments_scripts_and_attribute_values_hold_no_links() -> None:
    assert (
        hrefs(
            b"<!-- <a href=1> --><script>'<a href=2>'</script><div data-x='<a href=3>'></div>"
            b"<textarea><a href=4></textarea><style><a href=5></style>"
        )
        == []
    )


def test_links_of_noscript_are_found_and_do_not_hide_the_rest_of_the_head() -> None:
    page = parse(
        b"<head><noscript><img src=x></noscript><title>t</title>"
        b"<meta name=robots content=noindex><link rel=canonical href=/c></head>"
        b"<noscript><a href=/n>n</a></noscript>"
    )
    assert (page.title, page.noindex, page.canonical) == ("t", True, "/c")
    assert ("/n", "n") in page.anchors


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("noindex", (True, False)),
        ("NOFOLLOW", (False, True)),
        ("noindex , nofollow", (True, True)),
        ("none", (True, True)),
        ("all", (False, False)),
        ("index, follow, max-snippet:-1", (False, False)),
        ("", (False, False)),
    ],
)
def test_robots_directives(content: str, expected: tuple[bool, bool]) -> None:
    assert robots_directives(content) == expected


def test_robots_metas_for_another_name_of_ours() -> None:
    page = parse(
        b"<meta name=OurBot content=nofollow><meta name=skitter content=noindex>", agent="ourbot"
    )
    assert (page.nofollow, page.noindex) == (True, False)


def test_robots_metas_for_all_and_for_us_add_up_and_others_are_ignored() -> None:
    page = parse(
        b"<meta name=Robots content=noindex><meta name=skitter content=nofollow>"
        b"<meta name=otherbot content=none>"
    )
    assert (page.noindex, page.nofollow) == (True, True)
    page = parse(b"<meta name=otherbot content=none>robots")
    assert (page.noindex, page.nofollow) == (False, False)


@pytest.mark.parametrize(
    ("content", "url"),
    [
        ("0;url=/x", "/x"),
        ("0; URL='/x'", "/x"),
        (' 5 ; Url = "/x" tail', "/x"),
        ("0,url=/x", "/x"),
        ("0 url=/x", "/x"),
        ("0;/x", "/x"),
        ("0.5;url=/x?a=1;b=2", "/x?a=1;b=2"),
        (".5;url=/x", "/x"),
        ("0;url='/unclosed", "/unclosed"),
        ("0;urls", "urls"),
        ("0", None),
        ("5;", None),
        ("0;url=", None),
        ("0;url=''", None),
        ("url=/x", None),
        ("x;url=/x", None),
        ("0x;url=/x", None),
        ("", None),
    ],
)
def test_refresh(content: str, url: str | None) -> None:
    assert refresh_url(content) == url


def test_refresh_is_the_first_link_and_only_the_first_counts() -> None:
    page = parse(
        b"<link rel=next href=n><meta http-equiv=REFRESH content=3>"
        b"<meta http-equiv=refresh content='0; url=/r#x'>"
        b"<meta http-equiv=refresh content='0;/s'><a href=a>a</a>"
    )
    assert page.refresh == "/r#x"
    assert page.anchors == [("/r", ""), ("n", ""), ("a", "a")]


def test_no_more_links_than_allowed_and_that_is_said() -> None:
    body = b"".join(b"<a href=%d>" % number for number in range(10))
    assert len(parse(body, max_links=10).anchors) == 10
    assert not parse(body, max_links=10).truncated
    page = parse(body, max_links=3)
    assert [href for href, _ in page.anchors] == ["0", "1", "2"]
    assert page.truncated


def test_no_more_bytes_than_allowed_and_that_is_said() -> None:
    page = parse(b"<a href=1>x</a><a href=2>y</a>", max_bytes=15)
    assert page.anchors == [("1", "x")]
    assert page.truncated


def test_long_text_is_cut() -> None:
    ((_, text),) = parse(b"<a href=x>" + b"word " * 1000).anchors
    assert len(text) == MAX_TEXT_CHARS


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        ("\ufeff<title>é</title>".encode(), "utf-8", "é"),
        ("<title>é</title>".encode("utf-16"), "utf-16le", "é"),
        ("<title>привет</title>".encode("cp1251"), "windows-1251", "привет"),
        ("<title>日本</title>".encode("cp932"), "shift_jis", "日本"),
        (b"<title>\xff\xfe \xe9</title>", "utf-8", "\ufffd\ufffd \ufffd"),
        (b"<title>a\x00b</title>", "utf-8", "a\ufffdb"),
    ],
)
def test_charsets(body: bytes, charset: str, text: str) -> None:
    assert parse(body, charset).title == text


@pytest.mark.parametrize(
    "body",
    [b"", b"\x00", b"<", b"<a href", b"<a href='x", b"<!--", b"</", b"<title>", b"\xef\xbb\xbf"],
)
def test_stumps_of_pages_are_pages(body: bytes) -> None:
    assert parse(body).anchors == []


def test_broken_html_keeps_its_links() -> None:
    assert hrefs(
        b"<p><b><a href=1>x<td></i><a href=2 =x y='><a href=3>'></z></table><a/href=4/>"
    ) == [
        "1",
        "2",
        "4/",
    ]


@given(st.binary(max_size=2_000), st.sampled_from(["utf-8", "utf-16le", "gb18030", "nonsense"]))
def test_any_bytes_are_a_page(body: bytes, charset: str) -> None:
    parse(body, charset)


_PIECES = st.sampled_from(
    [b"<a href=", b"'", b'"', b">", b"<", b"/", b"</a>", b"<table>", b"<td>", b"<b>", b"</p>",
     b"<p>", b"<svg>", b"<title>", b"<script>", b"<!--", b"-->", b"&amp;", b"&#0;", b"\x00",
     b"\xff", b" ", b"<base href=", b"<meta name=robots content=none>", b"<template>", b"<select>",
     b"x", b"#", b"="]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=60))
def test_any_markup_is_a_page(pieces: list[bytes]) -> None:
    page = parse(b"".join(pieces))
    assert all(href == href.strip(" \t\n") != "" and "#" not in href for href, _ in page.anchors)
    assert len({href for href, _ in page.anchors}) == len(page.anchors)
