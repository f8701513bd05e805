"""A worker that stands still until others have its leases, and then goes on as if nothing were.

The supervisor would kill it long before, so it stands still as well: what is tried is whether the
coordinator alone keeps a worker from doing harm that nobody has killed.
"""

import signal

from skitter.chaos.crawl import Crawl
from skitter.chaos.damage import Done
from skitter.chaos.processes import Handle, ask_coordinator
from skitter.chaos.schedule import FaultKind
from skitter.clock import Clock
from skitter.engine.coordinator import WorkerReport

__all__ = ["GLANCE_S", "Freezer", "stop_still"]

#: Between two looks at a process, and at what the coordinator says of it.
GLANCE_S = 0.001
_LOOK_EVERY_S = 0.05
#: A worker that goes on is heard within this, and hands in what it has soon after.
_HEARD_S = 5.0
_HANDED_IN_S = 1.0


class Freezer:
    """Freezes one worker of a crawl, and its supervisor, for `seconds`."""

    def __init__(self, crawl: Crawl, clock: Clock, seconds: float) -> None:
        self._crawl = crawl
        self._clock = clock
        self._seconds = seconds

    def freeze(self, name: str, worker: Handle) -> Done | None:
        """Returns when both go on; None: the crawl ended before."""
        at_s = self._clock.monotonic()
        over_s = stop_still(self._crawl, worker, self._clock)
        self._crawl.signal(signal.SIGSTOP)
        if self._crawl.poll() is not None:
            worker.close()
            return None
        try:
            held, stale = self._watch(name, at_s + self._seconds)
            worker.signal(signal.SIGCONT)
            refused = self._wait_for_late_results(name)
        finally:
            worker.signal(signal.SIGCONT)
            worker.close()
            self._crawl.signal(signal.SIGCONT)
        return Done(
            kind=FaultKind.FREEZE,
            at_s=at_s,
            over_s=over_s,
            what=f"{name} and its supervisor for {self._seconds:g} s, {refused} results refused",
            held=held,
            stale=stale,
            refused=refused,
        )

    def _watch(self, name: str, until_s: float) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
        """What it had at first, None if that was not told; and what was taken from it in the end.

        The former may still lose what the worker handed in before it stood still.
        """
        held: tuple[str, ...] | None = None
        last: tuple[str, ...] = ()
        stale: tuple[str, ...] = ()
        self._crawl.wait(_LOOK_EVERY_S)
        while self._clock.monotonic() < until_s:
            reports = ask_coordinator(self._crawl.data)
            if reports:
                report = _of(name, reports)
                now = tuple(lease.request.url for lease in report.leases) if report else ()
                held = now if held is None else held
                # Taken back all at once.
                stale = last if last and not now else stale
                last = now
            self._crawl.wait(_LOOK_EVERY_S)
        return held, stale

    def _wait_for_late_results(self, name: str) -> int:
        """How many results it handed in that were refused, once it is heard again."""
        thawed_s = self._clock.monotonic()
        heard_s = None
        refused = 0
        while True:
            self._crawl.wait(_LOOK_EVERY_S)
            now_s = self._clock.monotonic()
            report = _of(name, ask_coordinator(self._crawl.data))
            if report is not None:
                refused = report.refused
                if heard_s is None and report.heard_s is not None:
                    heard_s = now_s if report.heard_s < now_s - thawed_s else None
            since_s = thawed_s + _HEARD_S if heard_s is None else heard_s + _HANDED_IN_S
            if (refused and heard_s) or now_s >= since_s:
                return refused


def stop_still(crawl: Crawl, handle: Handle, clock: Clock) -> float:
    """Freeze a process; returns when it surely stood still."""
    handle.signal(signal.SIGSTOP)
    while not handle.stands_still:
        crawl.wait(GLANCE_S)
    return clock.monotonic()


def _of(name: str, reports: list[WorkerReport]) -> WorkerReport | None:
    return next((report for report in reports if report.name == name), None)
