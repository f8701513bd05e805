"""The command line's root: `skitter COMMAND`. Commands load when they are called."""

import importlib

import click

#: Command name -> "module:attribute"; loaded lazily so that `--help` stays instant.
COMMANDS = {
    "sim": "skitter.cli.sim:sim",
}


class LazyGroup(click.Group):
    """A group whose commands are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        target = COMMANDS.get(name)
        if target is None:
            return None
        module, _, attribute = target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@click.group(cls=LazyGroup)
def main() -> None:
    """Crawl web sites, politely, fast and without losing a page."""
