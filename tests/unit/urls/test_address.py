"""The address guard: the table of what an attacker may try."""

import pytest

from skitter.errors import ConfigError
from skitter.urls.address import AddressGuard, is_public, parse_networks
from skitter.urls.normalize import host_of, normalize

PUBLIC = ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "[2606:4700::1111]"]
OFF_LIMITS = {
    "loopback": ["127.0.0.1", "127.8.9.1", "::1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12::1"],
    "link-local": ["169.254.169.254", "fe80::1"],
    "shared": ["100.64.0.1", "100.127.255.255"],
    "assignments": ["192.0.0.1", "192.0.0.9", "192.0.0.170", "192.0.2.1", "198.18.0.1"],
    "documentation": ["198.51.100.1", "203.0.113.1", "2001:db8::1"],
    "multicast": ["224.0.0.1", "239.255.255.250", "ff02::1", "ff0e::1"],
    "reserved": ["240.0.0.1", "255.255.255.255"],
    "mapped": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:7f00:1"],
    "compatible": ["::127.0.0.1", "::8.8.8.8"],
    "nat64": ["64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::1"],
    "6to4": ["2002:7f00:1::", "2002:808:808::1"],
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


def test_a_bad_network_is_named_with_its_setting() -> None:
    with pytest.raises(ConfigError, match=r"security\.allow_networks.*10\.0\.0\.0/99"):
        parse_networks(["10.0.0.0/99"], "security.allow_networks")
