"""Cookies: who may set them, who gets them, how many there are, how long they live."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.engine.cookies import MAX_IN_ALL, MAX_PER_DOMAIN, CookieJar, parse_cookie
from skitter.urls.domain import domain_of_url
from skitter.urls.normalize import normalize

NOW = 1_700_000_000.0
PLAIN = ("User-Agent: x",)
SITE = "https://www.example.com/"


def jar_with(*cookies: str, url: str = SITE) -> CookieJar:
    jar = CookieJar()
    jar.learn(url, [f"Set-Cookie: {cookie}".encode("latin-1") for cookie in cookies], 0, NOW)
    return jar


def sent(jar: CookieJar, url: str = SITE, *, now_s: float = NOW, identity: int = 0) -> str:
    """What a request's Cookie line says; empty: it has none."""
    lines = jar.lines_for(url, domain_of_url(url), PLAIN, identity, now_s)
    assert lines[:1] == PLAIN
    assert len(lines) <= 2
    return lines[1].removeprefix("Cookie: ") if lines[1:] else ""


def test_a_cookie_goes_back_to_its_host_and_no_other() -> None:
    jar = jar_with("a=1")
    assert sent(jar) == "a=1"
    assert sent(jar, "http://www.example.com/deep/er?q") == "a=1"
    for other in ("example.com", "a.www.example.com", "example.org", "xwww.example.com"):
        assert sent(jar, f"https://{other}/") == ""


def test_a_cookie_for_the_domain_goes_to_all_its_hosts() -> None:
    jar = jar_with("a=1; Domain=.Example.com")
    for host in ("example.com", "www.example.com", "a.b.example.com"):
        assert sent(jar, f"https://{host}/") == "a=1"
    for host in ("badexample.com", "example.com.evil.test", "com"):
        assert sent(jar, f"https://{host}/") == ""


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        (SITE, "other.com"),
        (SITE, "a.www.example.com"),
        (SITE, "com"),
        (SITE, "xample.com"),
        ("https://a.github.io/", "github.io"),
        ("https://shop.example.co.uk/", "co.uk"),
        ("https://a.b.test/", "test"),
        ("http://127.0.0.1/", "0.0.1"),
        ("http://[::1]/", "::1"),
        ("http://box/", "x"),
    ],
)
def test_nobody_sets_cookies_for_others(url: str, domain: str) -> None:
    assert len(jar_with(f"a=1; Domain={domain}", url=url)) == 0


@pytest.mark.parametrize("url", ["https://github.io/", "http://127.0.0.1/", "http://box/"])
def test_a_host_that_is_its_own_domain_may_name_itself(url: str) -> None:
    host = url.split("/")[2]
    jar = jar_with(f"a=1; Domain={host}", url=url)
    assert sent(jar, url) == "a=1"
    assert sent(jar, url.replace("//", "//a.")) == ""


def test_secure_cookies_stay_on_secure_ways() -> None:
    jar = jar_with("a=1; Secure", "b=2")
    assert sent(jar) == "a=1; b=2"
    assert sent(jar, "http://www.example.com/") == "b=2"
    assert len(jar_with("a=1; Secure", url="http://www.example.com/")) == 0


def test_an_open_way_cannot_replace_a_secure_cookie() -> None:
    jar = jar_with("a=1; Secure")
    jar.learn("http://www.example.com/", [b"Set-Cookie: a=evil; Path=/"], 0, NOW)
    jar.learn("http://www.example.com/", [b"Set-Cookie: a=evil; Domain=example.com"], 0, NOW)
    assert sent(jar) == "a=1"


@pytest.mark.parametrize(
    ("cookie", "kept"),
    [
        ("__Secure-a=1; Secure", True),
        ("__Secure-a=1", False),
        ("__secure-a=1", False),
        ("__Host-a=1; Secure; Path=/", True),
        ("__Host-a=1; Secure", False),
        ("__Host-a=1; Secure; Path=/; Domain=www.example.com", False),
        ("__HOST-a=1; Path=/", False),
        ("=__Host-a=1", False),
        ("__Host-a", False),
    ],
)
def test_prefixes_of_names_are_promises(cookie: str, kept: bool) -> None:
    assert len(jar_with(cookie)) == kept


@pytest.mark.parametrize(
    ("cookie", "path", "gets"),
    [
        ("a=1; Path=/x", "/x", True),
        ("a=1; Path=/x", "/x/", True),
        ("a=1; Path=/x", "/x/y?z", True),
        ("a=1; Path=/x", "/x?y", True),
        ("a=1; Path=/x", "/xy", False),
        ("a=1; Path=/x", "/", False),
        ("a=1; Path=/x/", "/x", False),
        ("a=1; Path=/x?y", "/x?y", False),
        ("a=1; Path=nonsense", "/docs/other", True),
        ("a=1", "/docs/other", True),
        ("a=1", "/docs", True),
        ("a=1", "/", False),
    ],
)
def test_paths(cookie: str, path: str, gets: bool) -> None:
    jar = jar_with(cookie, url="https://www.example.com/docs/page?q=/a/b")
    assert bool(sent(jar, f"https://www.example.com{path}")) is gets


def test_longer_paths_come_first() -> None:
    jar = jar_with("a=1; Path=/", "b=2; Path=/x/y", "c=3; Path=/x")
    assert sent(jar, "https://www.example.com/x/y/z") == "b=2; c=3; a=1"


@pytest.mark.parametrize(
    ("cookie", "lives_s"),
    [
        ("a=1; Max-Age=100", 100),
        ("a=1; Max-Age=100; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 100),
        ("a=1; Max-Age=0", 0),
        ("a=1; Max-Age=-5", 0),
        ("a=1; Expires=Tue, 14 Nov 2023 22:15:00 GMT", 100),
        ("a=1; Expires=Tuesday, 14-Nov-23 22:15:00 GMT", 100),
        ("a=1; Expires=Tue Nov 14 22:15:00 2023", 100),
        ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("a=1; Max-Age=99999999999999999999", 400 * 86_400),
        ("a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT", 400 * 86_400),
    ],
)
def test_life_times(cookie: str, lives_s: float) -> None:
    jar = jar_with(cookie)
    assert len(jar) == (lives_s > 0)
    assert bool(sent(jar, now_s=NOW + lives_s - 1)) is (lives_s > 0)
    assert sent(jar, now_s=NOW + lives_s + 1) == ""


@pytest.mark.parametrize("age", ["Max-Age=", "Max-Age=x", "Expires=soon", "Expires=", "Max-Age=²"])
def test_a_life_time_that_says_nothing_is_that_of_the_run(age: str) -> None:
    assert sent(jar_with(f"a=1; {age}"), now_s=NOW + 10 * 365 * 86_400) == "a=1"


def test_what_is_set_again_is_replaced_and_what_has_ended_is_gone() -> None:
    jar = jar_with("a=1", "b=2", "a=3")
    assert sent(jar) == "b=2; a=3"
    jar.learn(SITE, [b"set-cookie: a=; Max-Age=0", b"SET-COOKIE: c=4"], 0, NOW)
    assert sent(jar) == "b=2; c=4"
    assert len(jar) == 2


@pytest.mark.parametrize("cookie", ["", ";", "=", " ; Path=/", "a=\x01", "a=\x7f", "n" * 5000])
def test_what_is_no_cookie_is_ignored(cookie: str) -> None:
    assert parse_cookie(cookie, SITE, NOW) is None


def test_nameless_and_odd_cookies_go_back_as_they_came() -> None:
    assert sent(jar_with("only", 'q="x y"; HttpOnly; SameSite=Strict', "u=\xfc=1")) == (
        'only; q="x y"; u=\xfc=1'
    )


def test_a_new_identity_starts_anew() -> None:
    jar = jar_with("a=1")
    assert sent(jar, identity=1) == ""
    assert len(jar) == 0
    jar.learn(SITE, [b"Set-Cookie: a=2"], 1, NOW)
    jar.learn("https://other.test/", [b"Set-Cookie: o=1"], 0, NOW)
    assert sent(jar, identity=1) == "a=2"
    assert sent(jar, "https://other.test/") == "o=1"


def test_the_jar_is_bounded() -> None:
    jar = jar_with(*(f"c{number}=1" for number in range(200)))
    assert len(jar) == MAX_PER_DOMAIN
    assert sent(jar).startswith("c150=1; ")
    for number in range(200):
        url = f"https://site{number}.test/"
        jar.learn(url, [b"Set-Cookie: a%d=1" % name for name in range(60)], 0, NOW)
    assert MAX_IN_ALL - MAX_PER_DOMAIN < len(jar) <= MAX_IN_ALL
    assert sent(jar, "https://site199.test/")
    assert sent(jar) == ""


def test_cookies_of_the_operator_give_way_to_what_the_site_makes_of_them() -> None:
    jar = jar_with("session=new", "more=1")
    lines = ("User-Agent: x", "Cookie: session=old; mine=1", "X-Y: z")
    made = jar.lines_for(SITE, "example.com", lines, 0, NOW)
    assert made == ("User-Agent: x", "X-Y: z", "Cookie: mine=1; session=new; more=1")
    assert jar.lines_for(SITE, "example.com", lines, 0, NOW) is made


URLS = st.builds(
    lambda scheme, host, path: normalize(f"{scheme}://{host}/{path}"),
    st.sampled_from(["http", "https"]),
    st.sampled_from(
        [
            *("example.com", "www.example.com", "a.www.example.com", "example.org"),
            *("a.github.io", "b.github.io", "github.io", "co.uk", "a.co.uk"),
            *("127.0.0.1", "box", "evil.test"),
        ]
    ),
    st.sampled_from(["", "a", "a/", "a/b?c=/d"]),
)
ATTRIBUTES = st.lists(
    st.sampled_from(
        [
            *("Secure", "Path=/", "Path=/a", "Path", "Max-Age=10", "Max-Age=0", "Domain="),
            *("Domain=example.com", "Domain=www.example.com", "Domain=.com"),
            *("Domain=github.io", "Domain=co.uk"),
        ]
    )
)


@given(st.lists(st.tuples(URLS, ATTRIBUTES), max_size=20), URLS)
def test_no_cookie_ever_leaves_its_domain_or_a_secure_way(
    said: list[tuple[str, list[str]]], asked: str
) -> None:
    jar = CookieJar()
    for number, (url, attributes) in enumerate(said):
        cookie = "; ".join([f"c{number}={number}", *attributes])
        jar.learn(url, [f"Set-Cookie: {cookie}".encode()], 0, NOW)
    for pair in filter(None, sent(jar, asked).split("; ")):
        url, attributes = said[int(pair.partition("=")[2])]
        assert domain_of_url(url) == domain_of_url(asked)
        assert "Secure" not in attributes or (url[:5], asked[:5]) == ("https", "https")


@given(st.lists(st.binary()), URLS)
def test_any_header_is_survived(values: list[bytes], url: str) -> None:
    jar = CookieJar()
    jar.learn(url, [b"Set-Cookie:" + value for value in values], 0, NOW)
    assert not set(sent(jar, url)) & set("\r\n\0")
    assert len(jar) <= len(values)


@given(st.text(st.characters(max_codepoint=255)), st.text(st.characters(max_codepoint=255)))
def test_any_date_and_age_is_survived(date: str, age: str) -> None:
    parse_cookie(f"a=1; Expires={date}; Max-Age={age}", SITE, NOW)
