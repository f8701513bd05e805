"""Endless URLs are told from ordinary ones by how they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.urls.fingerprint import fingerprint, session_fingerprint
from skitter.urls.traps import Trap, TrapRules, find_trap, pattern_of, without_session

RULES = TrapRules()
YEAR = 2026
HEX = "0123456789abcdef0123456789abcdef"


def judge(path: str, parent: str | None = None) -> Trap | None:
    base = "http://site.test"
    return find_trap(base + path, None if parent is None else base + parent, RULES, YEAR)


@pytest.mark.parametrize(
    ("path", "trap"),
    [
        ("/a/b/a/b/a/b", Trap.REPEATED_PATH),
        ("/shop/x/x/x/", Trap.REPEATED_PATH),
        ("/x/x/x", Trap.REPEATED_PATH),
        ("/en/a/b/c/a/b/c/a/b/c/end.html", Trap.REPEATED_PATH),
        ("/" + "/".join(f"level{n}" for n in range(25)), Trap.PATH_DEPTH),
        ("/" + "x" * 513, Trap.LONG_SEGMENT),
        ("/list?" + "&".join(f"facet{n}=1" for n in range(21)), Trap.MANY_PARAMETERS),
        ("/list?" + ";".join(f"facet{n}=1" for n in range(21)), Trap.MANY_PARAMETERS),
    ],
)
def test_a_url_without_end_is_named_by_its_rule(path: str, trap: Trap) -> None:
    assert judge(path) is trap


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/docs/api/java.base/java/util/concurrent/atomic/AtomicInteger.html",
        "/group/project/-/blob/main/src/main/java/org/example/project/core/impl/Thing.java",
        "/a/b/a/b",
        "/tiles/3/3/3/3.png",
        "/2022/02/02/02/news.html",
        "/archive/1851/05/03/",
        "/shop?brand=a&brand=b&colour=red&size=4&sort=price&page=12&per_page=48",
        "/wiki/" + "%E4%B8%AD" * 150,
        "/login?sid=" + HEX,
    ],
)
def test_ordinary_urls_break_no_rule(path: str) -> None:
    assert judge(path, parent="/") is None


@pytest.mark.parametrize(
    ("path", "parent", "expected"),
    [
        ("/calendar/2032/01", "/calendar/2031/12", Trap.CALENDAR),
        ("/calendar/2031/12", "/calendar/2031/11", None),
        ("/events?month=1&year=2040", "/events?month=12&year=2039", Trap.CALENDAR),
        ("/day/2099-01-01", "/day/2098-12-31", Trap.CALENDAR),
        ("/day/20990101.html", "/day/20981231.html", Trap.CALENDAR),
        ("/calendar/1825/12", "/calendar/1826/01", Trap.CALENDAR),
        ("/calendar/1826/01", "/calendar/1826/02", None),
        # A date that a page of another kind leads to is an article about the future.
        ("/climate/2100/01", "/climate/", None),
        ("/calendar/2032/01", None, None),
        # Not a date.
        ("/part/9911/99", "/part/9911/98", None),
        ("/item/203201", "/item/203112", None),
    ],
)
def test_a_calendar_is_followed_for_some_years(
    path: str, parent: str | None, expected: Trap | None
) -> None:
    assert judge(path, parent) is expected


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/", "/"),
        ("/product/12345", "/product/#"),
        ("/product/9f86d081884c7d65", "/product/#"),
        ("/2031/04/30/title.html", "/#/#/#/title.html"),
        ("/day/2031-04-30", "/day/#"),
        ("/p12.html", "/#.html"),
        ("/list?page=4&colour=red", "/list?colour&page"),
        ("/list?tag=a&tag=b", "/list?tag"),
        ("/list?f1=a&f2=b", "/list?#&#"),
        ("/list?", "/list?"),
    ],
)
def test_siblings_share_a_pattern(path: str, pattern: str) -> None:
    assert pattern_of(f"http://site.test:8080{path}") == pattern


@pytest.mark.parametrize(
    ("path", "free"),
    [
        ("/a;jsessionid=1A2B3C.node1?x=1", "/a?x=1"),
        ("/a;JSESSIONID=1A2B3C", "/a"),
        ("/(S(lit3py55t21z5v55vlm25s55))/default.aspx", "/default.aspx"),
        ("/t.php?t=4&sid=" + HEX + "&p=1", "/t.php?t=4&p=1"),
        ("/t.php?t=4&sid=" + HEX, "/t.php?t=4"),
        ("/?PHPSESSID=" + HEX, "/"),
        ("/x?CFID=123&CFTOKEN=98765432&a=b", "/x?a=b"),
        ("/x?osCsid=" + HEX + "&products_id=9", "/x?products_id=9"),
    ],
)
def test_session_ids_are_taken_out(path: str, free: str) -> None:
    assert without_session("http://site.test" + path) == "http://site.test" + free


@pytest.mark.parametrize(
    "path",
    [
        "/a",
        "/a?sid=4711",
        "/a?side=" + HEX,
        "/a?story=" + HEX,
        "/session_id=" + HEX + "/a",
        "/a?phpsessid=short",
        "/f(x(1))/a",
    ],
)
def test_what_may_be_no_session_stays(path: str) -> None:
    assert without_session("http://site.test" + path) is None


segments = st.text(alphabet="abcxyz019%-._~;=()", max_size=12)
urls = st.builds(
    lambda path, query: "http://site.test/" + "/".join(path) + (f"?{query}" if query else ""),
    st.lists(segments, max_size=30),
    st.text(alphabet="abcsid=&;0123456789", max_size=80),
)


@given(urls, st.none() | urls)
def test_any_url_is_judged(url: str, parent: str | None) -> None:
    assert find_trap(url, parent, RULES, YEAR) in {None, *Trap}
    assert "?" in pattern_of(url) or "?" not in url
    free = without_session(url)
    assert free is None or (len(free) < len(url) and free.startswith("http://site.test/"))


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4), st.integers(3, 5))
def test_whatever_repeats_three_times_is_found(run: list[str], times: int) -> None:
    assert judge("/start/" + "/".join(run * times) + "/end") is Trap.REPEATED_PATH


@given(urls, st.integers(0, 10**6), st.integers(0, 10**6))
def test_numbers_make_no_pattern(url: str, one: int, other: int) -> None:
    path, mark, query = url.partition("?")
    first, second = (f"{path}/{number}{mark}{query}" for number in (one, other))
    assert pattern_of(first) == pattern_of(second)


def test_a_page_with_and_without_session_are_two_requests() -> None:
    bare = "http://site.test/a?x=1"
    assert session_fingerprint(bare) != fingerprint(bare)
    assert session_fingerprint(bare) == session_fingerprint("http://site.test/a?x=1")
