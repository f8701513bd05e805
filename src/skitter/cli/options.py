"""Options that every command takes, before or after its name, and how help shows examples."""

import math
from pathlib import Path
from typing import Any

import click

from skitter.cli.invocation import Invocation

__all__ = ["SETTINGS", "Seconds", "examples", "share_options"]

#: For the root; click hands them down to every command.
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Seconds(click.FloatRange):
    """A time that a clock can count: float() also knows nan and inf."""

    def convert(
        self,
        value: Any,  # noqa: ANN401  (as click gives it)
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """The number, or a usage error."""
        seconds: float = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return seconds


def examples(*lines: str) -> str:
    r"""An epilog with one command per line; `\b` keeps click from joining them."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def share_options(command: click.Command) -> None:
    """Give a command and all below it the shared options. Harmless when done twice."""
    known = {name for param in command.params for name in param.opts}
    command.params.extend(option for option in _shared() if not known.intersection(option.opts))
    if isinstance(command, click.Group):
        for child in command.commands.values():
            share_options(child)


def _shared() -> tuple[click.Option, ...]:
    return (
        click.Option(
            ["--config"],
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            expose_value=False,
            callback=_set_config,
            help="Read settings from FILE instead of ./skitter.toml.",
        ),
        click.Option(
            ["-v", "--verbose"],
            count=True,
            expose_value=False,
            callback=_add_verbosity,
            help="Log what happens to standard error; twice for more.",
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            # Eager, so that a failure while other options are read is shown in full too.
            is_eager=True,
            callback=_set_debug,
            help="Show the traceback of an internal error.",
        ),
    )


def _invocation(ctx: click.Context) -> Invocation:
    return ctx.ensure_object(Invocation)


def _set_config(ctx: click.Context, _param: click.Parameter, value: Path | None) -> None:
    if value is not None:
        _invocation(ctx).config_path = value


def _add_verbosity(ctx: click.Context, _param: click.Parameter, value: int) -> None:
    _invocation(ctx).verbosity += value


def _set_debug(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        _invocation(ctx).debug = True
