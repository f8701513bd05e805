from hypothesis import example, given
from hypothesis import strategies as st

from skitter.errors import InvalidURLError
from skitter.extract.links import LinkResolver, document_base
from skitter.urls.normalize import normalize


def plain(base: str, href: str) -> str | None:
    try:
        return normalize(href, base)
    except InvalidURLError:
        return None


def test_links_are_absolute_in_order_and_once() -> None:
    anchors = [("b", "one"), ("/x#f", "two"), ("./b", "three"), ("HTTP://H.example:80/y", "four")]
    assert LinkResolver().resolve("http://h.example/a/", anchors) == [
        ("http://h.example/a/b", "one"),
        ("http://h.example/x", "two"),
        ("http://h.example/y", "four"),
    ]


def test_links_that_cannot_be_resolved_are_left_out_and_counted() -> None:
    resolver = LinkResolver()
    anchors = [("http://", ""), ("http://a b/", ""), ("mailto:x@y.example", ""), ("ok", "")]
    for _ in range(2):
        assert resolver.resolve("http://h.example/", anchors) == [("http://h.example/ok", "")]
    assert resolver.invalid == 6


def test_base_of_a_page() -> None:
    page = "http://h.example/a/b"
    assert document_base(page, None) == page
    assert document_base(page, "../c/") == "http://h.example/c/"
    assert document_base(page, "//o.example") == "http://o.example/"
    assert document_base(page, "data:x") == page
    assert document_base(page, "http://") == page


def held_chars(resolver: LinkResolver) -> int:
    memos = [resolver._absolute, *resolver._by_prefix.values()]
    return sum(len(href) + len(url or "") for memo in memos for href, url in memo.items())


def test_memory_is_bounded() -> None:
    resolver = LinkResolver(max_memo_bytes=10_000)
    most = 0
    for number in range(500):
        hrefs = [f"{number}", f"/{number}", f"http://o.example/{number}" + "x" * 500]
        resolver.resolve(f"http://h.example/{number}/", [(href, "") for href in hrefs])
        most = max(most, held_chars(resolver))
    assert 2_000 < most < 10_000


_BASES = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "https", "HTTP"]),
    st.sampled_from(["h.example", "h.example:8080", "u:p@h.example", "o.example", "[::1]"]),
    st.sampled_from(["", "/", "/a", "/a/", "/a/b", "/a/c", "/a//b/", "/a/../d", "/a\\b", "/a;p/x"]),
    st.sampled_from(["", "?", "?q=1", "?q=/x/y", "?http://z/", "#f", "#/x/y", "?a#/b/?"]),
)
_PIECE = st.sampled_from(
    ["a", "b", "/", "//", "\\", "?", "#", ":", "http", "https", "HTTP", "h.example", "o.example",
     ".", "..", "%2e", "\t", "\n", " ", "\x00", "\x1f", "é", "\ud800", "@", "&", ";", "8080",
     "mailto"]
)  # fmt: skip
_HREFS = st.lists(_PIECE, max_size=6).map("".join)


@given(st.lists(st.tuples(_BASES, st.lists(_HREFS, max_size=8)), max_size=6))
@example(
    [("http://h/a/b", ["http:?q", "http:x", "?q"]), ("http://h/a/c", ["http:?q", "http:x", "?q"])]
)
@example([("http://h/a?x/y", ["b", ""]), ("http://h/a", ["b", ""]), ("https://h/a", ["b", "//o"])])
@example([("http://h/a/b", ["\t?q", "\\o", "/\t/o"]), ("https://h/a/c", ["\t?q", "\\o", "/\t/o"])])
def test_memo_never_changes_a_result(pages: list[tuple[str, list[str]]]) -> None:
    resolver = LinkResolver(max_memo_bytes=5_000)
    for base, hrefs in pages:
        expected = dict.fromkeys(plain(base, href) for href in hrefs)
        expected.pop(None, None)
        resolved = resolver.resolve(normalize(base), [(href, "") for href in hrefs])
        assert [url for url, _ in resolved] == list(expected)


_SEGMENT = st.text(st.sampled_from("ab-_~.1"), max_size=4)


@given(st.lists(_SEGMENT, max_size=5), st.lists(_SEGMENT, max_size=5), st.integers(0, 4))
def test_plain_paths_are_joined_as_the_url_parser_does(
    base: list[str], path: list[str], ups: int
) -> None:
    page = normalize("http://h:8080/" + "/".join(base))
    href = "../" * ups + "/".join(path)
    resolved = LinkResolver().resolve(page, [(href, "")] if href else [])
    assert [url for url, _ in resolved] == ([normalize(href, page)] if href else [])


def test_a_base_that_would_make_every_link_long_is_not_used() -> None:
    page = "http://a.test/folder/page"
    assert document_base(page, "http://b.test/" + "x" * 2_000) != page
    assert document_base(page, "http://b.test/" + "x" * 2_048) == page
