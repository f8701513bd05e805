"""The commands as values: what the manual page and the reference are written from.

Taken from click's objects and not from its help text, whose layout changes between versions.
"""

import inspect
from collections.abc import Iterator

import click
from msgspec import Struct

__all__ = ["CommandPage", "OptionRow", "walk"]


class OptionRow(Struct, frozen=True, kw_only=True):
    """One option as a user writes it."""

    #: `-o, --output`
    names: str
    #: `FILE`, `page|host|any`; empty for a switch.
    value: str
    help: str
    #: Empty: nothing worth telling.
    default: str
    repeats: bool


class CommandPage(Struct, frozen=True, kw_only=True):
    """All there is to say about one command."""

    #: `skitter config show`
    path: str
    usage: str
    #: The help text, one paragraph each; the first is the summary.
    paragraphs: tuple[str, ...]
    options: tuple[OptionRow, ...]
    examples: tuple[str, ...]


def walk(command: click.Command, parent: click.Context | None = None) -> Iterator[CommandPage]:
    """The command and all below it, depth first, hidden ones left out."""
    # With the command's own settings: click keeps the help option that the first context makes.
    settings = command.context_settings
    context = click.Context(command, parent=parent, info_name=command.name, **settings)
    yield _page(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield from walk(child, context)


def _page(command: click.Command, context: click.Context) -> CommandPage:
    options = [param for param in command.params if isinstance(param, click.Option)]
    return CommandPage(
        path=context.command_path,
        usage=_usage(command, context),
        paragraphs=_paragraphs(command.help or ""),
        options=tuple(_row(option) for option in options if not option.hidden),
        examples=_examples(command.epilog or ""),
    )


def _usage(command: click.Command, context: click.Context) -> str:
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    words = [context.command_path, "[OPTIONS]", *map(_argument, arguments)]
    if isinstance(command, click.Group):
        words.append("COMMAND …")
    return " ".join(words)


def _argument(argument: click.Argument) -> str:
    name = argument.metavar or _choices(argument) or (argument.name or "").upper()
    many = "" if argument.nargs == 1 or name.endswith(("…", "...")) else "…"
    return f"{name}{many}" if argument.required or argument.metavar else f"[{name}{many}]"


def _row(option: click.Option) -> OptionRow:
    takes_value = not option.is_flag and not option.count
    value = option.metavar or _choices(option) or option.type.name.split()[0].upper()
    names = ", ".join(sorted(option.opts, key=len))
    off = f"/{', '.join(option.secondary_opts)}" if option.secondary_opts else ""
    return OptionRow(
        names=names + off,
        value=value if takes_value else "",
        help=" ".join((option.help or "").split()),
        default=_default(option),
        repeats=option.multiple,
    )


def _choices(param: click.Parameter) -> str:
    return "|".join(map(str, param.type.choices)) if isinstance(param.type, click.Choice) else ""


def _default(option: click.Option) -> str:
    if isinstance(option.show_default, str):
        return option.show_default
    default = option.to_info_dict()["default"]
    shown = option.show_default and not callable(default) and default not in (None, (), False)
    return str(default) if shown else ""


def _paragraphs(text: str) -> tuple[str, ...]:
    clean = inspect.cleandoc(text).replace("\b", "").partition("\f")[0]
    return tuple(" ".join(part.split()) for part in clean.split("\n\n") if part.strip())


def _examples(epilog: str) -> tuple[str, ...]:
    lines = (line.strip() for line in epilog.replace("\b", "").splitlines())
    return tuple(line for line in lines if line and line != "Examples:")
