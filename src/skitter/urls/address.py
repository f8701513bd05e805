"""Which addresses may be dialled. Private networks are off limits unless allowed.

`ipaddress.is_global` alone is not enough: it lets multicast and several translation ranges
through, behind which private IPv4 addresses hide.
"""

import ipaddress
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from skitter.errors import ConfigError

__all__ = ["AddressGuard", "is_public", "is_server", "parse_networks"]

Network = IPv4Network | IPv6Network

_REFUSED: tuple[Network, ...] = tuple(
    ipaddress.ip_network(network)
    for network in (
        "192.0.0.0/24",  # IETF protocol assignments
        "192.88.99.0/24",  # relays of 6to4
        "64:ff9b::/96",  # NAT64: wraps any IPv4 address
        "64:ff9b:1::/48",  # local NAT64
        "2002::/16",  # 6to4
        "2001::/32",  # Teredo
        "::/96",  # IPv4-compatible
        "fec0::/10",  # site-local
        "3fff::/20",  # documentation, younger than some standard libraries
    )
)
#: All of IPv6 that was ever handed out for the public internet.
_PUBLIC_IPV6 = IPv6Network("2000::/3")


def is_public(address: str) -> bool:
    """True if the address belongs to the public internet."""
    try:
        parsed = _parse(address)
    except ValueError:
        return False
    if not parsed.is_global or parsed.is_multicast:
        return False
    if isinstance(parsed, IPv6Address) and parsed not in _PUBLIC_IPV6:
        return False
    return not any(parsed in network for network in _REFUSED if network.version == parsed.version)


def is_server(text: str) -> bool:
    """True for an address, alone or with a port: `192.0.2.1:53`, `[2001:db8::1]:53`."""
    address, colon, port = text.rpartition(":")
    if not colon or (":" in address and not address.endswith("]")):
        address, port = text, "53"
    try:
        parsed = ipaddress.ip_address(address.strip("[]"))
    except ValueError:
        return False
    return port.isdecimal() and 0 < int(port) < 65_536 and (parsed.version == 6 or "[" not in text)


def parse_networks(networks: Iterable[str], setting: str) -> tuple[Network, ...]:
    """The networks of a setting; a bad one is a `ConfigError`."""
    parsed = []
    for network in networks:
        try:
            parsed.append(ipaddress.ip_network(network, strict=False))
        except ValueError as error:
            message = f"{setting}: {error}"
            raise ConfigError(message) from None
    return tuple(parsed)


class AddressGuard:
    """The last word before a socket is opened, on whether a host may be reached at an address."""

    def __init__(
        self,
        *,
        allow_networks: Iterable[Network] = (),
        allow_hosts: Iterable[str] = (),
        allow_addresses: Iterable[str] = (),
    ) -> None:
        self._networks = tuple(allow_networks)
        #: Hosts the operator typed; wherever they resolve to is what the operator asked for.
        self._hosts = frozenset(allow_hosts)
        self._addresses = frozenset(str(_parse(a)) for a in allow_addresses)

    def permits(self, host: str, address: str) -> bool:
        """True if connecting to `address` for `host` is allowed."""
        if host in self._hosts or is_public(address):
            return True
        try:
            parsed = _parse(address)
        except ValueError:
            return False
        return str(parsed) in self._addresses or any(
            parsed in network for network in self._networks if network.version == parsed.version
        )


def _parse(address: str) -> IPv4Address | IPv6Address:
    """The address, a mapped IPv4 one unwrapped, a zone index refused."""
    parsed = ipaddress.ip_address(address.strip("[]"))
    if isinstance(parsed, IPv6Address):
        if parsed.scope_id is not None:
            message = f"{address} has a zone index"
            raise ValueError(message)
        return parsed.ipv4_mapped or parsed
    return parsed
