"""Child processes: started, watched, signalled. Linux forks, so that a start costs no imports."""

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from skitter import errors
from skitter.errors import SkitterError

__all__ = ["COORDINATOR_END", "Child", "cause_of", "run_child"]

_FORKS = sys.platform == "linux"
_context = multiprocessing.get_context("fork" if _FORKS else "spawn")

#: Ends a coordinator. SIGTERM may be sent to all processes of a crawl at once, by `timeout` or
#: systemd, and the workers need the coordinator to hand in what they have.
COORDINATOR_END = signal.SIGUSR1
#: What a child cannot answer before it has begun.
_EARLY = (signal.SIGINT, signal.SIGTERM, COORDINATOR_END)


class Child:
    """One child process. It ends by itself when its parent does."""

    def __init__(self, name: str, target: Callable[..., None], *arguments: object) -> None:
        self._told, tell = _context.Pipe(duplex=False)
        self._process: BaseProcess = _context.Process(  # type: ignore[attr-defined]
            target=_run, args=(tell, target, *arguments), name=name, daemon=True
        )
        with _signals_waiting():
            self._process.start()
        tell.close()
        #: The error of ours that ended it, once it has ended.
        self.failure: SkitterError | None = None
        self._ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._process.sentinel, self._on_end)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid or 0

    @property
    def exit_code(self) -> int | None:
        """None while it runs; the negative number of the signal that killed it."""
        return self._process.exitcode

    def signal(self, number: int) -> None:
        """Send a signal to a child that still runs."""
        if not self._ended.is_set() and self.exit_code is None:
            os.kill(self.pid, number)

    async def wait(self) -> int:
        """Its exit code, once it has ended."""
        await self._ended.wait()
        return self.exit_code or 0

    def _on_end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._process.sentinel)
        self._process.join()
        with suppress(EOFError, OSError):
            if self._told.poll():
                kind, message = self._told.recv()
                self.failure = getattr(errors, kind)(message)
        self._told.close()
        self._ended.set()


@contextmanager
def _signals_waiting() -> Iterator[None]:
    """Let signals wait. A child made meanwhile lets them through once it knows what to do.

    Until then it has the handlers of its parent: a signal would be lost on it, and be told to
    the parent, whose loop it still writes to.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _EARLY)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run(tell: Connection, target: Callable[..., None], *arguments: object) -> None:
    """In the child: an error of ours is told to the parent, which knows what to do about it."""
    try:
        target(*arguments)
    except (SkitterError, ExceptionGroup) as error:
        cause = cause_of(error)
        if not isinstance(cause, SkitterError):
            raise
        tell.send((type(cause).__name__, str(cause)))
        sys.exit(1)


def cause_of(error: Exception) -> Exception:
    """What a group of errors comes down to: one of ours if there is any, else the first."""
    if isinstance(error, ExceptionGroup):
        error = error.subgroup(SkitterError) or error
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def run_child(
    main: Callable[[asyncio.Event], Coroutine[Any, Any, None]],
    *,
    ended_by: signal.Signals = signal.SIGTERM,
) -> None:
    """Run a child's main; that signal sets the event it is given.

    Ctrl+C reaches the whole group and is the parent's business. What the parent had set up
    for its own signals must not be triggered by ours.
    """
    signal.set_wakeup_fd(-1)
    # To ignore one that waits would be to lose it.
    for number in {*_EARLY} - {ended_by}:
        signal.signal(number, signal.SIG_IGN)
    asyncio.run(_with_parent(main, ended_by))


async def _with_parent(
    main: Callable[[asyncio.Event], Coroutine[Any, Any, None]], ended_by: signal.Signals
) -> None:
    loop = asyncio.get_running_loop()
    parent = multiprocessing.parent_process()
    if parent is not None:
        loop.add_reader(parent.sentinel, os._exit, 1)
    stop = asyncio.Event()
    loop.add_signal_handler(ended_by, stop.set)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _EARLY)
    await main(stop)
