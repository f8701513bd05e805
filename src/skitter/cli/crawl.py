"""`skitter crawl`: the main command and its flags."""

from pathlib import Path
from typing import Any

import click

from skitter.cli.invocation import Invocation
from skitter.cli.loading import Loading
from skitter.cli.options import Seconds, examples

__all__ = ["crawl"]


def _to_delays(
    _ctx: click.Context, _param: click.Parameter, value: str | None
) -> tuple[float, ...] | None:
    """`10,30,60` of a command line; `none` is no delay and no further try."""
    if value is None or value == "none":
        return None if value is None else ()
    try:
        delays_s = tuple(float(word) for word in value.split(","))
    except ValueError:
        delays_s = (-1.0,)
    if not all(0 <= delay_s < float("inf") for delay_s in delays_s):
        raise click.BadParameter(f"{value!r} is no list of seconds such as 10,30,60")
    return delays_s


@click.command(
    epilog=examples(
        "skitter crawl https://example.com",
        "skitter crawl https://example.com/docs/ --scope prefix --depth 3 -o docs.jsonl",
        "skitter crawl @seeds.txt --delay 0.5 --max-pages 1000 -o pages.parquet -o pages.warc.gz",
        "skitter crawl https://example.com --deny '\\.pdf$' --json | jq .pages",
    )
)
@click.argument("urls", nargs=-1, required=True, metavar="URL...|@FILE|-")
@click.option(
    "--depth",
    type=click.IntRange(min=0),
    metavar="N",
    help="Links to follow from a seed.  [default: 10]",
)
@click.option(
    "--scope",
    type=click.Choice(["page", "prefix", "host", "domain", "any"]),
    default="host",
    show_default=True,
    help="Which links belong to the crawl, seen from any seed.",
)
@click.option(
    "--max-pages",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop after N pages; raise it to go on.",
)
@click.option(
    "--priority",
    type=click.IntRange(1, 100),
    metavar="N",
    help="From 1 to 100; below 41 the job waits first when something runs short.",
)
@click.option(
    "--allow", multiple=True, metavar="RE", help="Follow only links that match (RE2); repeatable."
)
@click.option(
    "--deny",
    multiple=True,
    metavar="RE",
    help="Never follow links that match; wins over --allow; repeatable.",
)
@click.option(
    "--delay",
    type=Seconds(min=0),
    metavar="S",
    help="Seconds between two requests to a domain.  [default: 1]",
)
@click.option(
    "--retries",
    callback=_to_delays,
    metavar="S,…",
    help="Seconds before each further try of what failed; 'none' for no other.  [default: 1,5,15]",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1, max=10_000),
    metavar="N",
    help="Requests at once, per domain and in all.  [default: 1 and 256]",
)
@click.option(
    "--robots", type=click.Choice(["obey", "ignore"]), help="What robots.txt says.  [default: obey]"
)
@click.option(
    "--max-crawl-delay",
    type=Seconds(min=0),
    metavar="S",
    help="Leave out hosts whose crawl-delay is longer.  [default: any is kept]",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=256),
    metavar="N",
    help="Worker processes; 1 works inside the command itself.  [default: one per core]",
)
@click.option("--sitemaps", is_flag=True, help="Read the seeds' sitemaps too.")
@click.option(
    "--header",
    multiple=True,
    metavar="H",
    help="'Name: value' to send; repeatable. Authorization goes to the seeds' origins only.",
)
@click.option("--cookie", metavar="C", help="'name=value; …' to send to the seeds' origins.")
@click.option(
    "--cookies",
    type=click.Choice(["on", "off"]),
    help="Send cookies that sites set back to them.  [default: on]",
)
@click.option("--user-agent", metavar="UA", help="Send this User-Agent.")
@click.option(
    "--proxy",
    multiple=True,
    metavar="URL",
    help="Go through a proxy: http, https, socks5 or socks5h; repeatable.",
)
@click.option(
    "-o",
    "--output",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write records to FILE: .jsonl .csv .parquet .warc.gz; repeatable.",
)
@click.option("--body", is_flag=True, help="Put bodies into the output files too.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=Path("skitter-data"),
    show_default=True,
    metavar="DIR",
    help="Where the crawl is kept.",
)
@click.option(
    "--job", metavar="NAME", help="Name of the job.  [default: host and a hash of the settings]"
)
@click.option(
    "--resolve",
    multiple=True,
    metavar="HOST:PORT:ADDR",
    help="Use this address for a host, * for any; repeatable.",
)
@click.option(
    "--dry-run", is_flag=True, help="Check everything, print the job, fetch and write nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON summary and nothing else.")
@click.pass_obj
def crawl(invocation: Invocation, /, **flags: Any) -> int:  # noqa: ANN401 - as click gives them
    """Crawl web sites from their seed URLs and record every page.

    The same command on the same --data resumes where it was interrupted, whatever interrupted it.
    """
    # Only now: who completes a flag, or asks for help, need not wait for the rest.
    with Loading():
        from skitter.cli.crawl_options import read_options  # noqa: PLC0415
        from skitter.cli.crawl_report import describe  # noqa: PLC0415

    invocation.start_logs()
    options = read_options(invocation, flags)
    if flags["dry_run"]:
        proxies = [proxy.url for proxy in options.proxies]
        describe(
            options.job, options.settings, proxies=proxies, as_json=options.json, **options.places
        )
        return 0
    with Loading():
        from skitter.cli.crawl_run import run  # noqa: PLC0415

    return run(options)
