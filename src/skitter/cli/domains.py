"""`skitter domains`: how a crawl treats its domains, now and from now on."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar

import click
import msgspec

from skitter.cli.domain_table import print_domain, print_domains
from skitter.cli.invocation import Invocation
from skitter.cli.options import Seconds, examples
from skitter.cli.reading import data_option
from skitter.cli.units import duration
from skitter.config.manners import DomainManners
from skitter.config.settings import Settings
from skitter.engine.folder import DataFolder, frontier_socket
from skitter.errors import InvalidURLError, UsageError
from skitter.frontier.base import DomainInfo
from skitter.frontier.rules import domain_rate
from skitter.politeness.rates import Rate
from skitter.urls.domain import domain_of
from skitter.urls.normalize import host_of, normalize
from skitter.wiring import hold_folder, open_backends, reach_frontier

__all__ = ["domains"]

T = TypeVar("T")

#: A crawl that does not answer within this is gone.
_ANSWER_S = 10.0
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_BY_HAND = "held by hand"

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class _Domains(Protocol):
    """What is asked of a frontier here, running or not."""

    async def domain(self, name: str) -> DomainInfo | None: ...
    async def backlog(self, limit: int = 100) -> list[DomainInfo]: ...
    async def rest(self, domain: str, wait_s: float, reason: str) -> None: ...
    async def set_rate(self, domain: str, rate: Rate | None) -> None: ...
    async def block(self, domain: str, *, blocked: bool = True) -> None: ...


def _to_domain(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    """A domain, a host or a URL: the domain it belongs to, for rates are for whole domains."""
    try:
        return domain_of(host_of(normalize(value if "://" in value else f"http://{value}/")))
    except InvalidURLError:
        raise click.BadParameter(f"{value!r} is not a domain") from None


def _to_seconds(_ctx: click.Context, _param: click.Parameter, value: str) -> float:
    """Seconds, or a number with s, m, h or d."""
    number, unit = (value[:-1], value[-1]) if value[-1:] in _UNITS_S else (value, "s")
    if not number.isascii() or not number.replace(".", "", 1).isdigit():
        raise click.BadParameter(f"{value!r} is not a time: say 90, 10m, 2h or 1d")
    return float(number) * _UNITS_S[unit]


_domain = click.argument("domain", callback=_to_domain)


@click.group(
    epilog=examples(
        "skitter domains list",
        "skitter domains show example.com",
        "skitter domains set example.com --delay 5",
        "skitter domains hold example.com --for 2h",
        "skitter domains block example.com",
    )
)
def domains() -> None:
    """Look at the domains of a crawl, change their rates, hold or block one.

    While a crawl runs, in another terminal, a change counts from the next request on. When none
    runs, it is kept for the next one.
    """


@domains.command("list", epilog=examples("skitter domains list", "skitter domains list --json"))
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    metavar="N",
    help="How many to list.",
)
@data_option
@_as_json
@click.pass_obj
def list_domains(invocation: Invocation, limit: int, data: Path, as_json: bool) -> None:
    """List the domains with the longest queues: rate, state, wait."""
    found = _ask(invocation, data, lambda frontier: frontier.backlog(limit))
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        print_domains(found)


@domains.command("show", epilog=examples("skitter domains show example.com --json"))
@_domain
@data_option
@_as_json
@click.pass_obj
def show(invocation: Invocation, domain: str, data: Path, as_json: bool) -> None:
    """Show one domain: its rate, its queue, why it waits."""
    info = _ask(invocation, data, lambda frontier: frontier.domain(domain))
    if info is None:
        raise UsageError(f"{domain} is not known in {data}; `skitter domains list` shows some")
    if as_json:
        click.echo(msgspec.json.encode(info))
    else:
        print_domain(info)


@domains.command(
    "set",
    epilog=examples(
        "skitter domains set example.com --delay 5",
        "skitter domains set example.com --hits 10 --window 60 --concurrency 2",
        "skitter domains set example.com --default",
    ),
)
@_domain
@click.option("--delay", type=Seconds(0), metavar="S", help="Seconds between requests.")
@click.option("--hits", type=click.IntRange(1), metavar="N", help="Requests in each --window.")
@click.option("--window", type=Seconds(0, min_open=True), metavar="S", help="Window of --hits.")
@click.option("--burst/--even", default=None, help="Let --hits come at once, or evenly spaced.")
@click.option(
    "--scale",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="X",
    help="Share of --hits to use.",
)
@click.option("--concurrency", type=click.IntRange(1), metavar="N", help="Requests at once.")
@click.option("--default", "reset", is_flag=True, help="Back to the rate of all domains.")
@data_option
@click.pass_obj
def set_rate(
    invocation: Invocation,
    domain: str,
    delay: float | None,
    hits: int | None,
    window: float | None,
    burst: bool | None,
    scale: float | None,
    concurrency: int | None,
    reset: bool,
    data: Path,
) -> None:
    """Give a domain a rate of its own. A crawl-delay in its robots.txt still holds."""
    own = DomainManners(
        delay_s=delay,
        hits=hits,
        window_s=window,
        moderated=None if burst is None else not burst,
        scale=scale,
        concurrency=concurrency,
    )
    if reset == (own != DomainManners()):
        raise UsageError("say either which rate, for example --delay 5, or --default")
    if delay is not None and hits is not None:
        raise UsageError("--delay and --hits are two ways to say the same: choose one")
    if hits is None and not (window is None and burst is None and scale is None):
        raise UsageError("--window, --burst and --scale go with --hits")
    rate = None if reset else domain_rate(own, invocation.load().settings.politeness)
    _ask(invocation, data, lambda frontier: frontier.set_rate(domain, rate), changes=True)
    click.echo(f"{domain}: {'the default rate' if rate is None else rate.said()}")


@domains.command(
    "hold",
    epilog=examples(
        "skitter domains hold example.com --for 2h", "skitter domains hold example.com --for 0"
    ),
)
@_domain
@click.option(
    "--for",
    "wait_s",
    callback=_to_seconds,
    required=True,
    metavar="TIME",
    help="Seconds, or 10m, 2h, 1d; 0 ends it.",
)
@data_option
@click.pass_obj
def hold(invocation: Invocation, domain: str, wait_s: float, data: Path) -> None:
    """Leave a domain alone for a while.

    `--for 0` ends any hold, closes its breaker and takes lowered rates back.
    """
    _ask(invocation, data, lambda frontier: frontier.rest(domain, wait_s, _BY_HAND), changes=True)
    rest = f"is left alone for {duration(wait_s)}" if wait_s else "may be asked again"
    click.echo(f"{domain} {rest}.")


@domains.command("block", epilog=examples("skitter domains block example.com"))
@_domain
@data_option
@click.pass_obj
def block(invocation: Invocation, domain: str, data: Path) -> None:
    """Ask a domain for nothing until it is unblocked.

    What is queued for it is kept.
    """
    _ask(invocation, data, lambda frontier: frontier.block(domain, blocked=True), changes=True)
    click.echo(f"{domain} is blocked.")


@domains.command("unblock", epilog=examples("skitter domains unblock example.com"))
@_domain
@data_option
@click.pass_obj
def unblock(invocation: Invocation, domain: str, data: Path) -> None:
    """Let a blocked domain be crawled again."""
    _ask(invocation, data, lambda frontier: frontier.block(domain, blocked=False), changes=True)
    click.echo(f"{domain} is not blocked.")


def _ask(
    invocation: Invocation,
    data: Path,
    ask: Callable[[_Domains], Awaitable[T]],
    *,
    changes: bool = False,
) -> T:
    """Ask the crawl that runs in this folder, or the folder itself."""
    folder = DataFolder(data)
    folder.check()
    socket = frontier_socket(data)
    if socket is not None and folder.is_held():
        return asyncio.run(_ask_running(socket, ask))
    settings = invocation.load().settings
    if not changes:
        return asyncio.run(_ask_folder(data, settings, ask, writing=False))
    with hold_folder(data):
        return asyncio.run(_ask_folder(data, settings, ask, writing=True))


async def _ask_folder(
    data: Path, settings: Settings, ask: Callable[[_Domains], Awaitable[T]], *, writing: bool
) -> T:
    async with open_backends(data, settings, writing=writing) as backends:
        return await ask(backends.frontier)


async def _ask_running(socket: Path, ask: Callable[[_Domains], Awaitable[T]]) -> T:
    async with reach_frontier(socket) as frontier:
        try:
            async with asyncio.timeout(_ANSWER_S):
                return await ask(frontier)
        except TimeoutError:
            raise UsageError("the crawl does not answer: it may just have ended") from None
