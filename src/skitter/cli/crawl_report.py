"""What `skitter crawl` prints before (--dry-run) and after."""

import json
import shlex
from collections.abc import Sequence

import click
from msgspec.structs import asdict

from skitter.cli.crawl_job import CrawlJob
from skitter.cli.failures import ADVICE, share_failed
from skitter.cli.units import duration, near, size
from skitter.config.settings import Settings
from skitter.engine.crawl import Summary
from skitter.models import JobState

__all__ = ["describe", "say_summary", "warn_of_failure"]

#: Shown of a long list.
_SHOWN = 5


def describe(
    job: CrawlJob,
    settings: Settings,
    *,
    data: str,
    outputs: Sequence[str],
    proxies: Sequence[str],
    as_json: bool,
) -> None:
    """The job as it would be run."""
    spec = job.spec
    if as_json:
        document = {
            "job": job.name,
            "job_id": job.job_id,
            **asdict(spec),
            "delay_s": settings.politeness.delay_s,
            "concurrency": settings.politeness.concurrency,
            "retries_s": settings.retry.delays_s,
            "cookies": settings.fetch.cookies,
            "proxies": list(proxies),
            "data": data,
            "outputs": list(outputs),
        }
        click.echo(json.dumps(document, ensure_ascii=False))
        return
    rows = [
        ("job", job.name),
        ("seeds", _some(spec.seeds)),
        ("scope", spec.scope.value),
        ("depth", spec.depth),
        ("allow", " ".join(spec.allow)),
        ("deny", " ".join(spec.deny)),
        ("robots", spec.robots),
        ("sitemaps", "read" if spec.sitemaps else "not read"),
        ("rate", _rate(settings)),
        ("retries", _retries(settings)),
        ("cookies", "" if settings.fetch.cookies else "not sent back"),
        ("proxies", _some(proxies)),
        ("data", data),
        ("outputs", " ".join(outputs)),
    ]  # fmt: skip
    for name, value in rows:
        if value != "":
            click.echo(f"{name + ':':<10}{value}")
    click.echo("Nothing was fetched or written (--dry-run).")


def _some(things: Sequence[str]) -> str:
    more = len(things) - _SHOWN
    return " ".join(things[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _rate(settings: Settings) -> str:
    politeness = settings.politeness
    pace = f"{politeness.delay_s:g} s between requests to a domain"
    if politeness.hits:
        pace = f"{politeness.hits} requests in {politeness.window_s:g} s to a domain"
    return f"{pace}, {politeness.concurrency} at once"


def _retries(settings: Settings) -> str:
    waits = ", ".join(f"{delay_s:g}" for delay_s in settings.retry.delays_s)
    return f"after {waits} s" if waits else "none"


def say_summary(summary: Summary, command: str, *, finished_before: bool) -> None:
    """The end of a run, for people."""
    if finished_before:
        click.echo(f"Job {summary.job} is finished; nothing was fetched.")
    _say_counts(summary)
    for path in summary.outputs:
        click.echo(f"  {near(path)}")
    click.echo(f"  {summary.data}  (skitter show URL, skitter export, skitter jobs show)")
    if summary.state is JobState.PAUSED:
        click.secho(f"Interrupted. To go on: {command}", bold=True)


def warn_of_failure(summary: Summary) -> None:
    """One line on standard error if more than a few requests failed, and what to do about it."""
    share = share_failed(summary.pages, summary.failed)
    if share is None:
        return
    lines = shlex.join(
        ["skitter", "export", "errors.jsonl", "--data", summary.data, "--job", summary.job]
    )
    click.secho(
        f"Warning: {share} failed; {lines} lists why, {ADVICE}.",
        fg="yellow",
        err=True,
    )


def _say_counts(summary: Summary) -> None:
    parts = [f"{summary.pages:,} pages", size(summary.bytes)]
    if summary.redirected:
        parts.append(f"{summary.redirected:,} redirected")
    if summary.success_rate is not None:
        parts.append(f"{summary.failed:,} failed ({summary.success_rate:.1%} success)")
    parts += [f"{count:,} dropped ({reason})" for reason, count in summary.dropped.items()]
    if summary.queued:
        parts.append(f"{summary.queued:,} still queued")
    speed = ""
    if summary.seconds:
        speed = f" in {duration(summary.seconds)}, {summary.pages_per_second:,.1f} pages/s"
    click.secho(f"{', '.join(parts)}{speed}", bold=True)
