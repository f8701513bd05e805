"""What can be watched of a worker. A hook's failure is logged and never stops the crawl."""

from collections.abc import Callable, Iterable, Sequence

from skitter.fetch.base import FetchResult
from skitter.log import Log
from skitter.models import DomainNews, Lease, Record

__all__ = ["Hook", "Hooks"]

_log = Log("skitter.engine")


class Hook:
    """Called on the worker's own thread: be quick. Whoever inherits it sees what it cares for."""

    def sent(self, lease: Lease, at: float) -> None:
        """A request really leaves, at this monotonic time."""

    def fetched(self, lease: Lease, result: FetchResult) -> None:
        """A transfer ended."""

    def robots_fetched(self, url: str, result: FetchResult) -> None:
        """A transfer for robots.txt ended: one hop, one try."""

    def robots_read(self, origin: str, result: FetchResult) -> None:
        """What an origin's robots.txt is judged by from now on."""

    def recorded(self, records: Sequence[Record]) -> None:
        """These records are durable."""

    def held(self, domain: str, wait_s: float, reason: str) -> None:
        """A domain is left alone for so long from now, at least."""

    def domain_changed(self, news: DomainNews) -> None:
        """A breaker opened or closed, a site blocked us, a rate was lowered."""

    def close(self) -> None:
        """The worker is done."""


class Hooks:
    """Calls all hooks, each shielded from the others."""

    def __init__(self, hooks: Iterable[Hook] = ()) -> None:
        self._hooks = tuple(hooks)

    def sent(self, lease: Lease, at: float) -> None:
        """See `Hook.sent`."""
        for hook in self._hooks:
            _shielded(hook.sent, lease, at)

    def fetched(self, lease: Lease, result: FetchResult) -> None:
        """See `Hook.fetched`."""
        for hook in self._hooks:
            _shielded(hook.fetched, lease, result)

    def robots_fetched(self, url: str, result: FetchResult) -> None:
        """See `Hook.robots_fetched`."""
        for hook in self._hooks:
            _shielded(hook.robots_fetched, url, result)

    def robots_read(self, origin: str, result: FetchResult) -> None:
        """See `Hook.robots_read`."""
        for hook in self._hooks:
            _shielded(hook.robots_read, origin, result)

    def recorded(self, records: Sequence[Record]) -> None:
        """See `Hook.recorded`."""
        for hook in self._hooks:
            _shielded(hook.recorded, records)

    def held(self, domain: str, wait_s: float, reason: str) -> None:
        """See `Hook.held`."""
        for hook in self._hooks:
            _shielded(hook.held, domain, wait_s, reason)

    def domain_changed(self, news: DomainNews) -> None:
        """See `Hook.domain_changed`."""
        for hook in self._hooks:
            _shielded(hook.domain_changed, news)

    def close(self) -> None:
        """See `Hook.close`."""
        for hook in self._hooks:
            _shielded(hook.close)


def _shielded(call: Callable[..., None], *arguments: object) -> None:
    try:
        call(*arguments)
    except Exception:  # noqa: BLE001 - see the module
        _log.exception("hook.failed", hook=call.__qualname__)
