"""The fetcher on real sockets: where it goes, how often, and what it says of it."""

import asyncio
import os
import socket

import pytest
from support.fetching import FORBIDDEN, SITE, TurnableClock, fetch_of, fetcher
from support.nameserver import name_server
from support.origin import Asked, Origin, canary, origin, page, reply

from skitter.fetch.base import FetchResult, fetch_once
from skitter.models import ErrorCode


async def test_a_name_is_reached_at_the_address_that_was_checked() -> None:
    with name_server({"a.test": [SITE]}) as names, origin({"/": page()}, SITE) as server:
        async with fetcher(names.place) as curl:
            result = await fetch_once(curl, fetch_of(f"http://a.test:{server.port}/"))
    assert (result.status_code, result.server_ip) == (200, SITE)
    assert server.asked[0].host == "a.test"


async def test_rebinding_leads_nowhere() -> None:
    clock = TurnableClock()
    with canary(FORBIDDEN) as (port, touched), name_server({"a.test": [SITE]}) as names:
        listener = socket.create_server((SITE, port))
        with Origin({"/": reply(b"", Connection="close")}, SITE, listener=listener) as server:
            async with fetcher(names.place, clock=clock) as curl:
                fetch = fetch_of(f"http://a.test:{port}/")
                assert (await fetch_once(curl, fetch)).status_code == 200
                names.zone["a.test"] = [FORBIDDEN]
                # The answer is not even asked for while the first one lives,
                assert (await fetch_once(curl, fetch)).status_code == 200
                clock.ahead_s = 60.0
                # and then refused.
                result = await fetch_once(curl, fetch)
                assert (result.forbidden, result.status_code) == (True, None)
                assert result.sent_at is None
        assert len(server.asked) == 2
        assert not touched()


async def test_of_a_mixed_answer_only_the_allowed_address_is_dialled() -> None:
    with canary(FORBIDDEN) as (port, touched), name_server({"a.test": [FORBIDDEN, SITE]}) as names:
        async with fetcher(names.place) as curl:
            # Nobody listens at the allowed one: the other is no way out.
            result = await fetch_once(curl, fetch_of(f"http://a.test:{port}/"))
        assert not touched()
    assert (result.error, result.forbidden) == (ErrorCode.CONNECT, False)


@pytest.mark.parametrize("host", [FORBIDDEN, f"[::ffff:{FORBIDDEN}]", "[::1]", "localhost"])
async def test_addresses_outside_the_allowed_network_are_never_dialled(host: str) -> None:
    with canary(FORBIDDEN) as (port, touched):
        async with fetcher() as curl:
            result = await fetch_once(curl, fetch_of(f"http://{host}:{port}/"))
        assert not touched()
    assert result.forbidden


async def test_the_last_guard_holds_if_libcurl_asks_somebody_else() -> None:
    with canary(FORBIDDEN) as (port, touched):
        async with fetcher(overrides={("a.test", port): (SITE,)}) as curl:
            # A host of ours that is not the one in the URL: libcurl resolves for itself.
            fetch = fetch_of(f"http://{FORBIDDEN}:{port}/")
            result = await fetch_once(curl, type(fetch)(**_fields(fetch) | {"host": "a.test"}))
        assert not touched()
    assert result.forbidden


def _fields(fetch: object) -> dict[str, object]:
    return {name: getattr(fetch, name) for name in fetch.__struct_fields__}  # type: ignore[attr-defined]


async def test_several_addresses_are_tried_in_turn() -> None:
    zone = {"a.test": ["127.0.1.9", SITE]}
    with name_server(dict(zone), ttl_s=60) as names, origin({"/": page()}, SITE) as server:
        async with fetcher(names.place) as curl:
            fetch = fetch_of(f"http://a.test:{server.port}/")
            result = await fetch_once(curl, fetch)
            # The one that answered is the first to be tried next time.
            assert curl.server_ip(fetch) == SITE
    assert (result.status_code, result.server_ip) == (200, SITE)


async def test_a_name_that_does_not_exist_is_an_error_of_dns() -> None:
    with name_server({}) as names:
        async with fetcher(names.place) as curl:
            result = await fetch_once(curl, fetch_of("http://gone.test/"))
    assert (result.error, result.detail) == (
        ErrorCode.DNS,
        "cannot resolve gone.test: no such name",
    )


async def test_a_prepared_fetch_asks_nobody() -> None:
    with name_server({"a.test": [SITE]}, ttl_s=60) as names, origin({"/": page()}, SITE) as server:
        async with fetcher(names.place) as curl:
            fetch = fetch_of(f"http://a.test:{server.port}/")
            ready = asyncio.Event()
            assert not curl.prepare(fetch, ready.set)
            assert curl.server_ip(fetch) is None
            await ready.wait()
            assert curl.server_ip(fetch) == SITE
            assert curl.prepare(fetch, ready.clear)
            assert (await fetch_once(curl, fetch)).status_code == 200
            assert ready.is_set()
    assert names.asked == {"a.test": 1}


async def test_after_an_abort_nothing_is_sent_and_nobody_told() -> None:
    told: list[FetchResult] = []
    with name_server({"a.test": [SITE]}) as names, origin({"/": page()}, SITE) as server:
        async with fetcher(names.place) as curl:
            fetch = fetch_of(f"http://a.test:{server.port}/")
            forbidden = fetch_of(f"http://{FORBIDDEN}/")
            curl.start(fetch, told.append, lambda _at: None)
            curl.start(forbidden, told.append, lambda _at: None)
            curl.abort()
            assert (await fetch_once(curl, forbidden)).forbidden
            assert (await fetch_once(curl, fetch)).status_code == 200
    assert told == []
    assert len(server.asked) == 1


async def test_a_connection_that_is_reset_when_used_again_is_not_asked_twice() -> None:
    async def reset(_asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    sends: list[float] = []
    with origin({"/": page(), "/again": reset}, SITE) as server:
        async with fetcher() as curl:
            assert (await fetch_once(curl, fetch_of(f"{server.url}/"))).status_code == 200
            done: asyncio.Future[FetchResult] = asyncio.get_running_loop().create_future()
            curl.start(fetch_of(f"{server.url}/again"), done.set_result, sends.append)
            result = await done
    assert (result.error, result.status_code) == (ErrorCode.RESET, None)
    assert "closed a connection" in result.detail
    assert server.paths() == ["/", "/again"]
    assert sends == [result.sent_at]


async def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    with canary(FORBIDDEN) as (port, touched), origin({"/": page()}, SITE) as server:
        for name in ("http_proxy", "https_proxy", "all_proxy", "ALL_PROXY", "HTTPS_PROXY"):
            monkeypatch.setitem(os.environ, name, f"http://{FORBIDDEN}:{port}")
        async with fetcher() as curl:
            assert (await fetch_once(curl, fetch_of(f"{server.url}/"))).status_code == 200
            secure = f"https://{SITE}:1/"
            assert (await fetch_once(curl, fetch_of(secure))).error is ErrorCode.CONNECT
        assert not touched()


async def test_line_breaks_start_no_header_and_no_request() -> None:
    with origin({"/": page()}, SITE) as server:
        async with fetcher() as curl:
            headers = ("X-One: 1\r\nX-Two: 2\0",)
            result = await fetch_once(curl, fetch_of(f"{server.url}/", headers=headers))
            assert result.status_code == 200
            for trick in ("\r\nX-Two: 2", "\0", " HTTP/1.1\r\n\r\nGET /two", "\u20ac"):
                fetch = fetch_of(f"{server.url}/{trick}")
                assert (await fetch_once(curl, fetch)).error is ErrorCode.PROTOCOL
    assert len(server.asked) == 1
    assert server.asked[0].headers["x-one"] == "1  X-Two: 2"
    assert "x-two" not in server.asked[0].headers


async def test_ipv6_sites_are_reached() -> None:
    try:
        server = Origin({"/": page()}, "::1")
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
    with server, name_server({"six.test": ["::1"]}) as names:
        async with fetcher(names.place, allowed="::1/128") as curl:
            for host in ("six.test", "[::1]"):
                result = await fetch_once(curl, fetch_of(f"http://{host}:{server.port}/"))
                assert (result.status_code, result.server_ip) == (200, "::1")


async def test_what_may_not_be_sent_any_more_never_leaves() -> None:
    with origin({"/": page()}, SITE) as server:
        async with fetcher() as curl:
            fetch = fetch_of(f"http://{SITE}:{server.port}/")
            curl.may_send = lambda: False
            refused = await fetch_once(curl, fetch)
            curl.may_send = lambda: True
            sent = await fetch_once(curl, fetch)
    assert (refused.sent_at, refused.status_code) == (None, None)
    assert sent.sent_at is not None
    assert len(server.asked) == 1
