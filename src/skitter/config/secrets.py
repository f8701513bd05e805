"""What must not be seen of a setting: passwords in URLs, and all before the `@` of a proxy."""

import re

__all__ = ["masked", "masked_setting"]

#: The password in `redis://user:password@host`.
_PASSWORD = re.compile(r"(?<=://)([^/@:]*):[^/@]*@")
#: Settings whose values are URLs and nothing else: there even a user may be a token.
_URLS = frozenset({"proxy.urls"})


def masked(url: str) -> str:
    """A URL, or what was meant as one, without anything that may be a secret."""
    scheme, slashes, rest = url.partition("://")
    if not slashes:
        scheme, rest = "", url
    secret, at, place = rest.rpartition("@")
    return f"{scheme}{slashes}{'***@' if secret and at else at}{place}"


def masked_setting(name: str, value: object) -> object:
    """The value of a setting as it may be shown; lists are masked one by one."""
    if isinstance(value, str):
        return masked(value) if name in _URLS else _PASSWORD.sub(r"\1:***@", value)
    if isinstance(value, list | tuple):
        return [masked_setting(name, each) for each in value]
    is_odd = name in _URLS and isinstance(value, dict)
    return "a table" if is_odd else value
