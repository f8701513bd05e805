"""The report as a picture."""

import importlib.util
from pathlib import Path

from skitter.bench.report import Report, Row
from skitter.errors import MissingExtraError, UsageError

__all__ = ["check_plot", "write_plot"]

_OURS, _OTHERS = "#0b7285", "#adb5bd"


def check_plot(path: Path) -> None:
    """Refuse, before hours of measuring, what could not be written after."""
    if importlib.util.find_spec("matplotlib") is None:
        message = "--plot needs matplotlib: pip install 'skitter[bench]'"
        raise MissingExtraError(message)
    if path.suffix not in {".png", ".svg", ".pdf"}:
        message = f"--plot {path}: end it in .png, .svg or .pdf"
        raise UsageError(message)
    if not path.absolute().parent.is_dir():
        message = f"--plot {path}: there is no folder {path.parent}"
        raise UsageError(message)


def write_plot(report: Report, path: Path) -> None:
    """CPU per page and pages per second, a bar for each contestant."""
    # A large import, and only here, so that it is not part of what is measured before.
    from matplotlib.figure import Figure  # noqa: PLC0415

    rows = report.contestants[::-1]
    figure = Figure(figsize=(10, 1.4 + 0.5 * len(rows)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, title, figures in (
        (left, "CPU per page, µs (less is better)", [row.cpu_us_per_page for row in rows]),
        (right, "pages per second (more is better)", [row.pages_per_second for row in rows]),
    ):
        bars = axes.barh([row.title for row in rows], figures, color=[_color(row) for row in rows])
        axes.bar_label(bars, fmt="{:,.0f}", padding=3)
        axes.margins(x=0.2)
        axes.set_title(title, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    rounds = f"medians of {report.rounds} rounds" if report.rounds > 1 else "one round"
    figure.suptitle(
        f"{report.site}; {report.concurrency} requests at once, {rounds}, {report.cores} cores",
        fontsize=9,
    )
    figure.savefig(path, dpi=150)


def _color(row: Row) -> str:
    return _OURS if row.name.startswith("skitter") else _OTHERS
