"""Defaults, then `skitter.toml`, then the environment, then flags; the last one wins.

Every value is checked where it came from, so that a mistake is one line that names the place.
"""

import ipaddress
import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from skitter.config.advice import explain, unknown
from skitter.config.catalogue import DOMAINS, Setting, sections, settings_by_name
from skitter.config.manners import DomainManners
from skitter.config.secrets import masked_setting
from skitter.config.settings import Settings
from skitter.config.sources import Raw, find_file, from_environment, from_file
from skitter.errors import ConfigError, InvalidURLError
from skitter.urls.address import is_server
from skitter.urls.domain import domain_of_url
from skitter.urls.normalize import normalize

__all__ = ["DEFAULT", "Loaded", "load"]

#: The source of a value that nobody set.
DEFAULT = "default"


class Loaded(Struct, frozen=True, kw_only=True):
    """The settings and, for each dotted name, where its value came from."""

    settings: Settings
    sources: dict[str, str]
    #: The file that was read, if any.
    path: Path | None = None


def load(
    path: Path | None = None,
    flags: Mapping[str, object] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Loaded:
    """Read all sources. A flag whose value is None was not given.

    Raises ConfigError for the first thing that is wrong, and for a named file that is missing.
    """
    environment = os.environ if environment is None else environment
    file = find_file(path, environment, folder or Path())
    raws = [
        *(from_file(file) if file else ()),
        *from_environment(environment),
        *_from_flags(flags or {}),
    ]
    prefix = f"{DOMAINS}."
    of_domains = [raw for raw in raws if raw.name == DOMAINS or raw.name.startswith(prefix)]
    values, sources = _checked(raw for raw in raws if raw not in of_domains)
    built: dict[str, Any] = {
        section.name: section.type(**_of_section(section.name, values)) for section in sections()
    }
    domains = {raw.name.removeprefix(prefix): _manners(raw) for raw in of_domains if raw.value}
    sources |= {raw.name: raw.source for raw in of_domains if raw.value}
    settings = Settings(**built, domains=domains)
    _check_together(settings, sources)
    return Loaded(settings=settings, sources=sources, path=file)


def _manners(raw: Raw) -> DomainManners:
    """One `[domains."example.com"]`."""
    domain = raw.name.removeprefix(f"{DOMAINS}.")
    if raw.is_text or not isinstance(raw.value, dict):
        raise ConfigError(f'{raw.source}: a domain is a table in a file: [{DOMAINS}."{domain}"]')
    place = f'{raw.source}: [{DOMAINS}."{domain}"]'
    _check_domain(domain, place)
    try:
        own = msgspec.convert(raw.value, DomainManners)
        for value in raw.value.values():
            _refuse_non_finite(value)
    except msgspec.ValidationError as error:
        message = f"{place}: {explain(str(error), DomainManners)}"
        raise ConfigError(message) from error
    if own.delay_s is not None and own.hits is not None:
        raise ConfigError(f"{place}: delay_s and hits are two ways to say the same: choose one")
    return own


def _check_domain(name: str, place: str) -> None:
    """Rates are for whole domains, written as the crawl writes them."""
    try:
        domain = domain_of_url(normalize(f"http://{name}/"))
    except InvalidURLError as error:
        raise ConfigError(f"{place}: {name!r} is not a domain") from error
    if domain != name:
        raise ConfigError(f"{place}: rates are for whole domains: use {domain}")


def _from_flags(flags: Mapping[str, object]) -> list[Raw]:
    return [
        Raw(name=name, value=value, source="flag")
        for name, value in flags.items()
        if value is not None
    ]


def _checked(raws: Iterable[Raw]) -> tuple[dict[str, Any], dict[str, str]]:
    values: dict[str, Any] = {}
    sources = dict.fromkeys(settings_by_name(), DEFAULT)
    tables = {section.name for section in sections()}
    for raw in raws:
        if raw.value == {} and raw.name in tables:
            continue
        setting = settings_by_name().get(raw.name)
        if setting is None:
            raise ConfigError(unknown(raw))
        values[setting.name] = _convert(setting, raw)
        sources[setting.name] = raw.source
    return values, sources


def _of_section(section: str, values: Mapping[str, Any]) -> dict[str, Any]:
    prefix = f"{section}."
    return {
        name.removeprefix(prefix): value
        for name, value in values.items()
        if name.startswith(prefix)
    }


def _convert(setting: Setting, raw: Raw) -> object:
    value = raw.value
    if raw.is_text and isinstance(setting.default, tuple):
        value = _as_list(str(value))
    try:
        converted: object = msgspec.convert(value, setting.type, strict=not raw.is_text)
        _refuse_non_finite(converted)
    except msgspec.ValidationError as error:
        expected = explain(str(error), setting.type)
        shown = _shown(masked_setting(raw.name, raw.value))
        message = f"{raw.source}: {setting.name}: {expected} ({shown})"
        raise ConfigError(message) from error
    return converted


def _refuse_non_finite(value: object) -> None:
    """TOML and float() know nan and inf; bounds do not catch nan, and no timer takes inf."""
    for number in value if isinstance(value, tuple) else (value,):
        if isinstance(number, float) and not math.isfinite(number):
            message = "Expected a finite number"
            raise msgspec.ValidationError(message)


def _as_list(text: str) -> list[object]:
    """`a,b` or a JSON list."""
    if text.lstrip().startswith("["):
        try:
            parsed = json.loads(text)
        except ValueError:
            return [text]
        return list(parsed)
    return [part.strip() for part in text.split(",") if part.strip()]


def _shown(value: object) -> str:
    text = repr(value)
    limit = 60
    return text if len(text) <= limit else f"{text[:limit]}…"


def _check_together(settings: Settings, sources: Mapping[str, str]) -> None:
    """What one value alone cannot tell."""
    frontier, backoff = settings.frontier, settings.backoff
    if frontier.heartbeat_s >= frontier.lease_s:
        _refuse_pair(sources, "frontier.heartbeat_s", "must be less than", "frontier.lease_s")
    if backoff.first_s > backoff.max_s:
        _refuse_pair(sources, "backoff.first_s", "must not exceed", "backoff.max_s")
    for network in settings.security.allow_networks:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            message = f"{sources['security.allow_networks']}: security.allow_networks: {error}"
            raise ConfigError(message) from error
    for server in settings.dns.servers:
        if not is_server(server):
            message = f"{sources['dns.servers']}: dns.servers: {server!r} is not ADDRESS[:PORT]"
            raise ConfigError(message)
    for domain, own in settings.domains.items():
        if own.hits is None and not settings.politeness.hits and _shapes_hits(own):
            place = f'{sources[f"{DOMAINS}.{domain}"]}: [{DOMAINS}."{domain}"]'
            raise ConfigError(f"{place}: window_s, moderated, elastic and scale go with hits")
    ca_file = settings.fetch.ca_file.strip()
    if ca_file and not Path(ca_file).is_file():
        message = f"{sources['fetch.ca_file']}: fetch.ca_file: no such file"
        raise ConfigError(message)


def _shapes_hits(own: DomainManners) -> bool:
    return any(v is not None for v in (own.window_s, own.moderated, own.elastic, own.scale))


def _refuse_pair(sources: Mapping[str, str], name: str, rule: str, other: str) -> NoReturn:
    source = next((sources[key] for key in (name, other) if sources[key] != DEFAULT), DEFAULT)
    message = f"{source}: {name} {rule} {other}"
    raise ConfigError(message)
