"""The live view of a crawl: a panel on a terminal, plain lines elsewhere. Both on stderr."""

import sys
from typing import Protocol, Self, TextIO

from skitter.cli.failures import ADVICE, share_failed
from skitter.cli.strains import strained
from skitter.cli.units import duration
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
    if not stream.isatty():
        return Lines(stream)
    # Only here: drawing is the dearest import of all.
    from skitter.cli.panel import Panel  # noqa: PLC0415

    return Panel(job, stream)


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
        if snapshot.workers:
            states = ", ".join(f"{n} {state}" for state, n in sorted(snapshot.workers.items()))
            parts.append(f"workers: {states}")
        share = share_failed(counts.done, counts.failed)
        if share is not None:
            parts.append(f"{share} failed: {ADVICE}")
        if snapshot.left_s is not None:
            parts.append(f"at least {duration(snapshot.left_s)} left")
        if snapshot.strain.step:
            parts.append(strained(snapshot.strain))
        line = ", ".join(parts)
        self.say(f"{line} ({snapshot.limit})" if snapshot.limit else line)

    def say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)
