"""What is known about names, and for how long. Pure: the test turns the clock."""

from hypothesis import given
from hypothesis import strategies as st

from skitter.fetch.names import Answer, NameCache, NoAnswer, NoName
from skitter.urls.address import AddressGuard

PUBLIC = "93.184.216.34"
HOUR_S = 3_600.0


def cache(**options: float) -> NameCache:
    return NameCache(AddressGuard(), **options)  # type: ignore[arg-type]


def answer(*addresses: str, ttl_s: float = 300.0) -> Answer:
    return Answer(addresses=addresses, ttl_s=ttl_s)


@given(st.floats(min_value=0, max_value=1e6), st.floats(min_value=0, max_value=1e6))
def test_an_address_lives_as_long_as_its_ttl_within_bounds(ttl_s: float, later_s: float) -> None:
    names = cache()
    names.learn("a.test", answer(PUBLIC, ttl_s=ttl_s), 0.0)
    lives_s = min(max(ttl_s, 1.0), HOUR_S)
    assert (names.get("a.test", later_s) is not None) == (later_s < lives_s)


def test_a_name_that_does_not_exist_is_remembered_for_a_while() -> None:
    names = cache(negative_ttl_s=60.0)
    assert names.learn("a.test", NoName(detail="no such name"), 0.0).detail == "no such name"
    known = names.get("a.test", 59.0)
    assert known is not None
    assert (known.addresses, known.detail) == ((), "no such name")
    assert names.get("a.test", 60.0) is None


def test_silence_is_not_remembered_and_does_not_forget() -> None:
    names = cache()
    assert names.learn("a.test", NoAnswer(detail="silence"), 0.0).detail == "silence"
    assert names.get("a.test", 0.0) is None
    names.learn("a.test", answer(PUBLIC, ttl_s=10), 0.0)
    assert names.learn("a.test", NoAnswer(detail="silence"), 20.0).addresses == (PUBLIC,)
    assert names.get("a.test", 20.0) is not None


def test_an_old_address_stands_in_for_a_day_and_no_longer() -> None:
    names = cache()
    names.learn("a.test", answer(PUBLIC, ttl_s=10), 0.0)
    for now in (10.0, 5_000.0, 86_000.0):
        route = names.stand_in("a.test", now)
        assert route is not None
        assert route.addresses == (PUBLIC,)
    assert names.stand_in("a.test", 86_411.0) is None


def test_a_name_that_is_gone_has_no_stand_in() -> None:
    names = cache()
    names.learn("a.test", answer(PUBLIC, ttl_s=10), 0.0)
    names.learn("a.test", NoName(detail="no such name"), 20.0)
    assert names.learn("a.test", NoAnswer(detail="silence"), 100.0).addresses == ()


def test_of_a_mixed_answer_only_public_addresses_are_used() -> None:
    route = cache().learn("a.test", answer("10.0.0.1", PUBLIC, "::1", "64:ff9b::7f00:1"), 0.0)
    assert (route.addresses, route.forbidden) == ((PUBLIC,), False)


def test_a_name_with_private_addresses_only_is_off_limits() -> None:
    route = cache().learn("a.test", answer("10.0.0.1", "::ffff:127.0.0.1"), 0.0)
    assert (route.addresses, route.forbidden) == ((), True)
    assert "10.0.0.1" in route.detail


def test_an_address_needs_no_lookup_and_is_checked_too() -> None:
    names = cache()
    for host, addresses in (
        (PUBLIC, (PUBLIC,)),
        ("[2606:4700:0:0::1111]", ("2606:4700::1111",)),
        ("127.0.0.1", ()),
        ("[::1]", ()),
    ):
        route = names.get(host, 0.0)
        assert route is not None
        assert (route.addresses, route.forbidden) == (addresses, not addresses)
    assert names.get("a.test", 0.0) is None
    assert names.get("web1", 0.0) is None


def test_memory_is_bounded_and_the_oldest_go_first() -> None:
    names = cache(max_names=100)
    for number in range(1_000):
        names.learn(f"h{number}.test", answer(PUBLIC), 0.0)
    known = [number for number in range(1_000) if names.get(f"h{number}.test", 0.0)]
    assert known == list(range(900, 1_000))
