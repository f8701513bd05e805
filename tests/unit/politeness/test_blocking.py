"""Challenges of the well-known walls are recognised; ordinary refusals are not."""

import pytest

from skitter.politeness.blocking import challenge

CLOUDFLARE_BODY = b"<title>Just a moment...</title><script src='/cdn-cgi/challenge-platform/x'>"


@pytest.mark.parametrize(
    ("status", "head", "body", "wall"),
    [
        (403, b"cf-mitigated: challenge", b"", "Cloudflare"),
        (403, b"CF-Mitigated: challenge", b"", "Cloudflare"),
        (503, b"Server: cloudflare", CLOUDFLARE_BODY, "Cloudflare"),
        (202, b"x-amzn-waf-action: challenge", b"", "AWS WAF"),
        (405, b"X-Amzn-Waf-Action: captcha", b"", "AWS WAF"),
        (403, b"Server: x", b'{"url":"https://geo.captcha-delivery.com/c"}', "DataDome"),
        (403, b"Server: x", b"<iframe src='/_Incapsula_Resource?a'>", "Imperva"),
        (403, b"Server: x", b"<div id='px-captcha'>", "HUMAN"),
        (429, b"Server: x", b"<script src='/_sec/cp_challenge/a.js'>", "Akamai"),
        (403, b"Server: Sucuri", b"<title>Sucuri WebSite Firewall", "Sucuri"),
    ],
)
def test_walls_are_known_by_their_marks(status: int, head: bytes, body: bytes, wall: str) -> None:
    assert challenge(status, [b"HTTP/1.1 x", head], body) == wall


@pytest.mark.parametrize(
    ("status", "head", "body"),
    [
        (403, b"Server: cloudflare", b"<title>403 Forbidden</title>"),
        (403, b"cf-ray: 1", b""),
        (200, b"Server: cloudflare", CLOUDFLARE_BODY),
        (404, b"Server: cloudflare", CLOUDFLARE_BODY),
        (200, b"Server: x", b"How px-captcha works"),
        (403, b"Server: x", b" " * 20_000 + b"px-captcha"),
        (429, b"Retry-After: 5", b"slow down"),
    ],
)
def test_what_is_no_challenge_is_not_taken_for_one(status: int, head: bytes, body: bytes) -> None:
    assert challenge(status, [b"HTTP/1.1 x", head], body) is None
