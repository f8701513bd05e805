"""The command line's root: `skitter COMMAND`. Commands load when they are called."""

import difflib
import functools
import importlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from skitter.cli.errors import EXIT_PIPE_CLOSED, discard_closed_output, guarded
from skitter.cli.invocation import Invocation
from skitter.cli.loading import Loading
from skitter.cli.options import SETTINGS, examples, share_options
from skitter.config.product import VERSION

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["COMMANDS", "Entry", "LazyGroup", "main"]


class Entry(NamedTuple):
    """A command that is not loaded yet."""

    #: "module:attribute"
    target: str
    #: The first sentence of the command's own help, without its full stop; a test compares them.
    summary: str


#: Every command, in the order of `skitter --help`.
COMMANDS = {
    "crawl": Entry(
        "skitter.cli.crawl:crawl",
        "Crawl web sites from their seed URLs and record every page",
    ),
    "workers": Entry(
        "skitter.cli.workers:workers",
        "Look at the workers of a running crawl, restart or drain one",
    ),
    "domains": Entry(
        "skitter.cli.domains:domains",
        "Look at the domains of a crawl, change their rates, hold or block one",
    ),
    "show": Entry("skitter.cli.show:show", "Show the record of a URL"),
    "why": Entry("skitter.cli.why:why", "Say why a URL was fetched, skipped, or is waiting"),
    "export": Entry("skitter.cli.export:export", "Write the records of a job to files"),
    "jobs": Entry("skitter.cli.jobs:jobs", "Look at the jobs of a data folder, or delete one"),
    "audit": Entry(
        "skitter.cli.audit:audit",
        "Check that a crawl lost nothing, doubled nothing and was polite",
    ),
    "sim": Entry(
        "skitter.cli.sim:sim",
        "Serve a generated web on loopback, the same one for the same options",
    ),
    "bench": Entry(
        "skitter.cli.bench:bench",
        "Measure Skitter beside other crawlers on the same site",
    ),
    "chaos": Entry(
        "skitter.cli.chaos:chaos",
        "Kill and freeze a crawl's processes and compare its result with the truth",
    ),
    "config": Entry("skitter.cli.config:config", "Look at the configuration"),
    "doctor": Entry("skitter.cli.doctor:doctor", "Check that this machine can crawl"),
    "completion": Entry("skitter.cli.completion:completion", "Print a shell completion script"),
    "manual": Entry("skitter.cli.manual:manual", "Print the manual page"),
}


class LazyGroup(click.Group):
    """A group whose commands are imported on first use and whose errors are one line each."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """In the order of the table, which is the order people need them in."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """None: there is no such command."""
        entry = COMMANDS.get(cmd_name)
        return _imported(entry.target) if entry else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Add the nearest name to the complaint about an unknown one."""
        if args and args[0] not in COMMANDS and not ctx.resilient_parsing:
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f", did you mean '{near[0]}'" if near else ""
            message = f"No such command '{args[0]}'{hint}"
            raise click.UsageError(message, ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table alone: help imports no command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, f"{entry.summary}.") for name, entry in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """From the table too: a press of the tab key must not wait for imports."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415  (only then)

        options = click.Command.shell_complete(self, ctx, incomplete)
        commands = (
            CompletionItem(name, help=entry.summary)
            for name, entry in COMMANDS.items()
            if name.startswith(incomplete)
        )
        return [*commands, *options]

    def invoke(self, ctx: click.Context) -> object:
        """Keep a broken pipe from click, which takes any for its own output's and exits 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            if discard_closed_output():
                raise click.exceptions.Exit(EXIT_PIPE_CLOSED) from None
            message = "a connection broke"
            raise RuntimeError(message) from error

    def main(  # type: ignore[override]  # click's overloads differ by standalone_mode alone
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        **extra: Any,  # noqa: ANN401  (handed on to click as it came)
    ) -> NoReturn:
        """Run and exit. Every way to start the command line passes here, tests included."""
        extra.pop("standalone_mode", None)
        invocation = extra.setdefault("obj", Invocation())
        run = functools.partial(
            super().main, args, prog_name or "skitter", standalone_mode=False, **extra
        )
        sys.exit(guarded(run, invocation))


@functools.cache
def _imported(target: str) -> click.Command:
    module, _, attribute = target.partition(":")
    with Loading():
        command: click.Command = getattr(importlib.import_module(module), attribute)
    share_options(command)
    return command


@click.group(
    name="skitter",
    cls=LazyGroup,
    context_settings=SETTINGS,
    epilog=examples(
        "skitter crawl https://example.com -o pages.jsonl",
        "skitter show https://example.com",
        "skitter sim --hosts 20",
        "skitter doctor",
    ),
)
@click.version_option(VERSION, "-V", "--version", message="skitter %(version)s")
def main() -> None:
    """Crawl web sites, politely, fast and without losing a page."""


share_options(main)
