"""Domains on a terminal: one line each, or one in full."""

from collections.abc import Sequence

import click

from skitter.cli.columns import print_columns
from skitter.cli.units import duration
from skitter.frontier.base import DomainInfo
from skitter.politeness.backoff import in_words
from skitter.politeness.breaker import BreakerState

__all__ = ["print_domain", "print_domains"]


def print_domains(found: Sequence[DomainInfo]) -> None:
    """A table, longest queue first."""
    titles = ("domain", "queued", "in flight", "rate", "due in", "state")
    rows = [
        (
            info.domain,
            str(info.queued),
            str(info.in_flight),
            info.rate.said(),
            duration(info.due_in_s),
            _state(info),
        )
        for info in found
    ]
    print_columns(titles, rows, right={"queued", "in flight", "due in"})


def print_domain(info: DomainInfo) -> None:
    """Everything, a line each."""
    law = info.law.said()
    lines = {
        "domain": info.domain,
        "state": _state(info),
        "queued": info.queued,
        "in flight": info.in_flight,
        "rate": info.rate.said() + ("" if info.rate == info.law else f"  (allowed: {law})"),
        "set by": _origin(info),
        "due in": duration(info.due_in_s),
        "breaker": info.breaker.value.replace("_", " ") + _failures(info),
        "back-off": f"step {info.hold_step}" if info.hold_step else "none",
        "slowed": f"{info.slowed:g} times, its server is slow" if info.slowed > 1 else "no",
        "lowered": f"{info.lowered:g} times, it limited us" if info.lowered > 1 else "no",
        "blocked us": f"{info.identity} times" if info.identity else "never",
        "server": info.server_ip or "not known",
    }
    for name, value in lines.items():
        click.echo(f"{name + ':':<12}{value}")


def _state(info: DomainInfo) -> str:
    if info.blocked:
        return "blocked"
    if info.given_up:
        return "given up"
    if info.hold_reason:
        return f"waits: {in_words(info.hold_reason)}"
    if info.breaker is not BreakerState.CLOSED:
        return f"breaker {info.breaker.value.replace('_', ' ')}"
    if info.slowed > 1 or info.lowered > 1:
        return "asked less often"
    return "ok"


def _origin(info: DomainInfo) -> str:
    if info.crawl_delay:
        return "crawl-delay of its robots.txt"
    return "`skitter domains set`" if info.own_rate is not None else "settings"


def _failures(info: DomainInfo) -> str:
    return f", {info.failures} failures in a row" if info.failures else ""
