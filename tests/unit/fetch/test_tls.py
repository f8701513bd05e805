"""TLS is verified: a certificate that nobody vouches for ends the fetch before it is sent."""

from pathlib import Path

import pytest
from support.certificates import certificate, server_context
from support.fetching import SITE, fetch_of, fetcher
from support.origin import Asked, Origin, reply

from skitter.fetch.base import FetchResult, fetch_once
from skitter.fetch.curl import CurlOptions
from skitter.models import ErrorCode

pytestmark = pytest.mark.needs("openssl")


async def get(path: Path, options: CurlOptions) -> tuple[FetchResult, list[Asked]]:
    """A page of a.test from a server with this certificate, and what that was asked."""
    with Origin({"/": reply("secret")}, SITE, tls=server_context(path)) as server:
        overrides = {("a.test", server.port): (SITE,)}
        async with fetcher(options=options, overrides=overrides) as curl:
            result = await fetch_once(curl, fetch_of(f"https://a.test:{server.port}/"))
    return result, server.asked


async def test_a_certificate_that_is_trusted_is_accepted(tmp_path: Path) -> None:
    path = certificate(tmp_path, "DNS:a.test")
    result, asked = await get(path, CurlOptions(ca_file=str(path)))
    assert (result.status_code, result.body, result.error) == (200, b"secret", None)
    assert len(asked) == 1


async def test_a_self_signed_certificate_is_refused_by_default(tmp_path: Path) -> None:
    result, asked = await get(certificate(tmp_path, "DNS:a.test"), CurlOptions())
    assert (result.error, result.status_code, result.sent_at) == (ErrorCode.TLS, None, None)
    assert "certificate" in result.detail
    assert asked == []


async def test_a_certificate_for_another_name_is_refused(tmp_path: Path) -> None:
    path = certificate(tmp_path, "DNS:b.test")
    result, asked = await get(path, CurlOptions(ca_file=str(path)))
    assert (result.error, result.sent_at) == (ErrorCode.TLS, None)
    assert asked == []
