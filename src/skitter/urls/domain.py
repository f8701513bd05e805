"""The politeness unit: the registered domain by the public suffix list."""

import ipaddress
from functools import cache, lru_cache
from pathlib import Path

from publicsuffixlist import PSLFILE, PublicSuffixList

from skitter.urls.normalize import host_of

__all__ = ["domain_of", "domain_of_url"]


@lru_cache(maxsize=65_536)
def domain_of(host: str) -> str:
    """The domain of a host; an address, a single label or a bare suffix is its own domain."""
    if host.startswith("["):
        return host
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        name = host.rstrip(".")
        top = _unicode(name.rpartition(".")[2])
        # Strangers may invent any number of names that the list does not have.
        suffixes = _suffixes(top if top in _rules() else "")
        return suffixes.privatesuffix(name) or name or host
    return host


def domain_of_url(url: str) -> str:
    """The domain of a normalised URL."""
    return domain_of(host_of(url))


@cache
def _suffixes(top: str) -> PublicSuffixList:
    """The rules under one top-level domain; `accept_unknown` is the list's default rule "*".

    Most crawls meet a few of them, and to read all takes longer than the rest of a start. Hosts
    are asked for in their ASCII form, so each rule is needed in that form alone.
    """
    rules = [_ascii(rule) for rule in _rules().get(top, ())]
    return PublicSuffixList(rules, accept_unknown=True, accept_encoded_idn=False)


@cache
def _rules() -> dict[str, list[str]]:
    """Top-level domain, as the list writes it -> its rules.

    With the private section, so a.github.io and b.github.io are two domains.
    """
    found: dict[str, list[str]] = {}
    for line in Path(PSLFILE).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("//"):
            rule = line.split(maxsplit=1)[0]
            found.setdefault(rule.rpartition(".")[2], []).append(rule)
    return found


def _unicode(label: str) -> str:
    try:
        return label.encode().decode("idna") if label.startswith("xn--") else label
    except UnicodeError:
        return label


def _ascii(rule: str) -> str:
    if rule.isascii():
        return rule
    bang = "!" if rule.startswith("!") else ""
    return bang + rule.removeprefix("!").encode("idna").decode()
