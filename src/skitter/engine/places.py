"""The places of a fleet: who works there now, and what was done there in this run."""

from enum import StrEnum

from msgspec import Struct

from skitter.engine.coordinator import WorkerReport
from skitter.engine.process import Child
from skitter.engine.pulse import Pulse
from skitter.models import Lease

__all__ = ["Place", "WorkerState", "WorkerStatus"]


class WorkerState(StrEnum):
    """`DRAINING` ends as `DRAINED`, without a successor; who is `DEAD` will have one."""

    WORKING = "working"
    IDLE = "idle"
    STARTING = "starting"
    DRAINING = "draining"
    DRAINED = "drained"
    DEAD = "dead"


class WorkerStatus(Struct, frozen=True, kw_only=True):
    """A worker for people to look at; `leases` are its checkpoints.

    `done` and `failed` count its predecessors in this run too.
    """

    id: str
    state: WorkerState
    pid: int | None
    restarts: int
    heard_s: float | None
    heartbeat_s: float
    timeout_s: float
    done: int
    failed: int
    leases: list[Lease]


class Place:
    """A worker's place in the fleet: its present holder, and how its predecessors fared."""

    def __init__(self, number: int) -> None:
        self.id = str(number)
        self.lives = 0
        self.child: Child | None = None
        self.started_at = 0.0
        self.wait_s = 0.0
        #: It ends by itself and has no successor.
        self.leaving = False
        self.left = False
        #: Its end was asked for.
        self.restarting = False
        self._done = self._failed = 0
        self._last: WorkerReport | None = None

    @property
    def name(self) -> str:
        """The name of this life: leases of an earlier one are not this one's."""
        return f"worker-{self.id}.{self.lives}"

    def count(self, report: WorkerReport | None) -> None:
        """Take note of what the present life has done, as the coordinator counted it."""
        self._last = report or self._last

    def settle(self) -> None:
        """What was counted stays counted: a life is over, or a new coordinator begins at 0."""
        if self._last is not None:
            self._done += self._last.done
            self._failed += self._last.failed
            self._last = None

    def status(self, report: WorkerReport | None, pulse: Pulse, *, ending: bool) -> WorkerStatus:
        """Everything about it; `ending`: all workers are told to leave."""
        if self.child is not None:
            self.count(report)
        last = self._last
        return WorkerStatus(
            id=self.id,
            state=self._state(report, ending=ending),
            pid=self.child.pid if self.child else None,
            restarts=max(0, self.lives - 1),
            heard_s=report.heard_s if report else None,
            heartbeat_s=pulse.heartbeat_s,
            timeout_s=pulse.timeout_s,
            done=self._done + (last.done if last else 0),
            failed=self._failed + (last.failed if last else 0),
            leases=report.leases if report else [],
        )

    def _state(self, report: WorkerReport | None, *, ending: bool) -> WorkerState:
        if self.child is None:
            return WorkerState.DRAINED if self.left else WorkerState.DEAD
        if self.leaving or ending:
            return WorkerState.DRAINING
        if report is None:
            return WorkerState.STARTING
        return WorkerState.WORKING if report.leases else WorkerState.IDLE
