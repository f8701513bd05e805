"""The live view on a terminal."""

from typing import Self, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from skitter.cli.failures import ADVICE, share_failed
from skitter.cli.strains import strained
from skitter.cli.units import duration, size
from skitter.engine.progress import Snapshot

__all__ = ["Panel", "render"]


class Panel:
    """A few lines that repaint themselves four times a second."""

    interval_s = 0.25

    def __init__(self, job: str, stream: TextIO) -> None:
        self._job = job
        self._console = Console(file=stream)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.__exit__(None, None, None)

    def update(self, snapshot: Snapshot) -> None:
        """Repaint."""
        self._live.update(render(self._job, snapshot), refresh=True)

    def say(self, text: str) -> None:
        """A line above the panel."""
        self._console.print(text, highlight=False, markup=False)


def render(job: str, snapshot: Snapshot) -> Group:
    """The panel's content."""
    counts = snapshot.counts
    head = Text.assemble(
        ("  skitter ", "bold cyan"), (job, "bold"), f"   {duration(snapshot.seconds)}"
    )
    figures = Text("  ")
    for value, unit, style in (
        (f"{counts.done:,}", "pages", "green"),
        (f"{snapshot.pages_per_second:,.1f}", "pages/s", "green"),
        (f"{counts.queued:,}", "queued", "cyan"),
        (f"{snapshot.in_flight:,}", "in flight", "cyan"),
        (f"{counts.failed:,}", "failed", "red" if counts.failed else "dim"),
    ):
        figures.append(value, f"bold {style}")
        figures.append(f" {unit}   ")
    figures.append(size(counts.body_bytes), "dim")
    rows = [head, _bar(snapshot), figures]
    if snapshot.workers:
        states = "  ".join(f"{n} {state}" for state, n in sorted(snapshot.workers.items()))
        rows.append(Text(f"  workers  {states}", "dim"))
    if snapshot.strain.step:
        rows.append(Text("  " + strained(snapshot.strain), "bold red"))
    if snapshot.errors:
        worst = sorted(snapshot.errors.items(), key=lambda item: -item[1])[:4]
        rows.append(Text("  errors   " + "  ".join(f"{c} {n:,}" for c, n in worst), "red"))
    share = share_failed(counts.done, counts.failed)
    if share is not None:
        rows.append(Text(f"  {share} failed: {ADVICE}", "red"))
    if snapshot.busiest:
        rows.append(_domains("busiest", [f"{d.domain} {d.queued:,}" for d in snapshot.busiest[:4]]))
    if snapshot.slowest:
        slow = [f"{d.domain} {d.mean_s * 1000:,.0f} ms" for d in snapshot.slowest]
        rows.append(_domains("slowest", slow))
    if snapshot.limit:
        rows.append(Text("  " + snapshot.limit, "yellow"))
    return Group(*rows)


def _bar(snapshot: Snapshot) -> Text:
    """How much of what is known is done, and how long the rest takes at least."""
    counts, width = snapshot.counts, 40
    share = counts.terminal / counts.accepted if counts.accepted else 0.0
    full = int(share * width)
    text = Text("  ")
    text.append("━" * full, "green")
    text.append("━" * (width - full), "bright_black")
    text.append(f" {share:.0%} of {counts.accepted:,} known")
    if snapshot.left_s is not None:
        text.append(f", at least {duration(snapshot.left_s)} left", "dim")
    return text


def _domains(label: str, items: list[str]) -> Text:
    return Text(f"  {label:<8} " + "  ".join(items), "dim", overflow="ellipsis", no_wrap=True)
