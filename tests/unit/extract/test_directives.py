"""What `meta` and `X-Robots-Tag` ask for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.extract.directives import header_directives, robots_directives

NOTHING, NOINDEX, NOFOLLOW, BOTH = (False, False), (True, False), (False, True), (True, True)


@pytest.mark.parametrize(
    ("content", "asked"),
    [
        ("noindex", NOINDEX),
        ("NoFollow", NOFOLLOW),
        ("none", BOTH),
        (" noindex ,\tnofollow ", BOTH),
        ("noindex nofollow", BOTH),
        ("noindex;nofollow", BOTH),
        ("index, follow", NOTHING),
        ("all", NOTHING),
        ("noindexing", NOTHING),
        ("", NOTHING),
    ],
)
def test_words_of_a_meta(content: str, asked: tuple[bool, bool]) -> None:
    assert robots_directives(content) == asked


@pytest.mark.parametrize(
    ("values", "asked"),
    [
        (["noindex"], NOINDEX),
        (["noindex", "nofollow"], BOTH),
        (["skitter: noindex"], NOINDEX),
        (["SKITTER : none"], BOTH),
        (["otherbot: noindex, nofollow"], NOTHING),
        (["otherbot: noindex", "nofollow"], NOFOLLOW),
        (["otherbot: noindex, skitter: nofollow"], NOFOLLOW),
        (["noindex, otherbot: nofollow"], NOINDEX),
        (["unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow"], NOFOLLOW),
        (["max-snippet: 20, noindex"], NOINDEX),
        (["skitterbot: none"], NOTHING),
        ([], NOTHING),
    ],
)
def test_headers_speak_to_all_or_to_one(values: list[str], asked: tuple[bool, bool]) -> None:
    assert header_directives(values, "skitter") == asked


@given(st.lists(st.text(max_size=40), max_size=4))
def test_any_header_is_read(values: list[str]) -> None:
    header_directives(values, "skitter")
