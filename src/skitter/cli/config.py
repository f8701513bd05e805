"""`skitter config`: what is set, and by whom."""

import sys

import click
import msgspec
from msgspec.structs import asdict

from skitter.cli.invocation import Invocation
from skitter.cli.options import examples
from skitter.config.catalogue import DOMAINS, settings_by_name, value_of
from skitter.config.load import DEFAULT, Loaded
from skitter.config.secrets import masked_setting

__all__ = ["config"]


@click.group()
def config() -> None:
    """Look at the configuration."""


@config.command(
    epilog=examples(
        "skitter config show",
        "skitter config show --config production.toml --json",
        "SKITTER_FETCH__TIMEOUT_S=10 skitter config show",
    )
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def show(invocation: Invocation, as_json: bool) -> None:
    """Show each setting and where its value comes from.

    Later sources win: defaults, skitter.toml, environment variables (SKITTER_FETCH__TIMEOUT_S),
    flags. Passwords in URLs are not shown. Away from a terminal the lines are valid TOML.
    """
    loaded = invocation.load()
    if as_json:
        click.echo(msgspec.json.encode(_rows(loaded)))
    elif sys.stdout.isatty():
        _print_table(loaded)
    else:
        click.echo(_toml(loaded))


def _rows(loaded: Loaded) -> dict[str, dict[str, object]]:
    rows: dict[str, dict[str, object]] = {
        name: {
            "value": masked_setting(name, value_of(loaded.settings, name)),
            "source": loaded.sources[name],
        }
        for name in settings_by_name()
    }
    for domain, own in loaded.settings.domains.items():
        for key, value in asdict(own).items():
            if value is not None and value is not False:
                source = loaded.sources[f"{DOMAINS}.{domain}"]
                rows[f'{DOMAINS}."{domain}".{key}'] = {"value": value, "source": source}
    return rows


def _written(value: object) -> str:
    """As in TOML, whose strings, numbers, lists and booleans are JSON's."""
    return "" if value is None else msgspec.json.encode(value).decode()


def _toml(loaded: Loaded) -> str:
    lines = []
    for name, row in _rows(loaded).items():
        is_set = row["value"] is not None
        shown = f"{name} = {_written(row['value'])}" if is_set else f"# {name} is not set"
        lines.append(f"{shown}  # {row['source']}")
    return "\n".join(lines)


def _print_table(loaded: Loaded) -> None:
    from rich.console import Console  # noqa: PLC0415  (only on a terminal)
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table("setting", "value", "from", box=None, pad_edge=False, header_style="bold")
    for name, row in _rows(loaded).items():
        style = "dim" if row["source"] == DEFAULT else ""
        cells = (name, _written(row["value"]), str(row["source"]))
        table.add_row(*(Text(cell, overflow="fold") for cell in cells), style=style)
    Console().print(table)
