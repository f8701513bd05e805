"""Proxies as people write them, which one a domain gets, and when one rests."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.errors import ConfigError
from skitter.fetch.proxies import Proxy, ProxyPool, ProxyRests, parse_proxy, read_proxies

RESTS = ProxyRests(max_failures=3, rest_s=10.0, max_rest_s=60.0)
DOMAINS = [f"d{number}.test" for number in range(200)]


def pool_of(count: int) -> tuple[ProxyPool, list[Proxy]]:
    proxies = [parse_proxy(f"http://p{number}.test:3128", "test") for number in range(count)]
    return ProxyPool(proxies, RESTS), proxies


def fail(pool: ProxyPool, proxy: Proxy, now: float, times: int = 3) -> None:
    for _ in range(times):
        pool.record(proxy, ok=False, now=now)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://p.test:3128", ("http", "p.test", 3128, "", "")),
        ("https://p.test:443/", ("https", "p.test", 443, "", "")),
        ("socks5://u:p@10.0.0.1:1080", ("socks5", "10.0.0.1", 1080, "u", "p")),
        ("socks5h://u%40x:p%3A%2F%20@[::1]:9", ("socks5h", "[::1]", 9, "u@x", "p:/ ")),
        ("HTTP://P.Test:8080", ("http", "p.test", 8080, "", "")),
    ],
)
def test_proxies_are_urls(text: str, expected: tuple[object, ...]) -> None:
    proxy = parse_proxy(text, "test")
    fields = (proxy.scheme, proxy.host, proxy.port, proxy.username, proxy.password)
    assert fields == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "p.test", "p.test:3128", "http://p.test", "http://:3128", "http://p.test:0"),
        *("http://p.test:99999", "http://p.test:x", "ftp://p.test:21", "http://p.test:1/path"),
        *("http://p.test:1?q", "http://[::1:1", "http://se cret:x@p.test:1", "direct"),
        *("http://user:se\ncret@p.test:1", "user:secret@p.test:3128", "http://u:secret@p.test"),
        *("http://u:secret%0D%0A@p.test:1", "http://secret%00@p.test:1"),
        *("http://u:sec/ret@p.test:1", "socks4://u:secret@p.test:1", "http://secret@://x@:1"),
    ],
)
def test_what_is_no_proxy_is_refused_and_shows_no_secret(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_proxy(text, "proxies.txt, line 7")
    message = str(caught.value)
    assert message.startswith("proxies.txt, line 7: ")
    assert "\n" not in message
    assert "secret" not in message
    assert "se" + "cret@" not in message


@given(st.text())
def test_any_text_is_a_proxy_or_refused(text: str) -> None:
    try:
        proxy = parse_proxy(text, "test")
    except ConfigError:
        return
    assert parse_proxy(proxy.url, "test").place == proxy.place


def test_no_text_made_of_a_proxy_has_its_credentials() -> None:
    proxy = parse_proxy("http://someone:secret@p.test:3128", "test")
    for text in (repr(proxy), str(proxy), f"{proxy}", proxy.url, proxy.place, repr([proxy])):
        assert "secret" not in text
        assert "someone" not in text


def test_a_file_has_one_on_each_line(tmp_path: Path) -> None:
    file = tmp_path / "proxies.txt"
    file.write_text("# ours\n\n  http://a.test:1  \nsocks5://b.test:2\nhttp://a.test:1\n")
    found = read_proxies(["http://c.test:3"], str(file), "proxy.urls")
    assert [proxy.url for proxy in found] == [
        *("http://c.test:3", "http://a.test:1", "socks5://b.test:2"),
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"http://a.test:1\nnonsense\n", "proxies.txt, line 2: 'nonsense' is not a proxy"),
        (b"# none\n", "has no proxy in it"),
        (b"\xff\xfe", "is not a text file"),
        (None, "cannot read"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, content: bytes | None, expected: str) -> None:
    file = tmp_path / "proxies.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=expected):
        read_proxies([], str(file), "proxy.urls")


@given(st.integers(1, 9), st.sampled_from(DOMAINS), st.integers(0, 50))
def test_a_domain_keeps_its_proxy_until_it_is_blocked(
    count: int, domain: str, identity: int
) -> None:
    pool, proxies = pool_of(count)
    chosen = [pool.choose(domain, identity, now) for now in (0.0, 1.0, 100.0)]
    assert len(set(chosen)) == 1
    others = {pool.choose(domain, identity + step, 0.0) for step in range(count)}
    assert others == set(proxies)


def test_domains_are_spread() -> None:
    pool, proxies = pool_of(4)
    counts = dict.fromkeys(proxies, 0)
    for domain in DOMAINS:
        counts[pool.choose(domain, 0, 0.0)] += 1
    assert min(counts.values()) > len(DOMAINS) / 8


def test_a_proxy_that_fails_in_a_row_rests_and_others_take_over() -> None:
    pool, proxies = pool_of(3)
    fail(pool, proxies[0], now=0.0, times=2)
    pool.record(proxies[0], ok=True, now=0.0)
    fail(pool, proxies[0], now=0.0, times=2)
    assert proxies[0] in {pool.choose(domain, 0, 0.0) for domain in DOMAINS}
    fail(pool, proxies[0], now=0.0, times=1)
    assert {pool.choose(domain, 0, 9.9) for domain in DOMAINS} == set(proxies[1:])
    assert pool.wait_s(0.0) == 0.0


def test_after_its_rest_a_proxy_gets_one_probe() -> None:
    pool, proxies = pool_of(2)
    fail(pool, proxies[0], now=0.0)
    chosen = [pool.choose(domain, 0, 10.0) for domain in DOMAINS]
    assert chosen.count(proxies[0]) == 1
    pool.record(proxies[0], ok=True, now=11.0)
    assert [pool.choose(domain, 0, 11.0) for domain in DOMAINS].count(proxies[0]) > 1


def test_rests_grow_up_to_a_limit() -> None:
    pool, (proxy,) = pool_of(1)
    fail(pool, proxy, now=0.0)
    now, rests = 0.0, []
    for _ in range(5):
        wait_s = pool.wait_s(now)
        rests.append(wait_s)
        assert pool.choose("d.test", 0, now + wait_s - 0.01) is None
        now += wait_s
        assert pool.choose("d.test", 0, now) == proxy
        fail(pool, proxy, now, times=1)
    assert rests == [10.0, 20.0, 40.0, 60.0, 60.0]


def test_failures_from_before_a_rest_do_not_make_it_longer() -> None:
    pool, (proxy,) = pool_of(1)
    fail(pool, proxy, now=0.0, times=50)
    assert pool.wait_s(0.0) == 10.0


def test_a_probe_that_is_never_heard_of_costs_another_rest_only() -> None:
    pool, (proxy,) = pool_of(1)
    fail(pool, proxy, now=0.0)
    assert pool.choose("d.test", 0, 10.0) == proxy
    assert pool.choose("d.test", 0, 10.0) is None
    assert pool.choose("d.test", 0, 20.0) == proxy
