"""The politeness unit."""

import pytest
from publicsuffixlist import PublicSuffixList

from skitter.urls.domain import domain_of, domain_of_url


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.com", "example.com"),
        ("www.example.com", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("com", "com"),
        ("a.github.io", "a.github.io"),
        ("x.a.github.io", "a.github.io"),
        ("github.io", "github.io"),
        ("h1.sim.test", "sim.test"),
        ("sim.test", "sim.test"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("www.example.com.", "example.com"),
        ("www.xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("a.b.xn--55qx5d.cn", "b.xn--55qx5d.cn"),
        ("www.ck", "www.ck"),
        ("a.b.ck", "a.b.ck"),
    ],
)
def test_the_domain_of_a_host(host: str, domain: str) -> None:
    assert domain_of(host) == domain


def test_port_and_user_are_not_part_of_it() -> None:
    assert domain_of_url("http://u:p@www.example.com:8080/x") == "example.com"
    assert domain_of_url("http://[::1]:8080/") == "[::1]"


def test_every_rule_of_the_list_counts() -> None:
    whole = PublicSuffixList()
    for rule in whole._publicsuffix:
        for below in ("", "a.", "b.a."):
            host = below + rule.removeprefix("!").replace("*", "x")
            if host.isascii():
                assert domain_of(host) == (whole.privatesuffix(host) or host)
