"""Lookups on a real name server: who is asked, how often, and what is made of the answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from support.fetching import TurnableClock, make_resolver
from support.nameserver import SERVFAIL, NameServer, name_server

from skitter.errors import ConfigError
from skitter.fetch.dns import Resolver, overrides_of
from skitter.fetch.names import Route
from skitter.fetch.pycares import CaresLookup
from skitter.urls.address import AddressGuard

PUBLIC, OTHER, SIX = "93.184.216.34", "8.8.8.8", "2606:4700::1111"


@asynccontextmanager
async def resolver(
    server: NameServer | None = None, clock: TurnableClock | None = None, timeout_s: float = 5.0
) -> AsyncIterator[Resolver]:
    servers = (server.place,) if server else ()
    made = make_resolver(AddressGuard(), clock or TurnableClock(), servers, timeout_s=timeout_s)
    try:
        yield made
    finally:
        made.close()


async def resolve(names: Resolver, host: str) -> Route:
    route = names.route(host, 80)
    if route is not None:
        return route
    found: asyncio.Future[Route] = asyncio.get_running_loop().create_future()
    names.find(host, found.set_result)
    return await found


async def test_one_lookup_however_many_wait() -> None:
    with name_server({"a.test": [PUBLIC]}, ttl_s=300) as server:
        async with resolver(server) as names:
            routes = await asyncio.gather(*(resolve(names, "a.test") for _ in range(100)))
            assert {route.addresses for route in routes} == {(PUBLIC,)}
            assert names.route("a.test", 443) is not None
    assert server.asked == {"a.test": 1}


async def test_many_names_are_asked_for_at_once() -> None:
    zone = {f"h{number}.test": [PUBLIC] for number in range(50)}
    with name_server(dict(zone)) as server:
        async with resolver(server, timeout_s=30.0) as names:
            routes = await asyncio.gather(*(resolve(names, host) for host in zone))
    assert all(route.addresses == (PUBLIC,) for route in routes)


async def test_both_families_are_asked_for() -> None:
    with name_server({"both.test": [PUBLIC, SIX], "six.test": [SIX]}) as server:
        async with resolver(server) as names:
            assert set((await resolve(names, "both.test")).addresses) == {PUBLIC, SIX}
            assert (await resolve(names, "six.test")).addresses == (SIX,)


async def test_an_expired_address_is_asked_for_again() -> None:
    clock = TurnableClock()
    with name_server({"a.test": [PUBLIC]}) as server:
        async with resolver(server, clock) as names:
            assert (await resolve(names, "a.test")).addresses == (PUBLIC,)
            server.zone["a.test"] = [OTHER]
            assert (await resolve(names, "a.test")).addresses == (PUBLIC,)
            clock.ahead_s = 60.0
            assert (await resolve(names, "a.test")).addresses == (OTHER,)
    assert server.asked["a.test"] == 2


async def test_what_went_wrong_is_told_apart() -> None:
    zone = {"fails.test": SERVFAIL, "silent.test": None, "empty.test": []}
    with name_server(dict(zone)) as server:
        async with resolver(server, timeout_s=0.3) as names:
            hosts = ("gone.test", "empty.test", "fails.test", "silent.test", "a..test")
            details = {host: (await resolve(names, host)).detail for host in hosts}
    assert details == {
        "gone.test": "no such name",
        "empty.test": "the name has no address",
        "fails.test": "the name servers failed (SERVFAIL)",
        "silent.test": details["silent.test"],
        "a..test": "not a host name",
    }
    assert "did not answer" in details["silent.test"]


async def test_localhost_and_hosts_of_the_system_need_no_name_server() -> None:
    async with resolver() as names:
        route = await resolve(names, "localhost")
    assert route.forbidden
    assert "127.0.0.1" in route.detail


async def test_while_name_servers_are_down_the_last_address_is_used() -> None:
    clock = TurnableClock()
    with name_server({"known.test": [PUBLIC]}) as server:
        async with resolver(server, clock, timeout_s=0.2) as names:
            await resolve(names, "known.test")
            server.silent = True
            clock.ahead_s = 60.0
            await asyncio.gather(*(resolve(names, f"h{number}.test") for number in range(20)))
            asked = sum(server.asked.values())
            known, unknown = names.route("known.test", 80), names.route("new.test", 80)
            assert known is not None
            assert known.addresses == (PUBLIC,)
            assert unknown is not None
            assert not unknown.addresses
            assert 0 < (unknown.retry_after_s or 0) <= 30
            assert sum(server.asked.values()) == asked

            server.silent = False
            server.zone["new.test"] = [OTHER]
            clock.ahead_s += 31.0
            assert (await resolve(names, "new.test")).addresses == (OTHER,)
            assert names.route("other.test", 80) is None


async def test_names_that_do_not_exist_are_answers_and_open_no_breaker() -> None:
    with name_server({}) as server:
        async with resolver(server) as names:
            await asyncio.gather(*(resolve(names, f"h{number}.test") for number in range(40)))
            assert names.route("new.test", 80) is None


async def test_nobody_is_told_after_an_abort() -> None:
    told: list[Route] = []
    with name_server({"a.test": [PUBLIC]}) as server:
        async with resolver(server) as names:
            names.find("a.test", told.append)
            names.abort()
            await resolve(names, "a.test")
    assert told == []


async def test_resolve_beats_name_servers_for_its_host_and_port() -> None:
    entries = {"a.test:80:8.8.8.8": (OTHER,), "*:81:8.8.8.8": (OTHER, SIX)}
    guard = AddressGuard(allow_addresses=[OTHER, SIX])
    names = make_resolver(guard, TurnableClock(), overrides=overrides_of(entries))
    try:
        found = {place: names.route(*place) for place in (("a.test", 80), ("b.test", 81))}
        assert {place: route.addresses for place, route in found.items() if route} == {
            ("a.test", 80): (OTHER,),
            ("b.test", 81): (OTHER, SIX),
        }
        assert names.route("a.test", 443) is None
        assert names.route("b.test", 80) is None
    finally:
        names.close()


async def test_a_bad_server_is_named_with_its_setting() -> None:
    with pytest.raises(ConfigError, match=r"dns\.servers: 300\.1\.1\.1"):
        CaresLookup(servers=["300.1.1.1"])
