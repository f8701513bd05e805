"""Cookies of one job (RFC 6265 and its revision), bounded, in memory.

By hand and not on `http.cookiejar`: that one knows neither public suffixes nor name prefixes nor
a bound, and asks for request and response objects that cost more than the whole of this. Cookies
are kept by domain, see `skitter.urls.domain`: whatever a site says, what it sets is never even
looked at for another domain. SameSite and HttpOnly are for browsers and are ignored.
"""

import re
from collections.abc import Iterable, Iterator
from email.utils import mktime_tz, parsedate_tz

from msgspec import Struct

from skitter.engine.identity import HeaderLines
from skitter.urls.domain import domain_of
from skitter.urls.normalize import host_of, path_of

__all__ = ["Cookie", "CookieJar", "parse_cookie", "with_cookies"]

MAX_PER_DOMAIN = 50
MAX_IN_ALL = 3_000
#: Name and value together; longer ones are refused.
_MAX_BYTES = 4_096
#: Longer attributes are ignored.
_MAX_ATTRIBUTE_BYTES = 1_024
#: No cookie lives longer.
_MAX_AGE_S = 400 * 86_400.0
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_MARK = b"set-cookie:"
#: What most lines do not begin with.
_INITIALS = tuple(b"sS")
_PREFIX = "Cookie: "


class Cookie(Struct, frozen=True, kw_only=True, gc=False):
    """One cookie, checked against the URL that set it."""

    name: str
    value: str
    host: str
    #: False: hosts below `host` get it too.
    host_only: bool
    path: str
    secure: bool
    #: Wall clock; None: until the run ends.
    expires_s: float | None

    def fits(self, host: str, path: str, *, secure: bool) -> bool:
        """Whether a request gets it."""
        if self.secure and not secure:
            return False
        if host != self.host and (self.host_only or not host.endswith("." + self.host)):
            return False
        own = self.path
        return path.startswith(own) and (own[-1] == "/" or path[len(own) :][:1] in {"", "/"})


class _Site:
    """The cookies of one domain; the one that was set last is last."""

    __slots__ = ("cookies", "identity", "lines", "made", "text")

    def __init__(self, identity: int) -> None:
        self.identity = identity
        self.cookies: dict[tuple[str, str, str], Cookie] = {}
        #: What was last made of which lines and which text.
        self.lines: HeaderLines = ()
        self.text = ""
        self.made: HeaderLines = ()


class CookieJar:
    """Takes what sites set, tells what they get back. `now_s` is the wall clock."""

    def __init__(self) -> None:
        self._sites: dict[str, _Site] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def learn(self, url: str, head: Iterable[bytes], identity: int, now_s: float) -> bool:
        """Take the cookies of a response to a normalised URL; True: there were some."""
        found = False
        for line in head:
            if line[0] in _INITIALS and line[:11].lower() == _MARK:
                found = True
                cookie = parse_cookie(line[11:].decode("latin-1"), url, now_s)
                if cookie is not None:
                    self._put(cookie, identity, now_s, secure=url.startswith("https:"))
        return found

    def lines_for(
        self, url: str, domain: str, lines: HeaderLines, identity: int, now_s: float
    ) -> HeaderLines:
        """Header lines with the cookies that a URL of that domain gets.

        A new identity starts without the cookies of the one before.
        """
        site = self._sites.get(domain)
        if site is None:
            return lines
        if site.identity != identity:
            self._drop_site(domain)
            return lines
        host, path, secure = host_of(url), _path(url), url.startswith("https:")
        fitting = [
            cookie
            for cookie in site.cookies.values()
            if (cookie.expires_s is None or cookie.expires_s > now_s)
            and cookie.fits(host, path, secure=secure)
        ]
        if not fitting:
            return lines
        fitting.sort(key=_path_length, reverse=True)
        text = "; ".join(_pair(cookie) for cookie in fitting)
        if lines is not site.lines or text != site.text:
            site.lines, site.text = lines, text
            site.made = with_cookies(lines, text, {cookie.name for cookie in fitting})
        return site.made

    def _put(self, cookie: Cookie, identity: int, now_s: float, *, secure: bool) -> None:
        domain = domain_of(cookie.host)
        site = self._sites.get(domain)
        if site is not None and site.identity != identity:
            self._drop_site(domain)
            site = None
        if site is None:
            site = self._sites[domain] = _Site(identity)
        cookies = site.cookies
        if not secure and any(old.secure and old.name == cookie.name for old in cookies.values()):
            return  # nothing that anybody on the way could have written replaces a secure one
        before = len(cookies)
        key = (cookie.name, cookie.host, cookie.path)
        cookies.pop(key, None)
        if cookie.expires_s is None or cookie.expires_s > now_s:
            cookies[key] = cookie
            _make_room(cookies, now_s)
        self._count += len(cookies) - before
        del self._sites[domain]
        if cookies:
            self._sites[domain] = site
        while self._count > MAX_IN_ALL:
            self._drop_site(next(iter(self._sites)))

    def _drop_site(self, domain: str) -> None:
        self._count -= len(self._sites.pop(domain).cookies)


def _make_room(cookies: dict[tuple[str, str, str], Cookie], now_s: float) -> None:
    """Those that have expired go first, then the oldest."""
    if len(cookies) <= MAX_PER_DOMAIN:
        return
    for key, cookie in list(cookies.items()):
        if cookie.expires_s is not None and cookie.expires_s <= now_s:
            del cookies[key]
    while len(cookies) > MAX_PER_DOMAIN:
        del cookies[next(iter(cookies))]


def parse_cookie(text: str, url: str, now_s: float) -> Cookie | None:
    """The cookie of a `Set-Cookie` value that came from a URL; None: it must be ignored."""
    pair, *attributes = text.split(";")
    name, equals, value = pair.partition("=")
    name, value = (name.strip(), value.strip()) if equals else ("", name.strip())
    if not (name or value) or len(name) + len(value) > _MAX_BYTES or _CONTROL.search(text):
        return None
    said = dict(_attributes(attributes))
    host, secure = host_of(url), "secure" in said
    cookie_host = said.get("domain", "").removeprefix(".").lower()
    path = said.get("path", "")
    path = path if path.startswith("/") else ""
    if secure and not url.startswith("https:"):
        return None
    if cookie_host and not _may_set(host, cookie_host):
        return None
    if not _keeps_prefix(name or value, path, secure=secure, has_domain=bool(cookie_host)):
        return None
    return Cookie(
        name=name,
        value=value,
        host=cookie_host or host,
        host_only=not cookie_host,
        path=path or _default_path(url),
        secure=secure,
        expires_s=_expiry(said.get("max-age", ""), said.get("expires", ""), now_s),
    )


def with_cookies(lines: HeaderLines, text: str, names: set[str]) -> HeaderLines:
    """Header lines with these cookies; of a Cookie line that is there, what is not named stays.

    So what the operator gave is what a session begins with, and what the site makes of it counts.
    """
    kept: list[str] = []
    own = ""
    for line in lines:
        if line[: len(_PREFIX)].title() == _PREFIX:
            given = (pair.strip() for pair in line[len(_PREFIX) :].split(";"))
            own = "; ".join(p for p in given if p and p.partition("=")[0].strip() not in names)
        else:
            kept.append(line)
    return (*kept, _PREFIX + (f"{own}; {text}" if own else text))


def _pair(cookie: Cookie) -> str:
    return f"{cookie.name}={cookie.value}" if cookie.name else cookie.value


def _attributes(parts: Iterable[str]) -> Iterator[tuple[str, str]]:
    for part in parts:
        key, _, said = part.partition("=")
        if len(said) <= _MAX_ATTRIBUTE_BYTES:
            yield key.strip().lower(), said.strip()


def _may_set(host: str, cookie_host: str) -> bool:
    """Itself and what is above it, down to its domain: never a public suffix, never a stranger."""
    if host == cookie_host:
        return True
    domain = domain_of(host)
    is_above = host.endswith("." + cookie_host) and host != domain
    return is_above and (cookie_host == domain or cookie_host.endswith("." + domain))


def _keeps_prefix(name: str, path: str, *, secure: bool, has_domain: bool) -> bool:
    lower = name.lower()
    if lower.startswith("__host-"):
        return secure and path == "/" and not has_domain
    return secure or not lower.startswith("__secure-")


def _default_path(url: str) -> str:
    """The folder of the URL's path."""
    path = _path(url)
    return path[: path.rindex("/")] or "/"


def _path(url: str) -> str:
    return path_of(url).partition("?")[0]


def _path_length(cookie: Cookie) -> int:
    return len(cookie.path)


def _expiry(max_age: str, expires: str, now_s: float) -> float | None:
    """When a cookie ends; None: it does not say. An age wins over a date."""
    digits = max_age.removeprefix("-")
    if digits.isascii() and digits.isdigit():
        age_s = 0.0 if max_age[0] == "-" else float(digits[:12])
        return now_s + min(age_s, _MAX_AGE_S)
    try:
        date = parsedate_tz(expires)
        return None if date is None else min(float(mktime_tz(date)), now_s + _MAX_AGE_S)
    except (ValueError, OverflowError):
        return None
