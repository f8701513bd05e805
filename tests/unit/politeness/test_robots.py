"""robots.txt by RFC 9309."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.politeness.robots import ALLOW_ALL, Decision, RobotsRules, read_robots


def rules(text: str, token: str = "skitter") -> RobotsRules:
    found = read_robots(200, text.encode(), token)
    assert found is not None
    return found


def allowed(text: str, path: str, token: str = "skitter") -> bool:
    return rules(text, token).allows("http://h.test" + path)


GROUPS = """
User-agent: other
Disallow: /

User-agent: skitter
User-agent: friend
Disallow: /private

User-agent: *
Disallow: /everyone
"""


def test_our_own_group_wins_over_the_star() -> None:
    assert not allowed(GROUPS, "/private/x")
    assert allowed(GROUPS, "/everyone")
    assert not allowed(GROUPS, "/private", token="friend")
    assert not allowed(GROUPS, "/", token="other")
    assert not allowed(GROUPS, "/everyone", token="stranger")


def test_groups_of_one_agent_are_one_group() -> None:
    text = "User-agent: skitter\nDisallow: /a\n\nUser-agent: skitter\nDisallow: /b"
    assert not allowed(text, "/a")
    assert not allowed(text, "/b")


@pytest.mark.parametrize(
    ("rule", "path", "verdict"),
    [
        ("Disallow: /a", "/abc", False),
        ("Disallow: /a", "/b", True),
        ("Disallow:", "/a", True),
        ("Disallow: /", "/", False),
        ("Disallow: /*.pdf", "/x/y.pdf?z", False),
        ("Disallow: /*.pdf$", "/x.pdf?z", True),
        ("Disallow: /*.pdf$", "/x.pdf", False),
        ("Disallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("Allow: /a\nDisallow: /a", "/a", True),
        ("Disallow: /*?", "/a?b", False),
        ("Disallow: /%7Ejoe", "/~joe/", False),
        ("disallow : /a # why", "/a", False),
        ("Disallow: /A", "/a", True),
    ],
)
def test_the_longest_matching_rule_decides(rule: str, path: str, verdict: bool) -> None:
    assert allowed(f"User-agent: *\n{rule}", path) is verdict


def test_a_byte_order_mark_hides_nothing() -> None:
    found = read_robots(200, b"\xef\xbb\xbfUser-agent: *\nDisallow: /", "skitter")
    assert found is not None
    assert not found.allows("http://h.test/")


def test_bytes_that_are_no_text_spoil_only_their_line() -> None:
    found = read_robots(200, b"\xff\xfe\0junk\r\nUser-agent: *\r\nDisallow: /a\r\n", "skitter")
    assert found is not None
    assert not found.allows("http://h.test/a")


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 410, 429])
def test_without_a_robots_txt_all_is_allowed(status: int) -> None:
    assert read_robots(status, b"User-agent: *\nDisallow: /", "skitter") is ALLOW_ALL


@pytest.mark.parametrize("status", [500, 502, 503, 504, 599])
def test_a_server_error_is_unreachable(status: int) -> None:
    assert read_robots(status, b"", "skitter") is None


@pytest.mark.parametrize(
    ("value", "delay_s"),
    [("2", 2.0), ("0.5", 0.5), ("0", 0.0), ("x", None), ("-3", None), ("inf", None), ("nan", None)],
)
def test_crawl_delay_is_a_sane_number_or_nothing(value: str, delay_s: float | None) -> None:
    assert rules(f"User-agent: *\nCrawl-delay: {value}").crawl_delay_s == delay_s


def test_crawl_delay_is_that_of_our_group() -> None:
    text = "User-agent: skitter\nCrawl-delay: 3\n\nUser-agent: *\nCrawl-delay: 9"
    assert rules(text).crawl_delay_s == 3.0
    assert rules(text, "stranger").crawl_delay_s == 9.0


def test_sitemaps_are_everybodys() -> None:
    text = "Sitemap: http://h.test/1.xml\nUser-agent: x\nDisallow: /\nsitemap: http://h.test/2.xml"
    assert rules(text).sitemaps == ("http://h.test/1.xml", "http://h.test/2.xml")


def test_allow_all_says_nothing() -> None:
    assert ALLOW_ALL.allows("http://h.test/a")
    assert (ALLOW_ALL.crawl_delay_s, ALLOW_ALL.sitemaps) == (None, ())


def test_a_verdict_names_its_line() -> None:
    text = "\ufeff# ours\r\nUser-agent: Skitter/2\rDisallow: /a # no\nAllow: /a/b\n"
    found = rules(text)
    assert found.explain("http://h.test/a/x") == Decision(
        allowed=False, line_number=3, line="Disallow: /a # no", agent="skitter"
    )
    assert found.explain("http://h.test/a/b") == Decision(
        allowed=True, line_number=4, line="Allow: /a/b", agent="skitter"
    )
    assert found.explain("http://h.test/") == Decision(allowed=True, agent="skitter")
    assert ALLOW_ALL.explain("http://h.test/") == Decision(allowed=True)


WORDS = st.sampled_from(["/", "a", "b", "*", "$", "%2F", "%61", "?", "index.html", "é", " "])
PATTERNS = st.lists(WORDS, max_size=5).map("".join)
RULES = st.lists(st.tuples(st.sampled_from(["Allow", "Disallow"]), PATTERNS), max_size=6)
PATHS = st.lists(st.sampled_from(["a", "b", "/", "%2F", "$", "?", "index.html"]), max_size=6)


@given(RULES, PATHS.map("".join))
def test_why_and_whether_agree(lines: list[tuple[str, str]], path: str) -> None:
    found = rules("\n".join(["User-agent: *", *(": ".join(line) for line in lines)]))
    url = f"http://h.test/{path}"
    why = found.explain(url)
    assert why.allowed is found.allows(url)
    if why.line_number is not None:
        assert lines[why.line_number - 2][0] == ("Allow" if why.allowed else "Disallow")
    else:
        assert why.allowed


@given(RULES, RULES, PATHS.map("".join))
def test_it_does_not_matter_how_a_group_is_cut(
    first: list[tuple[str, str]], second: list[tuple[str, str]], path: str
) -> None:
    one = ["User-agent: skitter", *(": ".join(line) for line in (*first, *second))]
    two = [
        "User-agent: skitter", *(": ".join(line) for line in first),
        "User-agent: other", "Disallow: /",
        "User-agent: skitter", *(": ".join(line) for line in second),
    ]  # fmt: skip
    url = f"http://h.test/{path}"
    if first:  # otherwise the first name belongs to the other group
        assert rules("\n".join(one)).allows(url) is rules("\n".join(two)).allows(url)


@given(st.text("abcskiter-_0", min_size=1, max_size=9))
def test_only_our_whole_name_is_our_name(agent: str) -> None:
    assert allowed(f"User-agent: {agent}\nDisallow: /", "/a") is (agent != "skitter")


@pytest.mark.timeout(20)
def test_a_hostile_pattern_is_matched_in_bounded_time() -> None:
    # Backtracking over so many stars would take longer than anybody waits.
    assert allowed(f"User-agent: *\nDisallow: /{'*a' * 40}*b", "/" + "a" * 2_000)


@settings(max_examples=150, deadline=None, database=None, derandomize=True)
@given(st.binary(max_size=300))
def test_any_bytes_are_read(body: bytes) -> None:
    found = read_robots(200, b"User-agent: *\n" + body, "skitter")
    assert found is not None
    found.allows("http://h.test/a?b")
