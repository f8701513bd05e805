"""Ctrl+C and SIGTERM while modules load. Imports little itself: it comes before everything else."""

import os
import signal
import sys

__all__ = ["Loading"]

#: Signal -> what it does where nobody has said otherwise.
_USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


class Loading:
    """While inside, Ctrl+C and SIGTERM end the program on the spot, with one line.

    Nothing has begun that would need to be cleaned up, and a `KeyboardInterrupt` in the middle of
    an import may come out of it as any other error. Afterwards both raise it, so that what has
    begun is cleaned up.
    """

    def __enter__(self) -> None:
        # Whoever ignores them, or handles them, goes on doing so.
        self._ours = [n for n, usual in _USUAL.items() if signal.getsignal(n) == usual]
        self._set(_leave)

    def __exit__(self, *_exc: object) -> None:
        self._set(signal.default_int_handler)

    def _set(self, handler: object) -> None:
        for number in self._ours:
            signal.signal(number, handler)  # type: ignore[arg-type]


def _leave(_number: int, _frame: object) -> None:
    sys.stderr.write("skitter: interrupted\n")
    sys.stderr.flush()
    os._exit(3)
