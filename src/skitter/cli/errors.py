"""The one place where an error becomes a line on standard error and an exit code.

0 finished, 1 internal failure or a check's "no", 2 bad usage or configuration, 3 interrupted
and resumable, 141 when whoever read our output went away (what a shell reports for SIGPIPE).
Standard output stays empty on an error.
"""

import os
import select
import sys
import traceback
from collections.abc import Callable
from typing import TextIO

import click

from skitter.cli.invocation import Invocation
from skitter.errors import SkitterError

__all__ = ["EXIT_INTERRUPTED", "EXIT_PIPE_CLOSED", "EXIT_USAGE", "discard_closed_output", "guarded"]

EXIT_INTERNAL = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 3
EXIT_PIPE_CLOSED = 141

#: What click calls its types, and what people do; the longer first.
_JARGON = {
    "a valid integer range": "a whole number",
    "a valid float range": "a number",
    "a valid integer": "a whole number",
    "a valid float": "a number",
}


def guarded(run: Callable[[], object], invocation: Invocation) -> int:
    """Call `run` and return the exit code; an int that it returns is the exit code."""
    try:
        returned = run()
        sys.stdout.flush()
    except BrokenPipeError:
        discard_closed_output()
        return EXIT_PIPE_CLOSED
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted", label="")
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001  (nothing may reach the user as a traceback)
        return _report(error, invocation)
    return returned if isinstance(returned, int) else 0


def discard_closed_output() -> bool:
    """True: nobody reads our output any more; what is buffered for it is thrown away.

    Otherwise the interpreter would fail to flush it, noisily, when it ends.
    """
    closed = [stream for stream in (sys.stdout, sys.stderr) if _is_closed(stream)]
    for stream in closed:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return bool(closed)


def _is_closed(stream: TextIO) -> bool:
    """Asks the kernel: the failed write has already emptied the stream's own buffer."""
    watch = select.poll()
    try:
        watch.register(stream.fileno(), 0)
    except (OSError, ValueError):
        return False
    return bool(watch.poll(0))


def _report(error: Exception, invocation: Invocation) -> int:
    if isinstance(error, SkitterError):
        # A bare `raise SomeError` speaks by its docstring, which is written as advice.
        _complain(str(error) or (type(error).__doc__ or "").strip())
        return error.exit_code
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.message, err=True)
        return EXIT_USAGE
    if isinstance(error, click.ClickException):
        _complain(_usage(error))
        return EXIT_USAGE
    if invocation.shows_traceback:
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
        return EXIT_INTERNAL
    summary = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    _complain(f"internal error: {summary}; run with --debug for the traceback")
    return EXIT_INTERNAL


def _usage(error: click.ClickException) -> str:
    message = error.format_message().rstrip(".")
    for jargon, words in _JARGON.items():
        message = message.replace(jargon, words)
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{message}; see '{context.command_path} --help'" if context else message


def _complain(message: str, label: str = "error: ") -> None:
    """One line, whatever the message holds: it may quote what a stranger wrote."""
    line = " ".join(message.split())
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
    click.secho(f"skitter: {label}", err=True, nl=False, fg="red", color=_wants_color())
    click.echo(line, err=True)


def _wants_color() -> bool | None:
    """False: never. None: click decides by whether standard error is a terminal."""
    return False if os.environ.get("NO_COLOR") else None
