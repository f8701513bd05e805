"""From the flags of `skitter crawl` to everything a run needs to know, checked."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from skitter.cli.crawl_job import (
    CrawlJob,
    Resolve,
    check_header_value,
    make_job,
    parse_header,
    parse_resolve,
    read_seeds,
)
from skitter.cli.invocation import Invocation
from skitter.config.load import Loaded
from skitter.config.secrets import masked
from skitter.config.settings import Settings
from skitter.errors import ConfigError, UsageError
from skitter.fetch.proxies import Proxy, read_proxies
from skitter.frontier.rules import rules
from skitter.models import JobSpec, Scope
from skitter.outputs.base import OutputFile, parse_outputs

__all__ = ["Options", "read_options"]


class Options(Struct, frozen=True, kw_only=True):
    """Everything a run needs, checked."""

    job: CrawlJob
    settings: Settings
    resolve: tuple[Resolve, ...]
    proxies: tuple[Proxy, ...]
    max_pages: int | None
    priority: int | None
    workers: int
    data: Path
    outputs: tuple[OutputFile, ...]
    body: bool
    json: bool
    command: str

    @property
    def places(self) -> dict[str, Any]:
        """Where results go, as summaries name it."""
        return {"data": str(self.data), "outputs": [str(file.path) for file in self.outputs]}


def read_options(invocation: Invocation, flags: dict[str, Any]) -> Options:
    """The flags as a checked whole; nothing is fetched or written."""
    loaded = invocation.load(
        {
            "politeness.delay_s": flags["delay"],
            # A delay that is asked for here and now wins over hits that are configured.
            "politeness.hits": None if flags["delay"] is None else 0,
            "politeness.concurrency": flags["concurrency"],
            "retry.delays_s": flags["retries"],
            "fetch.concurrency": flags["concurrency"],
            "politeness.robots": flags["robots"],
            "robots.max_crawl_delay_s": flags["max_crawl_delay"],
            "limits.max_depth": flags["depth"],
            "fetch.cookies": None if flags["cookies"] is None else flags["cookies"] == "on",
            # Those that are asked for here and now stand in for all that are configured.
            "proxy.urls": flags["proxy"] or None,
            "proxy.file": "" if flags["proxy"] else None,
        }
    )
    settings = loaded.settings
    rules(settings)  # what is wrong with the tables of domains is said before anything happens
    spec = JobSpec(
        seeds=read_seeds(flags["urls"]),
        scope=Scope(flags["scope"]),
        depth=settings.limits.max_depth,
        allow=flags["allow"],
        deny=flags["deny"],
        robots=settings.politeness.robots,
        sitemaps=flags["sitemaps"],
        headers=tuple(parse_header(text) for text in flags["header"]),
        cookie=_checked(flags["cookie"], "--cookie"),
        user_agent=_checked(flags["user_agent"], "--user-agent"),
    )
    for seed in spec.seeds:
        if len(seed) > settings.limits.max_url_length:
            raise UsageError(
                f"{seed[:80]}… has {len(seed)} characters, more than limits.max_url_length"
                f" ({settings.limits.max_url_length})"
            )
    return Options(
        job=make_job(spec, flags["job"]),
        settings=settings,
        resolve=tuple(parse_resolve(text) for text in flags["resolve"]),
        proxies=_proxies(loaded),
        max_pages=flags["max_pages"],
        priority=flags["priority"],
        workers=flags["workers"] or os.cpu_count() or 1,
        data=flags["data"],
        outputs=parse_outputs(flags["output"]),
        body=flags["body"],
        json=flags["as_json"],
        command=_command(flags["proxy"]),
    )


def _proxies(loaded: Loaded) -> tuple[Proxy, ...]:
    proxy, source = loaded.settings.proxy, loaded.sources["proxy.urls"]
    place = "--proxy" if source == "flag" else f"{source}: proxy.urls"
    proxies = read_proxies(proxy.urls, proxy.file, place)
    if proxy.resolves_names and not all(each.resolves for each in proxies):
        raise ConfigError(
            f"{loaded.sources['proxy.resolves_names']}: proxy.resolves_names: a socks5 proxy is"
            " given addresses, so it cannot resolve names: write socks5h"
        )
    return proxies


def _command(proxies: Sequence[str]) -> str:
    """As it was typed, but for what must not be shown."""
    command = ["skitter", *sys.argv[1:]]
    for proxy in proxies:
        command = [word.replace(proxy, masked(proxy)) for word in command]
    return shlex.join(command)


def _checked(value: str | None, flag: str) -> str | None:
    return None if value is None else check_header_value(value, flag)
