"""Proxies: how they are written, which one a domain gets, which ones rest. Pure.

A domain keeps its proxy, so that a site sees one visitor and not a crowd; only after a block, or
while that proxy rests, does it get the next one. A proxy rests after a few failures in a row, each
time for longer, and then one request is its probe. Nothing ever goes around the proxies.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from skitter.config.secrets import masked
from skitter.errors import ConfigError

__all__ = ["Proxy", "ProxyPool", "ProxyRests", "parse_proxy", "read_proxies"]

_SCHEMES = ("http", "https", "socks5", "socks5h")
_ADVICE = "write it as http://host:port, with https, socks5 or socks5h for http if need be"
#: No URL has these; a password may, percent-encoded,
_UNPRINTABLE = re.compile(r"[^\x21-\x7e]")
#: but for these.
_BREAKS = re.compile(r"[\x00\r\n]")


class Proxy(Struct, frozen=True, kw_only=True):
    """One proxy. Its credentials are in no text that is made of it."""

    scheme: str
    #: A name or an address; IPv6 in brackets.
    host: str
    port: int
    username: str = ""
    password: str = ""

    @property
    def url(self) -> str:
        """Where it is, without credentials."""
        return f"{self.scheme}://{self.place}"

    @property
    def place(self) -> str:
        """`host:port`."""
        return f"{self.host}:{self.port}"

    @property
    def resolves(self) -> bool:
        """Whether it is given names and not addresses."""
        return self.scheme != "socks5"

    def __repr__(self) -> str:
        return f"Proxy({self.url})"


def parse_proxy(text: str, place: str) -> Proxy:
    """A proxy as somebody wrote it; `place` is where, for the message."""
    if _UNPRINTABLE.search(text):
        raise ConfigError(f"{place}: blanks and characters beyond ASCII must be percent-encoded")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ConfigError(f"{place}: {_shown(text)} is not a proxy: {_ADVICE}") from None
    username, password = unquote(parts.username or ""), unquote(parts.password or "")
    if _BREAKS.search(username + password):
        raise ConfigError(f"{place}: line breaks and zero bytes are no part of a password")
    rest = parts.path.strip("/") + parts.query + parts.fragment
    if parts.scheme not in _SCHEMES or not parts.hostname or not port or rest:
        raise ConfigError(f"{place}: {_shown(text)} is not a proxy: {_ADVICE}")
    return Proxy(
        scheme=parts.scheme,
        host=f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname,
        port=port,
        username=username,
        password=password,
    )


def read_proxies(urls: Iterable[str], file: str, place: str) -> tuple[Proxy, ...]:
    """The proxies of `proxy.urls` and `proxy.file`, each once; `place` is where the URLs stood."""
    proxies = [parse_proxy(url, place) for url in urls]
    if file:
        proxies += _of_lines(Path(file))
    return tuple(dict.fromkeys(proxies))


def _of_lines(path: Path) -> list[Proxy]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ConfigError(f"proxy.file: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"proxy.file: {path} is not a text file in UTF-8") from None
    proxies = [
        parse_proxy(text, f"{path}, line {number}")
        for number, line in enumerate(lines, 1)
        if (text := line.strip()) and not text.startswith("#")
    ]
    if not proxies:
        raise ConfigError(f"proxy.file: {path} has no proxy in it: write one on each line")
    return proxies


def _shown(text: str) -> str:
    return repr(masked(text)[:200])


class ProxyRests(Struct, frozen=True, kw_only=True):
    """When a proxy is left alone, and for how long."""

    #: Failures in a row.
    max_failures: int = 3
    #: The first rest; each further one is twice as long,
    rest_s: float = 10.0
    #: up to this.
    max_rest_s: float = 600.0


class _Health:
    """Failures in a row, then rests in a row; a success forgets both."""

    __slots__ = ("failures", "probing", "rests", "until")

    def __init__(self) -> None:
        self.failures = 0
        #: 0: it works, as far as anybody knows.
        self.rests = 0
        #: While it rests: nobody asks it before this time.
        self.until = 0.0
        self.probing = False


class ProxyPool:
    """Which proxy a request takes. Times are monotonic and passed in."""

    def __init__(self, proxies: Sequence[Proxy], rests: ProxyRests) -> None:
        self._proxies = tuple(proxies)
        self._rests = rests
        self._health = {proxy: _Health() for proxy in proxies}
        #: Whether all of them are given names and not addresses.
        self.resolves = all(proxy.resolves for proxy in proxies)

    def choose(self, domain: str, identity: int, now: float) -> Proxy | None:
        """The domain's proxy, or the next one that works; None: all of them rest.

        A proxy whose rest is over is given out once: that request is the probe.
        """
        count = len(self._proxies)
        first = xxh3_64_intdigest(domain.encode()) + identity
        for step in range(count):
            proxy = self._proxies[(first + step) % count]
            health = self._health[proxy]
            if not health.rests:
                return proxy
            if now >= health.until:
                health.probing, health.until = True, now + self._rest_s(health)
                return proxy
        return None

    def record(self, proxy: Proxy, *, ok: bool, now: float) -> None:
        """What became of a request: `ok` if the proxy did its part, whatever the site did."""
        health = self._health[proxy]
        if ok:
            health.failures = health.rests = 0
            health.probing = False
            return
        health.failures += 1
        if health.rests and not health.probing:
            return  # it began before the rest and is no news
        if health.rests or health.failures >= self._rests.max_failures:
            health.probing = False
            health.rests += 1
            health.until = now + self._rest_s(health)

    def wait_s(self, now: float) -> float:
        """Seconds until a proxy may be asked; 0: one may be asked now."""
        waits = (h.until - now if h.rests else 0.0 for h in self._health.values())
        return max(0.0, min(waits))

    def _rest_s(self, health: _Health) -> float:
        doublings = min(health.rests - 1, 32)
        return min(self._rests.rest_s * 2.0**doublings, self._rests.max_rest_s)
