"""Writes `docs/reference/` from the code: `python -m skitter.cli.reference [FOLDER]`."""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import click
import msgspec

from skitter.cli.main import main
from skitter.cli.manual import EXIT_CODES, manual_page
from skitter.cli.record_page import record_page
from skitter.cli.tree import CommandPage, OptionRow, walk
from skitter.config.catalogue import DOMAINS, Section, Setting, sections
from skitter.config.manners import DomainManners

__all__ = ["pages"]

NOTICE = "<!-- Written by `make docs` from the code; edit the code instead. -->"

WORDS = {bool: "true or false", float: "number", int: "whole number", str: "text"}

BOUNDS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}


def pages(root: click.Command) -> dict[str, str]:
    """File name -> content."""
    return {
        "cli.md": "\n".join(_cli(root)) + "\n",
        "records.md": record_page(NOTICE),
        "settings.md": "\n".join(_settings()) + "\n",
        "skitter.1": manual_page(root),
    }


def _cli(root: click.Command) -> Iterator[str]:
    first, *rest = walk(root)
    yield from (NOTICE, "", "# Command line", "")
    yield from _command(first, ())
    for page in rest:
        yield from _command(page, first.options)
    yield from ("## Exit codes", "", "| code | meaning |", "|---|---|")
    yield from (f"| {code} | {meaning} |" for code, meaning in EXIT_CODES)


def _command(page: CommandPage, shared: tuple[OptionRow, ...]) -> Iterator[str]:
    yield from (f"## {page.path}", "", "```", page.usage, "```", "")
    for paragraph in page.paragraphs:
        yield from (paragraph, "")
    own = [row for row in page.options if row not in shared]
    if own:
        yield from ("| option | meaning | default |", "|---|---|---|")
        yield from map(_option, own)
        yield ""
    if not shared:
        yield from ("All but `--version` may stand after a command's name, too.", "")
    if page.examples:
        yield from ("```sh", *page.examples, "```", "")


def _option(row: OptionRow) -> str:
    value = f" {row.value}" if row.value else ""
    repeats = " May repeat." if row.repeats else ""
    default = f"`{_cell(row.default)}`" if row.default else ""
    return f"| `{_cell(row.names + value)}` | {_cell(row.help)}{repeats} | {default} |"


def _settings() -> Iterator[str]:
    yield from (NOTICE, "", "# Settings", "")
    yield (
        "In `skitter.toml` a section is a table: `[fetch]`, then `timeout_s = 10`. In the "
        "environment the same is `SKITTER_FETCH__TIMEOUT_S=10`; lists are separated by commas and "
        "an empty variable counts as unset. Flags win over the environment, which wins over the "
        "file. `skitter config show` prints each value and where it came from."
    )
    for section in sections():
        yield from _section(section)
    yield from _domains()


def _domains() -> Iterator[str]:
    yield from ("", f"## {DOMAINS}", "", inspect.getdoc(DomainManners) or "", "")
    yield from ("```toml", '[domains."example.com"]', "delay_s = 5", "concurrency = 1", "```", "")
    yield from ("| key | type |", "|---|---|")
    for name, kind in get_type_hints(DomainManners, include_extras=True).items():
        yield f"| `{name}` | {_cell(_kind(kind))} |"


def _section(section: Section) -> Iterator[str]:
    yield from ("", f"## {section.name}", "", section.description, "")
    yield from ("| setting | type | default | meaning |", "|---|---|---|---|")
    for setting in section.settings:
        description = _cell(setting.description)
        kind = _cell(_kind(setting.type))
        yield f"| `{setting.name}` | {kind} | {_default(setting)} | {description} |"


def _default(setting: Setting) -> str:
    if setting.default in (None, ""):
        return ""
    return f"`{msgspec.json.encode(setting.default).decode()}`"


def _kind(annotation: Any) -> str:  # noqa: ANN401  (a type form has no type of its own)
    """`number ≥ 0`, `obey or ignore`, `list of text`."""
    if get_origin(annotation) is Annotated:
        inner, *metas = get_args(annotation)
        return " ".join([_kind(inner), *(bound for meta in metas for bound in _bounds(meta))])
    arguments = [part for part in get_args(annotation) if part not in (type(None), ...)]
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{choice}`" for choice in arguments)
    if get_origin(annotation) is tuple:
        return f"list of {_kind(arguments[0])}"
    return _kind(arguments[0]) if arguments else WORDS[annotation]


def _bounds(meta: msgspec.Meta) -> list[str]:
    limits = ((sign, getattr(meta, name)) for name, sign in BOUNDS.items())
    return [f"{sign} {limit:g}" for sign, limit in limits if limit is not None]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    folder = Path(sys.argv[1] if sys.argv[1:] else "docs/reference")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in pages(main).items():
        (folder / name).write_text(content)
