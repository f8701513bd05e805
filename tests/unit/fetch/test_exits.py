"""Fetching through real proxies: every kind, with a login, broken, and for forbidden targets."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from support.certificates import certificate, server_context
from support.fetching import FORBIDDEN, SITE, TurnableClock, fetch_of, fetcher
from support.nameserver import name_server
from support.origin import canary, origin, page, reply
from support.proxies import HttpProxy, Proxy, SocksProxy, dead_port

from skitter.fetch.base import fetch_once
from skitter.fetch.curl import CurlOptions
from skitter.models import ErrorCode

SCHEMES = ("http", "socks5", "socks5h")


def proxy_of(scheme: str, **more: object) -> Proxy:
    kind = HttpProxy if scheme == "http" else SocksProxy
    made: Proxy = kind(**more)  # type: ignore[arg-type]
    made.url = made.url.replace("socks5:", f"{scheme}:")
    return made


@pytest.mark.parametrize("login", [None, ("someone", "p:/w@rd-\u00fc")])
@pytest.mark.parametrize("scheme", SCHEMES)
async def test_requests_go_through_the_proxy(scheme: str, login: tuple[str, str] | None) -> None:
    hosts = {"a.test": SITE}
    with (
        proxy_of(scheme, login=login, hosts=hosts) as proxy,
        origin({"/": page(), "/b": page()}, SITE) as server,
        name_server({"a.test": [SITE]}) as names,
    ):
        who = "someone:p%3A%2Fw%40rd-%C3%BC@" if login else ""
        url = f"{proxy.url.partition(':')[0]}://{who}{proxy.place}"
        async with fetcher(names.place, proxies=(url,)) as curl:
            for path in ("/", "/b"):
                fetch = fetch_of(f"http://a.test:{server.port}{path}", headers=("Cookie: a=b",))
                result = await fetch_once(curl, fetch)
                assert (result.status_code, result.error) == (200, None)
                # The address on the other end of our connection is the proxy's.
                assert result.server_ip is None
    expected = SITE if scheme == "socks5" else "a.test"
    assert set(proxy.targets) == {f"{expected}:{server.port}"}
    assert proxy.refused == 0
    assert server.paths() == ["/", "/b"]
    for asked in server.asked:
        assert asked.headers["cookie"] == "a=b"
        assert "proxy-authorization" not in asked.headers


@pytest.mark.needs("openssl")
@pytest.mark.parametrize("scheme", [*SCHEMES, "https"])
async def test_tls_reaches_from_us_to_the_site(tmp_path: Path, scheme: str) -> None:
    path = certificate(tmp_path, "DNS:a.test,IP:127.0.0.1")
    context = server_context(path)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply(b"secret", Connection="close"))
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        ended.set()

    ended = asyncio.Event()
    server = await asyncio.start_server(serve, SITE, 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    kind = HttpProxy if scheme.startswith("http") else SocksProxy
    tls = context if scheme == "https" else None
    with kind(hosts={"a.test": SITE}, tls=tls) as proxy:
        async with (
            server,
            fetcher(
                options=CurlOptions(ca_file=str(path)),
                overrides={("a.test", port): (SITE,)},
                proxies=(f"{scheme}://{proxy.place}",),
            ) as curl,
        ):
            fetch = fetch_of(f"https://a.test:{port}/", headers=("Authorization: Bearer x",))
            result = await fetch_once(curl, fetch)
        await ended.wait()
    assert (result.status_code, result.body) == (200, b"secret")
    assert result.head[0].endswith(b"200 OK")
    assert not any(b"Go Ahead" in line or b"X-Proxy" in line for line in result.head)
    for head in proxy.heads:
        assert head.startswith(b"CONNECT ")
        assert b"Bearer" not in head
        assert b"User-Agent" not in head


@pytest.mark.parametrize("resolves_names", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
async def test_forbidden_targets_are_not_even_named_to_a_proxy(
    scheme: str, resolves_names: bool
) -> None:
    zone = {"inside.test": [FORBIDDEN]}
    with canary(FORBIDDEN) as (port, touched), proxy_of(scheme) as proxy:
        with name_server(dict(zone)) as names:
            async with fetcher(
                names.place, proxies=(proxy.url,), resolves_names=resolves_names
            ) as curl:
                for host in (FORBIDDEN, "inside.test", f"[::ffff:{FORBIDDEN}]", "localhost"):
                    for place in (f"http://{host}:{port}/", f"https://{host}:{port}/"):
                        result = await fetch_once(curl, fetch_of(place))
                        assert (result.forbidden, result.by_proxy) == (True, False), host
                # The proxy itself may be anywhere, but a link to it is like any other.
                result = await fetch_once(curl, fetch_of(f"http://{proxy.place}/"))
                assert result.forbidden
        assert not touched()
    assert proxy.targets == []


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
async def test_names_that_nobody_here_knows_are_for_the_proxy_only_if_it_is_trusted(
    scheme: str,
) -> None:
    with (
        proxy_of(scheme, hosts={"only-there.test": SITE}) as proxy,
        origin({"/": page()}, SITE) as server,
        name_server({}) as names,
    ):
        fetch = fetch_of(f"http://only-there.test:{server.port}/")
        async with fetcher(names.place, proxies=(proxy.url,)) as curl:
            result = await fetch_once(curl, fetch)
            assert (result.error, result.sent_at) == (ErrorCode.DNS, None)
            assert proxy.targets == []
        async with fetcher(names.place, proxies=(proxy.url,), resolves_names=True) as curl:
            assert (await fetch_once(curl, fetch)).status_code == 200


async def test_an_address_proxy_is_never_trusted_with_names() -> None:
    with proxy_of("socks5") as proxy, name_server({}) as names:
        async with fetcher(names.place, proxies=(proxy.url,), resolves_names=True) as curl:
            result = await fetch_once(curl, fetch_of("http://only-there.test/"))
    assert result.error is ErrorCode.DNS
    assert proxy.targets == []


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_wrong_credentials_are_the_proxys_failure_and_no_page(scheme: str) -> None:
    with proxy_of(scheme, login=("a", "right")) as proxy, origin({"/": page()}, SITE) as server:
        url = proxy.url.replace("right", "wrong")
        async with fetcher(proxies=(url,)) as curl:
            for place in (f"{server.url}/", f"https://{SITE}:{server.port}/"):
                result = await fetch_once(curl, fetch_of(place))
                assert (result.error, result.by_proxy) == (ErrorCode.CONNECT, True)
                assert (result.status_code, result.head, result.body) == (None, (), b"")
                assert result.detail.startswith(f"proxy {proxy.place}: ")
                assert "wrong" not in result.detail
    assert proxy.targets == []
    assert proxy.refused >= 2
    assert server.asked == []


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_with_no_proxy_left_nothing_goes_straight_and_the_rest_ends(scheme: str) -> None:
    clock = TurnableClock()
    with dead_port() as port, origin({"/": page()}, SITE) as server:
        proxies = (f"{scheme}://user:secret@127.0.0.1:{port}",)
        async with fetcher(proxies=proxies, clock=clock) as curl:
            details = []
            for _ in range(4):
                result = await fetch_once(curl, fetch_of(f"{server.url}/"))
                assert (result.error, result.by_proxy) == (ErrorCode.CONNECT, True)
                assert result.sent_at is None
                details.append(result.detail)
            first = f"proxy 127.0.0.1:{port}: it cannot be reached"
            assert details[:2] == [first, first]
            assert details[2].startswith("no proxy is reachable (the last was ")
            assert details[3] == "no proxy is reachable"
            assert result.retry_after_s == pytest.approx(10, abs=2)
            assert "secret" not in str(details)
            clock.ahead_s = 30.0
            # The probe tells, and the rest is longer.
            result = await fetch_once(curl, fetch_of(f"{server.url}/"))
            assert "it cannot be reached" in result.detail
            assert result.retry_after_s == pytest.approx(20, abs=2)
    assert server.asked == []


async def test_a_dead_proxy_is_passed_over_and_comes_back_when_it_lives() -> None:
    clock = TurnableClock()
    with HttpProxy() as first, HttpProxy() as second, origin({"/": page()}, SITE) as server:
        first.login = ("no", "body")
        async with fetcher(proxies=(first.url, second.url), clock=clock) as curl:
            fetches = [fetch_of(f"{server.url}/", identity=number) for number in range(2)]

            async def rounds() -> list[int | None]:
                return [(await fetch_once(curl, fetch)).status_code for fetch in fetches]

            for _ in range(3):
                assert sorted(map(str, await rounds())) == ["200", "None"]
            assert await rounds() == [200, 200]
            assert len(first.targets) == 0
            first.login = None
            assert await rounds() == [200, 200]
            assert len(first.targets) == 0
            clock.ahead_s = 11.0
            assert await rounds() == [200, 200]
            assert len(first.targets) == 1
    assert len(second.targets) == 3 + 2 + 2 + 1


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_a_dead_site_is_not_the_proxys_fault(scheme: str) -> None:
    with proxy_of(scheme) as proxy, dead_port(SITE) as port:
        async with fetcher(proxies=(proxy.url,)) as curl:
            for _ in range(5):
                result = await fetch_once(curl, fetch_of(f"https://{SITE}:{port}/"))
                assert (result.error, result.by_proxy) == (ErrorCode.CONNECT, False)
    assert len(proxy.targets) == 5


async def test_a_proxy_that_dies_on_the_way_ends_the_transfer_with_an_error() -> None:
    with HttpProxy() as proxy, origin({"/": page()}, SITE) as server:
        async with fetcher(proxies=(proxy.url,)) as curl:
            assert (await fetch_once(curl, fetch_of(f"{server.url}/"))).status_code == 200
            proxy.dying = True
            result = await fetch_once(curl, fetch_of(f"{server.url}/"))
            assert (result.error, result.status_code) == (ErrorCode.RESET, None)
            tunnel = await fetch_once(curl, fetch_of(f"https://{SITE}:{server.port}/"))
            assert (tunnel.by_proxy, tunnel.status_code) == (True, None)
    assert len(server.asked) == 1


async def test_a_proxy_may_have_a_name() -> None:
    zone = {"proxy.test": ["127.0.0.1"]}
    with (
        HttpProxy() as proxy,
        origin({"/": page()}, SITE) as server,
        name_server(dict(zone)) as names,
    ):
        url = f"http://proxy.test:{proxy.port}"
        async with fetcher(names.place, proxies=(url,)) as curl:
            assert (await fetch_once(curl, fetch_of(f"{server.url}/"))).status_code == 200
        async with fetcher(names.place, proxies=("http://gone.test:1",)) as curl:
            result = await fetch_once(curl, fetch_of(f"{server.url}/"))
    assert len(server.asked) == 1
    assert (result.by_proxy, result.detail) == (
        True,
        "proxy gone.test:1: cannot resolve it: no such name",
    )


async def test_a_silent_proxy_ends_by_the_deadline() -> None:
    with HttpProxy() as proxy, origin({"/": page()}, SITE) as server:
        proxy.mute = True
        async with fetcher(proxies=(proxy.url,)) as curl:
            for place in (f"{server.url}/", f"https://{SITE}:{server.port}/"):
                result = await fetch_once(curl, fetch_of(place, timeout_s=0.2))
                assert (result.error, result.by_proxy) == (ErrorCode.TIMEOUT, False)
    assert server.asked == []
