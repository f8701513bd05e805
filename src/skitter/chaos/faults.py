"""Doing a fault to a running crawl, and noting what was done to whom and when."""

import signal
from collections.abc import Callable, Sequence

from skitter.chaos.crawl import Crawl
from skitter.chaos.damage import Done
from skitter.chaos.evidence import leased_urls
from skitter.chaos.freezing import Freezer, stop_still
from skitter.chaos.processes import Handle, ask_workers, children, open_child
from skitter.chaos.schedule import Fault, FaultKind
from skitter.chaos.wallclock import WallClock
from skitter.clock import Clock
from skitter.engine.places import WorkerStatus

__all__ = ["Faults"]

#: A worker is frozen for so many leases: the first to lose them, the others to be sure. One that
#: stalls wakes when it must let go of its transfers, but nobody has taken its leases yet.
_FROZEN_LEASES = {FaultKind.FREEZE: 3.0, FaultKind.STALL: 0.8}

#: Exit code of a run that was interrupted and can be resumed.
_INTERRUPTED = 3
#: A crawl that has not ended so long after SIGTERM will not.
_MAX_STOP_S = 60.0
#: Between two looks at something that another process changes.
_LOOK_EVERY_S = 0.05
#: A crawl that starts, or whose coordinator does, is waited for so long.
_PATIENCE_S = 10.0
#: Children whose parent was killed notice it, and end, in less.
_NOTICED_S = 1.0


class Faults:
    """Does what a schedule says. After some faults the crawl has ended: start it again."""

    def __init__(
        self, crawl: Crawl, *, lease_s: float, clock: Clock, wall: WallClock | None
    ) -> None:
        self._crawl = crawl
        self._lease_s = lease_s
        self._clock = clock
        self._wall = wall
        #: When to wake whom.
        self._frozen: list[tuple[float, Handle]] = []
        self._ways: dict[FaultKind, Callable[[Fault], Done | None]] = {
            FaultKind.KILL_WORKER: self._kill_worker,
            FaultKind.KILL_COORDINATOR: lambda _fault: self._kill_coordinator(),
            FaultKind.KILL_MAIN: lambda _fault: self._kill_main(),
            FaultKind.KILL_ALL: lambda _fault: self._kill_all(),
            FaultKind.FREEZE: self._freeze,
            FaultKind.STALL: self._freeze,
            FaultKind.TERM: lambda _fault: self._stop(FaultKind.TERM),
            FaultKind.SCALE: self._scale,
            FaultKind.CLOCK: self._move_clock,
        }

    def do(self, fault: Fault) -> Done | None:
        """None: the crawl ended before, or there was nobody to do it to."""
        return self._ways[fault.kind](fault)

    @property
    def next_thaw_s(self) -> float | None:
        """When somebody is to be woken."""
        return min((due_s for due_s, _ in self._frozen), default=None)

    def thaw(self, *, everybody: bool = False) -> None:
        """Let those go on whose time is over; a supervisor may have killed them meanwhile."""
        now_s = self._clock.monotonic()
        for due in list(self._frozen):
            due_s, handle = due
            if everybody or due_s <= now_s:
                handle.signal(signal.SIGCONT)
                handle.close()
                self._frozen.remove(due)

    def _kill_worker(self, fault: Fault) -> Done | None:
        if self._crawl.workers == 1:
            return self._kill_main()  # it does the work itself
        victim = _chosen(self._wait_for_workers(), fault.pick)
        handle = self._open(victim.pid if victim else None)
        if victim is None or handle is None:
            return None
        held = self._weigh(victim, handle) if fault.weighed else None
        at_s = self._clock.monotonic()
        over_s = self._end(handle)
        what = f"worker {victim.id}" + ("" if held is None else f" holding {len(held)}")
        return Done(kind=fault.kind, at_s=at_s, over_s=over_s, what=what, held=held)

    def _end(self, handle: Handle) -> float:
        """Kill it; returns when it was surely dead."""
        handle.signal(signal.SIGKILL)
        handle.wait_ended(_PATIENCE_S)
        handle.close()
        return self._clock.monotonic()

    def _weigh(self, victim: WorkerStatus, handle: Handle) -> tuple[str, ...] | None:
        """What it has leased, asked while it stands still. None: the coordinator was away."""
        stop_still(self._crawl, handle, self._clock)
        # What it said last is on its way; it can take nothing new after that.
        self._crawl.wait(_LOOK_EVERY_S)
        for status in ask_workers(self._crawl.data):
            if status.pid == victim.pid:
                return tuple(lease.request.url for lease in status.leases)
        return None

    def _kill_coordinator(self) -> Done | None:
        if self._crawl.workers == 1:
            return self._kill_main()
        workers = {status.pid for status in self._wait_for_workers()}
        others = [pid for pid in children(self._crawl.pid) if pid not in workers]
        # A worker that started just now is not yet among the workers; then there are two.
        handle = self._open(others[0]) if len(others) == 1 else None
        if handle is None:
            return None
        at_s = self._clock.monotonic()
        over_s = self._end(handle)
        # Workers keep what they have.
        return Done(
            kind=FaultKind.KILL_COORDINATOR,
            at_s=at_s,
            over_s=over_s,
            what="the coordinator",
            held=(),
        )

    def _kill_main(self) -> Done | None:
        self.thaw(everybody=True)
        if self._crawl.poll() is not None:
            return None
        at_s = self._clock.monotonic()
        self._crawl.signal(signal.SIGKILL)
        self._crawl.wait(_PATIENCE_S)
        over_s = self._clock.monotonic() + _NOTICED_S
        return Done(kind=FaultKind.KILL_MAIN, at_s=at_s, over_s=over_s, what="the main process")

    def _kill_all(self) -> Done | None:
        opened = [self._open(pid) for pid in children(self._crawl.pid)]
        victims = [handle for handle in opened if handle is not None]
        if self._crawl.poll() is not None:
            return None
        at_s = self._clock.monotonic()
        self._crawl.signal(signal.SIGKILL)
        for handle in victims:
            handle.signal(signal.SIGKILL)
        self._crawl.wait(_PATIENCE_S)
        over_s = max(map(self._end, victims), default=self._clock.monotonic())
        self.thaw(everybody=True)
        return Done(
            kind=FaultKind.KILL_ALL,
            at_s=at_s,
            over_s=over_s,
            what=f"all {len(victims) + 1} processes",
            held=leased_urls(self._crawl),
        )

    def _freeze(self, fault: Fault) -> Done | None:
        if self._crawl.workers == 1:
            return None
        frozen = {handle.pid for _, handle in self._frozen}
        awake = [status for status in self._wait_for_workers() if status.pid not in frozen]
        victim = _chosen(awake, fault.pick)
        handle = self._open(victim.pid if victim else None)
        if victim is None or handle is None:
            return None
        leases = _FROZEN_LEASES[fault.kind]
        if fault.kind is FaultKind.FREEZE and fault.weighed:
            name = f"worker-{victim.id}.{victim.restarts + 1}"
            freezer = Freezer(self._crawl, self._clock, leases * self._lease_s)
            return freezer.freeze(name, handle)
        at_s = self._clock.monotonic()
        over_s = stop_still(self._crawl, handle, self._clock)
        held = self._weigh(victim, handle)
        self._frozen.append((at_s + leases * self._lease_s, handle))
        what = f"worker {victim.id} for {leases:g} leases"
        return Done(kind=fault.kind, at_s=at_s, over_s=over_s, what=what, held=held)

    def _stop(self, kind: FaultKind, what: str = "the crawl") -> Done | None:
        # A frozen child cannot be asked to stop; how long a crawl waits for one is another matter.
        self.thaw(everybody=True)
        if self._crawl.workers > 1:
            self._wait_for_workers()
        if self._crawl.poll() is not None:
            return None
        at_s = self._clock.monotonic()
        self._crawl.signal(signal.SIGTERM)
        ended = self._crawl.wait(_MAX_STOP_S)
        over_s = self._clock.monotonic()
        stop_s = over_s - at_s
        if not ended:
            self._crawl.close()
        code = self._crawl.poll()
        if code == 0:
            return None  # it had just finished
        if code == -signal.SIGTERM and self._crawl.workers == 1:
            code = None  # Python itself had not begun; with more workers we waited for them
        problem = "" if code in {None, _INTERRUPTED} else f", exit code {code}"
        return Done(
            kind=kind,
            at_s=at_s,
            over_s=over_s,
            what=f"{what}, out in {stop_s:.1f} s{problem}",
            held=(),
            stop_s=stop_s,
            exit_code=code,
        )

    def _scale(self, fault: Fault) -> Done | None:
        before = self._crawl.workers
        done = self._stop(FaultKind.SCALE, f"{before} to {fault.workers} workers")
        if done is not None:
            self._crawl.workers = fault.workers
        return done

    def _move_clock(self, fault: Fault) -> Done | None:
        """The clock of one worker jumps; those of the others stay."""
        if self._wall is None:
            return None
        # With one worker the main process does the work itself.
        workers = self._wait_for_workers() if self._crawl.workers > 1 else []
        victim = _chosen(workers, fault.pick)
        if victim is None and self._crawl.workers > 1:
            return None
        at_s = self._clock.monotonic()
        pid = victim.pid if victim and victim.pid else self._crawl.pid
        self._wall.move(pid, fault.jump_s)
        what = f"worker {victim.id if victim else 1} at {fault.jump_s:+d} s"
        return Done(kind=fault.kind, at_s=at_s, over_s=at_s, what=what, held=())

    def _open(self, pid: int | None) -> Handle | None:
        return open_child(self._crawl.pid, pid) if pid else None

    def _wait_for_workers(self) -> list[WorkerStatus]:
        """Those that run; empty: the crawl ended, or nobody appeared in time."""
        until_s = self._clock.monotonic() + _PATIENCE_S
        while self._clock.monotonic() < until_s:
            found = ask_workers(self._crawl.data)
            if found or self._crawl.wait(_LOOK_EVERY_S):
                return found
        return []


def _chosen(workers: Sequence[WorkerStatus], pick: float) -> WorkerStatus | None:
    return workers[min(int(pick * len(workers)), len(workers) - 1)] if workers else None
