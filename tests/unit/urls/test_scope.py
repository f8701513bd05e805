"""Which links belong to a crawl."""

import pytest

from skitter.errors import UsageError
from skitter.models import Scope
from skitter.urls.scope import MAX_PATTERN_LENGTH, LinkFilter, ScopeRule, compile_patterns

SEED = "http://www.a.test/docs/guide/index.html?page=/1/"


@pytest.mark.parametrize(
    ("url", "scopes"),
    [
        (SEED, "page prefix host domain any"),
        ("http://www.a.test/docs/guide/x/y", "prefix host domain any"),
        ("https://www.a.test/docs/guide/", "prefix host domain any"),
        ("https://www.a.test:80/docs/guide/", "prefix host domain any"),
        ("http://www.a.test:443/docs/guide/", "prefix host domain any"),
        ("http://www.a.test/docs/guide", "host domain any"),
        ("http://www.a.test/docs/guidebook/", "host domain any"),
        ("http://www.a.test/", "host domain any"),
        ("http://www.a.test:8080/docs/guide/", "domain any"),
        ("http://a.test/docs/guide/", "domain any"),
        ("http://other.a.test/", "domain any"),
        ("http://www.b.test/docs/guide/", "any"),
        ("http://notwww.a.test.b.test/", "any"),
        ("http://www.a.test@b.test/docs/guide/", "any"),
    ],
)
def test_each_scope_takes_in_what_it_says(url: str, scopes: str) -> None:
    found = [scope.value for scope in Scope if ScopeRule(scope, [SEED]).contains(url)]
    assert found == scopes.split()


def test_in_scope_of_any_seed_counts() -> None:
    rule = ScopeRule(Scope.PREFIX, ["http://a.test/x/", "http://a.test/y/", "http://b.test:81/"])
    assert rule.contains("http://a.test/x/1")
    assert rule.contains("http://a.test/y/1")
    assert rule.contains("http://b.test:81/z")
    assert not rule.contains("http://a.test/z/")
    assert not rule.contains("http://b.test/")


def test_a_verdict_for_one_page_is_not_taken_for_its_neighbour() -> None:
    rule = ScopeRule(Scope.PREFIX, ["http://a.test/x/"])
    paths = ["/y/", "/x/", "/", "/x/z", "/y/"]
    found = [rule.contains(f"http://a.test{path}") for path in paths]
    assert found == [False, True, False, True, False]


def test_the_memo_starts_anew_and_forgets_no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skitter.urls.scope._MEMO_ENTRIES", 4)
    rule = ScopeRule(Scope.HOST, ["http://h7.test/"])
    found = [n for n in range(50) if rule.contains(f"http://h{n % 10}.test/")]
    assert found == [7, 17, 27, 37, 47]
    assert len(rule._memo) <= 4


@pytest.mark.parametrize(
    ("allow", "deny", "accepted"),
    [
        ([], [], ["/a/1", "/a/2", "/b/1"]),
        (["/a/"], [], ["/a/1", "/a/2"]),
        (["/a/1$", "/b"], [], ["/a/1", "/b/1"]),
        ([], ["1$"], ["/a/2"]),
        (["/a/"], ["2$"], ["/a/1"]),
        (["x"], [], []),
    ],
)
def test_allow_and_deny_search_the_url_and_deny_wins(
    allow: list[str], deny: list[str], accepted: list[str]
) -> None:
    links = LinkFilter(ScopeRule(Scope.HOST, ["http://a.test/"]), allow, deny)
    paths = ["/a/1", "/a/2", "/b/1"]
    assert [path for path in paths if links.accepts(f"http://a.test{path}")] == accepted
    assert not links.accepts("http://b.test/a/1")


def test_patterns_alone_ignore_the_scope() -> None:
    links = LinkFilter(ScopeRule(Scope.HOST, ["http://a.test/"]), ["/a"], [])
    assert links.matches("http://b.test/a")
    assert not links.matches("http://b.test/c")


@pytest.mark.parametrize("pattern", ["(", "[a", r"\1(a)", "a{2,1}", "(?=a)", "a{1000}{1000}"])
def test_a_bad_pattern_is_named_with_its_flag(pattern: str) -> None:
    with pytest.raises(UsageError, match="--deny") as caught:
        compile_patterns([pattern], "--deny")
    assert pattern in str(caught.value)


def test_a_very_long_pattern_is_refused() -> None:
    compile_patterns(["a" * MAX_PATTERN_LENGTH], "--allow")
    with pytest.raises(UsageError, match="--allow"):
        compile_patterns(["a" * (MAX_PATTERN_LENGTH + 1)], "--allow")


@pytest.mark.timeout(20)
def test_a_pattern_cannot_be_made_to_hang() -> None:
    links = LinkFilter(ScopeRule(Scope.ANY, []), [r"(a+)+$"], [])
    assert not links.accepts("http://a.test/" + "a" * 5_000 + "!")
