"""Lists on a terminal and in a pipe: aligned columns, never wrapped, nothing after the last."""

from collections.abc import Collection, Sequence

import click

__all__ = ["print_columns"]


def print_columns(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[str] = ()
) -> None:
    """A line of titles and a line for each row; columns named in `right` hold numbers."""
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    places = [(width, title in right) for title, width in zip(titles, widths, strict=True)]
    click.secho(_line(titles, places), bold=True)
    for row in rows:
        click.echo(_line(row, places))


def _line(cells: Sequence[str], places: Sequence[tuple[int, bool]]) -> str:
    aligned = (
        cell.rjust(width) if is_right else cell.ljust(width)
        for cell, (width, is_right) in zip(cells, places, strict=True)
    )
    return "  ".join(aligned).rstrip()
