"""What can be watched of a worker. A hook's failure is logged and never stops the crawl."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import structlog

from skitter.fetch.base import FetchResult
from skitter.models import Lease, Record

__all__ = ["Hook", "Hooks"]

_log = structlog.get_logger("skitter.engine")


class Hook(Protocol):
    """Called on the worker's own thread: be quick."""

    def fetched(self, lease: Lease, result: FetchResult) -> None:
        """A transfer ended."""
        ...

    def recorded(self, records: Sequence[Record]) -> None:
        """These records are durable."""
        ...

    def held(self, domain: str, wait_s: float, reason: str) -> None:
        """A domain is left alone for a while."""
        ...


class Hooks:
    """Calls all hooks, each shielded from the others."""

    def __init__(self, hooks: Iterable[Hook] = ()) -> None:
        self._hooks = tuple(hooks)

    def fetched(self, lease: Lease, result: FetchResult) -> None:
        """See `Hook.fetched`."""
        for hook in self._hooks:
            _shielded(hook.fetched, lease, result)

    def recorded(self, records: Sequence[Record]) -> None:
        """See `Hook.recorded`."""
        for hook in self._hooks:
            _shielded(hook.recorded, records)

    def held(self, domain: str, wait_s: float, reason: str) -> None:
        """See `Hook.held`."""
        for hook in self._hooks:
            _shielded(hook.held, domain, wait_s, reason)


def _shielded(call: Callable[..., None], *arguments: object) -> None:
    try:
        call(*arguments)
    except Exception:  # noqa: BLE001 - see the module
        _log.exception("hook.failed", hook=call.__qualname__)
