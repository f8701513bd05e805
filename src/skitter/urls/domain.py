"""The politeness unit: the registered domain by the public suffix list."""

import ipaddress
from functools import lru_cache

from publicsuffixlist import PublicSuffixList

from skitter.urls.normalize import host_of

__all__ = ["domain_of", "domain_of_url"]

# The private section is in, so a.github.io and b.github.io are two; `accept_unknown` is the
# list's default rule "*".
_LIST = PublicSuffixList(accept_unknown=True)


@lru_cache(maxsize=65_536)
def domain_of(host: str) -> str:
    """The domain of a host; an address, a single label or a bare suffix is its own domain."""
    if host.startswith("["):
        return host
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        name = host.rstrip(".")
        return _LIST.privatesuffix(name) or name or host
    return host


def domain_of_url(url: str) -> str:
    """The domain of a normalised URL."""
    return domain_of(host_of(url))
