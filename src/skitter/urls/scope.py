"""Which links belong to a crawl.

A link is followed when it is in the scope of any seed, some --allow pattern matches (if
there are any) and no --deny pattern does.
"""

from collections.abc import Iterable, Sequence

import re2

from skitter.errors import UsageError
from skitter.models import Scope
from skitter.urls.domain import domain_of
from skitter.urls.normalize import host_of, origin_of, path_of, port_of

__all__ = ["MAX_PATTERN_LENGTH", "LinkFilter", "ScopeRule", "compile_patterns"]

#: Longer patterns are refused when submitted.
MAX_PATTERN_LENGTH = 2_000

#: Origins remembered before the memo starts anew; a crawl of `any` scope meets millions.
_MEMO_ENTRIES = 65_536


class ScopeRule:
    """Whether a normalised URL is in scope of any seed; costs a slice and a dict look-up."""

    def __init__(self, scope: Scope, seeds: Iterable[str]) -> None:
        self._scope = scope
        self._keys: set[str] = set()
        self._prefixes: dict[str, tuple[str, ...]] = {}
        self._memo: dict[str, bool | tuple[str, ...]] = {}
        self._seeds = frozenset(seeds)
        for seed in self._seeds:
            self._learn(seed)

    def contains(self, url: str) -> bool:
        """True if a link to `url` belongs to the crawl."""
        if self._scope is Scope.ANY:
            return True
        if self._scope is Scope.PAGE:
            return url in self._seeds
        origin = origin_of(url)
        verdict = self._memo.get(origin)
        if verdict is None:
            verdict = self._judge(url, origin)
        if verdict is True or verdict is False:
            return verdict
        return url.startswith(verdict, len(origin))

    def _learn(self, seed: str) -> None:
        if self._scope is Scope.DOMAIN:
            self._keys.add(domain_of(host_of(seed)))
        elif self._scope is Scope.HOST:
            self._keys.add(_host_key(seed))
        elif self._scope is Scope.PREFIX:
            key = _host_key(seed)
            folder = path_of(seed).partition("?")[0].rpartition("/")[0] + "/"
            self._prefixes[key] = (*self._prefixes.get(key, ()), folder)

    def _judge(self, url: str, origin: str) -> bool | tuple[str, ...]:
        verdict: bool | tuple[str, ...]
        if self._scope is Scope.PREFIX:
            verdict = self._prefixes.get(_host_key(url), False)
        elif self._scope is Scope.DOMAIN:
            verdict = domain_of(host_of(url)) in self._keys
        else:
            verdict = _host_key(url) in self._keys
        if len(self._memo) >= _MEMO_ENTRIES:
            self._memo.clear()
        self._memo[origin] = verdict
        return verdict


class LinkFilter:
    """Scope and patterns together, for links and redirect targets (never for seeds)."""

    def __init__(self, rule: ScopeRule, allow: Sequence[str], deny: Sequence[str]) -> None:
        self.rule = rule
        self._allow = compile_patterns(allow, "--allow")
        self._deny = compile_patterns(deny, "--deny")

    def accepts(self, url: str) -> bool:
        """True if `url` is in scope and the patterns let it through; deny wins."""
        return self.rule.contains(url) and self.matches(url)

    def matches(self, url: str) -> bool:
        """The patterns alone: what a redirected seed, whose target joins the scope, must pass."""
        if any(pattern.search(url) for pattern in self._deny):
            return False
        return not self._allow or any(pattern.search(url) for pattern in self._allow)


def compile_patterns(patterns: Sequence[str], flag: str) -> list["re2._Regexp"]:
    """The patterns on RE2, which cannot be made to hang; a bad one is a `UsageError`."""
    options = re2.Options()
    options.log_errors = False
    compiled = []
    for pattern in patterns:
        if len(pattern) > MAX_PATTERN_LENGTH:
            message = f"{flag}: pattern longer than {MAX_PATTERN_LENGTH} characters"
            raise UsageError(message)
        try:
            compiled.append(re2.compile(pattern, options))
        except re2.error as error:
            reason = error.args[0] if error.args else "not a regular expression"
            reason = reason.decode() if isinstance(reason, bytes) else reason
            message = f"{flag} {pattern!r}: {reason} (RE2 syntax)"
            raise UsageError(message) from None
    return compiled


def _host_key(url: str) -> str:
    """Host and port, ports 80 and 443 alike."""
    port = port_of(url)
    return host_of(url) if port in (80, 443) else f"{host_of(url)}:{port}"
