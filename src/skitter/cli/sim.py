"""`skitter sim`: serve a generated web, and write down what a crawl of it must find."""

import asyncio
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from skitter.cli.options import examples
from skitter.errors import UsageError
from skitter.sim.bench import bench
from skitter.sim.options import EVERYTHING, SICKNESSES, SimOptions
from skitter.sim.server import SimServer
from skitter.sim.site import HTTP_PORT, SimWeb
from skitter.sim.truth import Crawl, truth, write_manifest

__all__ = ["sim"]

_FILE = click.Path(dir_okay=False, path_type=Path)

#: Hosts whose seeds fit on a command line.
_TYPED_SEEDS = 5

#: Flag -> field of `SimOptions`, type, help. Not given: the field's default, or --everything's.
_ORDERS = (
    ("--seed", "seed", int, "Another number, another web."),
    ("--hosts", "hosts", int, "Hosts site0001.test, site0002.test …, one domain each."),
    ("--pages", "pages", int, "Ordinary pages per host."),
    ("--fanout", "fanout", int, "Children of a page; sets the depth."),
    ("--links", "links", int, "Further links per page."),
    ("--latency-ms", "latency_ms", float, "Wait before each answer."),
    ("--jitter-ms", "jitter_ms", float, "Up to so much more."),
    ("--body-bytes", "body_bytes", int, "Mean size of a page."),
    ("--body-spread", "body_spread", float, "Sizes differ by this share of the mean."),
    ("--error-rate", "error_rate", float, "Share of URLs that always answer 500, 502, 504."),
    ("--reset-rate", "reset_rate", float, "Share that always resets the connection."),
    ("--gone-rate", "gone_rate", float, "Share of links to 404 and 410."),
    ("--flaky-rate", "flaky_rate", float, "Share that fails once or twice, then works."),
    ("--throttle-rate", "throttle_rate", float, "Share that first answers 429 or 503."),
    ("--redirect-rate", "redirect_rate", float, "Share behind redirects, chains and loops."),
    ("--robots-rate", "robots_rate", float, "Share that robots.txt forbids."),
    ("--crawl-delay", "crawl_delay_s", float, "Crawl-delay of robots.txt, in seconds."),
    ("--gzip-rate", "gzip_rate", float, "Share sent compressed."),
    ("--messy-rate", "messy_rate", float, "Share of links written oddly."),
    ("--trap-hosts", "trap_hosts", int, "Further hosts trap0001.test …, each a trap of its kind."),
    ("--sick", "sick_hosts", int, "So many hosts, the last ones, are ill as --sickness says."),
    ("--sick-requests", "sick_requests", int, "Well again after so many requests; 0: never."),
    ("--retry-after", "retry_after_s", float, "What a host with the sickness `limit` asks for."),
    ("--trap-links", "trap_links", int, "Links on each page of the trap that is made of links."),
)

_FLAGS = {name: flag for flag, name, _, _ in _ORDERS} | {
    "sickness": "--sickness",
    "trap_fanout": "--traps",
    "charset_rate": "--charsets",
}


def _order_flags(command: Callable[..., None]) -> Callable[..., None]:
    for flag, name, kind, text in reversed(_ORDERS):
        shown = f"{text} [default: {getattr(SimOptions(), name):g}]"
        command = click.option(flag, name, type=kind, help=shown)(command)
    return command


@click.command(
    epilog=examples(
        "skitter sim --hosts 3 --pages 1000",
        "skitter sim --everything --seeds seeds.txt --manifest truth.jsonl --log access.jsonl",
    )
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0: any free one.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Where to listen.")
@_order_flags
@click.option(
    "--sickness",
    metavar="KIND,…",
    help=f"Of sick hosts, in turn: {', '.join(SICKNESSES)}. [error]",
)
@click.option("--sitemaps", is_flag=True, default=None, help="Sitemaps, with pages only they name.")
@click.option(
    "--traps",
    "trap_fanout",
    type=int,
    is_flag=False,
    flag_value=1,
    help="An endless calendar on every host; each of its pages leads to so many more. [1]",
)
@click.option(
    "--charsets",
    "charset_rate",
    type=float,
    is_flag=False,
    flag_value=0.5,
    help="Share of pages in other encodings. [0.5]",
)
@click.option("--everything", is_flag=True, help="Every misbehaviour, at sensible rates.")
@click.option("--manifest", type=_FILE, help="Write what a correct crawl records, as JSON lines.")
@click.option("--depth", type=click.IntRange(0), default=10, help="Of the crawl in the manifest.")
@click.option("--ignore-robots", is_flag=True, help="The manifest's crawl does not obey robots.")
@click.option("--seeds", "seeds_file", type=_FILE, help="Write every host's home page, one a line.")
@click.option("--log", "log_path", type=_FILE, help="Write every access, as JSON lines.")
@click.option("--json", "as_json", is_flag=True, help="Say where it is as one line of JSON.")
@click.option("--serve/--no-serve", default=True, help="Without a server port 0 means 80.")
@click.option("--bench", "as_bench", is_flag=True, help="Measure its own speed and end.")
def sim(**flags: object) -> None:
    """Serve a generated web on loopback, the same one for the same options."""
    try:
        run = msgspec.convert(flags, _Run)
        options = _options(flags)
        if run.as_bench:
            _show_bench(options, as_json=run.as_json)
        elif run.serve:
            asyncio.run(_serve(run, options))
        else:
            _write_files(run, SimWeb(options, port=run.port or HTTP_PORT))
    except OSError as error:
        # A port that is taken, a file that cannot be written: both were typed.
        raise UsageError(str(error)) from error


class _Run(msgspec.Struct, frozen=True, kw_only=True):
    """The flags that are not about the web itself."""

    port: int
    address: str
    everything: bool
    manifest: Path | None
    depth: int
    ignore_robots: bool
    seeds_file: Path | None
    log_path: Path | None
    as_json: bool
    serve: bool
    as_bench: bool


class _Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of `--json`."""

    port: int
    resolve: str
    seeds: list[str]
    #: Home page of a trap -> its kind.
    traps: dict[str, str]


def _options(flags: dict[str, object]) -> SimOptions:
    base = EVERYTHING if flags["everything"] else SimOptions()
    given = {
        name: flags[name] for name in SimOptions.__struct_fields__ if flags.get(name) is not None
    }
    try:
        return msgspec.convert(msgspec.structs.asdict(base) | given, SimOptions)
    except UsageError as error:
        name, _, rest = str(error).partition(" ")
        message = f"{_FLAGS[name]} {rest}"
        raise UsageError(message) from None


def _show_bench(options: SimOptions, *, as_json: bool) -> None:
    result = bench(options)
    if as_json:
        click.echo(msgspec.json.encode(result))
        return
    click.echo(
        f"{result.requests} requests in {result.seconds:.1f} s: "
        f"{result.requests_per_second:.0f}/s, {result.requests_per_core_s:.0f}/s "
        f"per core of server"
    )


async def _serve(run: _Run, options: SimOptions) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    server = SimServer(
        options, port=run.port, address=run.address, log_path=run.log_path, keep_log=False
    )
    async with server:
        _write_files(run, server.web)
        _announce(run, server)
        await stopped.wait()


def _write_files(run: _Run, web: SimWeb) -> None:
    """Before anything is announced, so whoever reads the announcement finds them whole."""
    if run.seeds_file:
        seeds = [*web.seeds, *web.trap_seeds]
        run.seeds_file.write_text("".join(f"{seed}\n" for seed in seeds))
    if run.manifest:
        crawl = Crawl(
            depth=run.depth,
            obey_robots=not run.ignore_robots,
            sitemaps=web.options.sitemaps,
        )
        write_manifest(run.manifest, truth(web, crawl))


def _announce(run: _Run, server: SimServer) -> None:
    if run.as_json:
        where = _Announcement(
            port=server.port,
            resolve=server.resolve,
            seeds=server.web.seeds,
            traps=server.web.trap_seeds,
        )
        click.echo(msgspec.json.encode(where))
    else:
        click.echo(f"Listening on {server.address}:{server.port}. Crawl it with:")
        click.echo(f"  {_crawl_command(run, server)}")
    sys.stdout.flush()


def _crawl_command(run: _Run, server: SimServer) -> str:
    seeds = server.web.seeds
    if run.seeds_file:
        seeds = [f"@{run.seeds_file}"]
    elif len(seeds) > _TYPED_SEEDS:
        # The file is not there yet, so the command writes it first.
        return f"{_seeds_line(server)} | {_words(run, server, ['-'])}"
    return _words(run, server, seeds)


def _seeds_line(server: SimServer) -> str:
    pattern = server.web.seeds[0].replace("0001", "%04d", 1)
    return f"printf '{pattern}\\n' $(seq {len(server.web.seeds)})"


def _words(run: _Run, server: SimServer, seeds: list[str]) -> str:
    words = ["skitter", "crawl", *seeds, "--depth", str(run.depth), "--resolve", server.resolve]
    if server.web.options.sitemaps:
        words.append("--sitemaps")
    if run.ignore_robots:
        words += ["--robots", "ignore"]
    return shlex.join(words)
