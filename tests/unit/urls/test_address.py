"""The address guard: the table of what an attacker may try."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.errors import ConfigError
from skitter.urls.address import AddressGuard, is_public, is_server, parse_networks
from skitter.urls.normalize import host_of, normalize

PUBLIC = ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "[2606:4700::1111]"]
OFF_LIMITS = {
    "loopback": ["127.0.0.1", "127.8.9.1", "::1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12::1"],
    "link-local": ["169.254.169.254", "fe80::1"],
    "shared": ["100.64.0.1", "100.127.255.255"],
    "assignments": ["192.0.0.1", "192.0.0.9", "192.0.0.170", "192.0.2.1", "198.18.0.1"],
    "documentation": ["198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    "multicast": ["224.0.0.1", "239.255.255.250", "ff02::1", "ff0e::1"],
    "reserved": ["240.0.0.1", "255.255.255.255"],
    "mapped": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:7f00:1"],
    "compatible": ["::127.0.0.1", "::8.8.8.8"],
    "nat64": ["64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::1"],
    "not handed out": ["5f00::1", "4000::1", "100::1", "e000::1"],
    "6to4": ["192.88.99.1", "2002:7f00:1::", "2002:808:808::1"],
    "teredo": ["2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    "site-local": ["fec0::1"],
    "zone": ["fe80::1%eth0", "2606:4700::1111%1"],
    "nonsense": ["", "localhost", "127.1", "0x7f.1", "1.2.3.4.5", "::g"],
}


@pytest.mark.parametrize("address", PUBLIC)
def test_the_public_internet_may_be_dialled(address: str) -> None:
    assert is_public(address)
    assert AddressGuard().permits("a.test", address)


@pytest.mark.parametrize("address", [a for addresses in OFF_LIMITS.values() for a in addresses])
def test_everything_else_is_off_limits(address: str) -> None:
    assert not is_public(address)
    assert not AddressGuard().permits("a.test", address)


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.0.1./",
        "http://①②⑦.⓪.⓪.①/",
        "http://\uff11\uff12\uff17.0.0.1/",
        "http://127。0。0。1/",
        "http://%31%32%37.0.0.1/",
        "http://good.test@127.0.0.1/",
        "http:\\\\127.0.0.1\\@good.test",
        "http://[::ffff:127.0.0.1]/",
        "http://[0:0:0:0:0:ffff:7f00:1]/",
    ],
)
def test_an_address_in_disguise_is_seen_through(url: str) -> None:
    host = host_of(normalize(url))
    assert host in {"127.0.0.1", "[::ffff:7f00:1]"}
    assert not AddressGuard().permits(host, host)


def test_an_allowed_network_opens_itself_and_nothing_more() -> None:
    networks = parse_networks(["127.0.1.0/24", "fd00::/8"], "security.allow_networks")
    guard = AddressGuard(allow_networks=networks)
    assert guard.permits("a.test", "127.0.1.9")
    assert guard.permits("a.test", "::ffff:127.0.1.9")
    assert guard.permits("a.test", "fd00::1")
    assert not guard.permits("a.test", "127.0.2.1")
    assert not guard.permits("a.test", "fc00::1")


def test_a_host_or_address_the_operator_typed_is_allowed() -> None:
    guard = AddressGuard(allow_hosts=["intranet"], allow_addresses=["10.0.0.7", "[::1]"])
    assert guard.permits("intranet", "10.0.0.1")
    assert not guard.permits("other", "10.0.0.1")
    assert guard.permits("other", "10.0.0.7")
    assert guard.permits("other", "::ffff:10.0.0.7")
    assert guard.permits("other", "::1")


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("192.0.2.1", True),
        ("192.0.2.1:5353", True),
        ("2001:db8::1", True),
        ("[2001:db8::1]", True),
        ("[2001:db8::1]:5353", True),
        ("::1", True),
        ("", False),
        ("ns.example.com", False),
        ("300.1.1.1", False),
        ("192.0.2.1:", False),
        ("192.0.2.1:99999", False),
        ("[192.0.2.1]:53", False),
        ("192.0.2.1:5353:1", False),
    ],
)
def test_a_name_server_is_an_address_and_maybe_a_port(text: str, good: bool) -> None:
    assert is_server(text) == good


def test_a_bad_network_is_named_with_its_setting() -> None:
    with pytest.raises(ConfigError, match=r"security\.allow_networks.*10\.0\.0\.0/99"):
        parse_networks(["10.0.0.0/99"], "security.allow_networks")


IPV4 = st.integers(0, 2**32 - 1).map(IPv4Address)
IPV6 = st.integers(0, 2**128 - 1).map(IPv6Address)
#: Where private addresses and those next to them are, which a plain integer hardly ever hits.
NEAR = st.sampled_from(
    [int(IPv4Address(a)) for a in ("10.0.0.0", "127.0.0.0", "169.254.0.0", "172.16.0.0")]
    + [int(IPv4Address(a)) for a in ("192.168.0.0", "100.64.0.0", "192.0.0.0", "224.0.0.0")]
)
ANY_IPV4 = IPV4 | st.builds(
    lambda base, by: IPv4Address((base + by) % 2**32), NEAR, st.integers(-300, 2**24)
)


@given(ANY_IPV4)
def test_a_mapped_address_is_judged_as_the_one_it_wraps(address: IPv4Address) -> None:
    assert is_public(f"::ffff:{address}") == is_public(str(address))


@given(ANY_IPV4, st.integers(0, 2**64 - 1))
def test_no_tunnel_leads_anywhere(address: IPv4Address, rest: int) -> None:
    number = int(address)
    wrapped = {
        "NAT64": int(IPv6Address("64:ff9b::")) | number,
        "local NAT64": int(IPv6Address("64:ff9b:1::")) | number,
        "6to4": 0x2002 << 112 | number << 80 | rest,
        "Teredo": 0x2001_0000 << 96 | rest << 32 | (number ^ 0xFFFFFFFF),
        "compatible": number,
    }
    assert [name for name, number in wrapped.items() if is_public(str(IPv6Address(number)))] == []


@given(IPV6)
def test_every_way_to_write_an_address_is_judged_alike(address: IPv6Address) -> None:
    spellings = (address.compressed, address.exploded, address.exploded.upper(), f"[{address}]")
    assert len({is_public(spelling) for spelling in spellings}) == 1


@given(IPV6)
def test_only_what_was_handed_out_is_public(address: IPv6Address) -> None:
    if is_public(str(address)) and address.ipv4_mapped is None:
        assert address in IPv6Network("2000::/3")
        assert address.is_global


@given(ANY_IPV4, ANY_IPV4, st.integers(8, 32))
def test_an_allowed_network_adds_itself_exactly(
    address: IPv4Address, base: IPv4Address, length: int
) -> None:
    network = IPv4Network((int(base), length), strict=False)
    permits = AddressGuard(allow_networks=[network]).permits("a.test", str(address))
    assert permits == (is_public(str(address)) or address in network)


@given(ANY_IPV4)
def test_numbers_in_urls_are_the_addresses_they_stand_for(address: IPv4Address) -> None:
    octets = address.packed
    spellings = (
        str(int(address)),
        hex(int(address)),
        f"0{int(address):o}",
        ".".join(f"0x{octet:x}" for octet in octets),
        ".".join(f"0{octet:o}" for octet in octets),
        f"{octets[0]}.{int.from_bytes(octets[1:])}",
        f"{octets[0]}.{octets[1]}.{int.from_bytes(octets[2:])}",
    )
    assert {host_of(normalize(f"http://{spelling}/")) for spelling in spellings} == {str(address)}
