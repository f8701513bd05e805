"""The live view of a crawl: a panel on a terminal, plain lines elsewhere. Both on stderr."""

import sys
from typing import Protocol, Self, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from skitter.engine.progress import Snapshot

__all__ = ["View", "make_view"]


class View(Protocol):
    """Something that shows snapshots."""

    #: Seconds between two updates.
    interval_s: float

    def __enter__(self) -> Self: ...

    def __exit__(self, *_exc: object) -> None: ...

    def update(self, snapshot: Snapshot) -> None:
        """Show the crawl as it is now."""
        ...

    def say(self, text: str) -> None:
        """A line that stays."""
        ...


def make_view(job: str, stream: TextIO | None = None) -> View:
    """The panel if stderr is a terminal, lines if not."""
    stream = stream or sys.stderr
    console = Console(file=stream)
    return Panel(job, console) if console.is_terminal else Lines(stream)


class Lines:
    """One line every few seconds."""

    interval_s = 5.0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        pass

    def update(self, snapshot: Snapshot) -> None:
        counts = snapshot.counts
        parts = [
            f"{counts.done} pages",
            f"{snapshot.pages_per_second:.1f}/s",
            f"{counts.queued} queued",
            f"{snapshot.in_flight} in flight",
            f"{counts.failed} failed",
        ]
        if snapshot.workers.get("dead"):
            parts.append(f"{snapshot.workers['dead']} workers dead")
        if snapshot.left_s is not None:
            parts.append(f"at least {duration(snapshot.left_s)} left")
        line = ", ".join(parts)
        self.say(f"{line} ({snapshot.limit})" if snapshot.limit else line)

    def say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class Panel:
    """A few lines that repaint themselves four times a second."""

    interval_s = 0.25

    def __init__(self, job: str, console: Console) -> None:
        self._job = job
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.__exit__(None, None, None)

    def update(self, snapshot: Snapshot) -> None:
        self._live.update(render(self._job, snapshot), refresh=True)

    def say(self, text: str) -> None:
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
    if snapshot.errors:
        worst = sorted(snapshot.errors.items(), key=lambda item: -item[1])[:4]
        rows.append(Text("  errors   " + "  ".join(f"{c} {n:,}" for c, n in worst), "red"))
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


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    whole = int(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min"


def size(count: float) -> str:
    """Bytes as people say them."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
