"""`skitter manual`: the manual page in roff, written from the commands themselves."""

from collections.abc import Iterator

import click

from skitter.cli.options import examples
from skitter.cli.tree import CommandPage, OptionRow, walk
from skitter.config.product import PRODUCT, VERSION

__all__ = ["manual", "manual_page"]

EXIT_CODES = (
    ("0", "Finished, even if every request failed."),
    ("1", "Internal failure, or the answer of a check is no."),
    ("2", "Bad usage or configuration; nothing was fetched."),
    ("3", "Interrupted; the same command goes on where it stopped."),
)

FILES = (
    ("./skitter.toml", "Settings, unless --config or SKITTER_CONFIG name another file."),
    ("./skitter-data", "What was crawled, unless --data names another folder."),
)

ENVIRONMENT = (
    ("SKITTER_CONFIG", "The settings file."),
    ("SKITTER_SECTION__KEY", "Any setting, such as SKITTER_FETCH__TIMEOUT_S=10."),
    ("SKITTER_DEBUG", "1 shows the traceback of an internal error."),
    ("NO_COLOR", "Anything: no colours."),
)


@click.command(epilog=examples("skitter manual | man -l -", "skitter manual > skitter.1"))
@click.pass_context
def manual(ctx: click.Context) -> None:
    """Print the manual page.

    It is in roff, as man reads it.
    """
    click.echo(manual_page(ctx.find_root().command), nl=False)


def manual_page(root: click.Command) -> str:
    """The whole page; the same for the same commands and version."""
    first, *rest = walk(root)
    lines = [
        f'.TH SKITTER 1 "" "{PRODUCT} {VERSION}" "User Commands"',
        ".SH NAME",
        f"skitter \\- {_text(_summary(first))}",
        ".SH SYNOPSIS",
        f".B {_text(first.usage)}",
        ".SH DESCRIPTION",
        *_paragraphs(first),
        ".SH OPTIONS",
        *_options(first),
        ".SH COMMANDS",
        *(line for page in rest for line in _command(page, first)),
        *_section("EXIT STATUS", EXIT_CODES),
        *_section("ENVIRONMENT", ENVIRONMENT),
        *_section("FILES", FILES),
    ]
    return "\n".join(lines) + "\n"


def _summary(page: CommandPage) -> str:
    sentence = page.paragraphs[0].rstrip(".") if page.paragraphs else "a web crawler"
    return sentence[:1].lower() + sentence[1:]


def _command(page: CommandPage, root: CommandPage) -> Iterator[str]:
    yield f".SS {_text(page.usage)}"
    yield from _paragraphs(page)
    own = [row for row in page.options if row not in root.options]
    yield from _rows(own)
    if page.examples:
        yield from (".PP", "Examples:", ".PP", ".nf", ".RS 4")
        yield from map(_text, page.examples)
        yield from (".RE", ".fi")


def _options(page: CommandPage) -> Iterator[str]:
    yield "All but \\-\\-version may stand after a command's name, too."
    yield from _rows(page.options)


def _rows(rows: list[OptionRow] | tuple[OptionRow, ...]) -> Iterator[str]:
    for row in rows:
        value = f" \\fI{_text(row.value)}\\fR" if row.value else ""
        notes = " May repeat." if row.repeats else ""
        notes += f" Default: {row.default}." if row.default else ""
        yield from (".TP", f"\\fB{_text(row.names)}\\fR{value}", _text(row.help + notes))


def _paragraphs(page: CommandPage) -> Iterator[str]:
    for number, paragraph in enumerate(page.paragraphs):
        if number:
            yield ".PP"
        yield _text(paragraph)


def _section(title: str, rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
    yield f".SH {title}"
    for name, meaning in rows:
        yield from (".TP", f"\\fB{_text(name)}\\fR", _text(meaning))


def _text(text: str) -> str:
    """Nothing in it is a request or an escape; hyphens are those of the keyboard."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return f"\\&{escaped}" if escaped[:1] in {".", "'"} else escaped
