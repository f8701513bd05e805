"""Ctrl+C while modules load. Imports little itself: it comes before everything else."""

import os
import signal
import sys

__all__ = ["Loading"]


class Loading:
    """While inside, Ctrl+C ends the program on the spot, with one line.

    Nothing has begun that would need to be cleaned up, and a `KeyboardInterrupt` in the middle of
    an import may come out of it as any other error.
    """

    def __enter__(self) -> None:
        self._before = signal.getsignal(signal.SIGINT)
        self._set(_leave)

    def __exit__(self, *_exc: object) -> None:
        self._set(self._before)

    def _set(self, handler: object) -> None:
        # Whoever ignores Ctrl+C, or handles it, goes on doing so.
        if self._before is signal.default_int_handler:
            signal.signal(signal.SIGINT, handler)  # type: ignore[arg-type]


def _leave(_number: int, _frame: object) -> None:
    sys.stderr.write("skitter: interrupted\n")
    sys.stderr.flush()
    os._exit(3)
