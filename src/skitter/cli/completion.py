"""`skitter completion`: the script that teaches a shell our commands."""

import click
from click.shell_completion import get_completion_class

from skitter.cli.options import examples

__all__ = ["completion"]


@click.command(
    epilog=examples(
        "skitter completion bash > ~/.local/share/bash-completion/completions/skitter",
        'skitter completion zsh > "${fpath[1]}/_skitter"',
        "skitter completion fish > ~/.config/fish/completions/skitter.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a shell completion script."""
    kind = get_completion_class(shell)
    if kind is None:
        message = f"click has no completion for {shell}"
        raise LookupError(message)
    root = ctx.find_root().command
    # Formatted here: `source()` first runs the shell to ask for its version, which a machine
    # that only prepares the script need not have.
    script = kind(root, {}, "skitter", "_SKITTER_COMPLETE")
    click.echo(script.source_template % script.source_vars())
