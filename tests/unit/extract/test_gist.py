"""Pages that say the same are told by their text."""

from hypothesis import given
from hypothesis import strategies as st

from skitter.extract.gist import gist


def page(title: str, text: str, href: str = "/") -> bytes:
    html = f'<!doctype html><title>{title}</title><p>{text} <a href="{href}">next</a>'
    return html.encode()


def test_numbers_layout_and_links_do_not_count() -> None:
    first = page("May 2031", "No events on 12 days.", "/2031/06")
    second = page("May  2032", "No\n events on 3 days.", "/2032/06?x=y")
    assert gist(first) == gist(second)


def test_words_count() -> None:
    assert gist(page("May", "No events.")) != gist(page("May", "A feast."))
    assert gist(page("May", "No events.")) != gist(page("June", "No events."))


def test_a_page_without_text_is_zero() -> None:
    assert gist(b"") == gist(b"<p>12</p>") == 0


@given(st.binary(max_size=2_000))
def test_anything_has_a_gist(body: bytes) -> None:
    assert 0 <= gist(body) < 2**64
    assert gist(body) == gist(body)
