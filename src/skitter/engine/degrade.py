"""What a worker leaves undone when it runs short of memory, disk or a prompt frontier.

Four steps, the next one deeper than the one before. They are entered as soon as the pressure
asks for them and left one at a time, when the pressure has been lower for a while: a crawl that
is near a limit does not flap.
"""

from enum import IntEnum

from msgspec import Struct

__all__ = ["Degradation", "Gauge", "Ladder", "Step"]


class Step(IntEnum):
    """How far down; each includes those above it."""

    #: Everything is done.
    NORMAL = 0
    #: Jobs of the two lowest of five bands wait.
    LOW_BANDS_WAIT = 1
    #: Pages are fetched and read, their bodies are not kept.
    BODIES_NOT_KEPT = 2
    #: Jobs that follow links wait, because a page done without them would lose its links.
    LINKS_WAIT = 3
    #: Nothing new is fetched.
    STOPPED = 4


class Gauge(Struct, frozen=True, kw_only=True):
    """One thing that can run short. `pressure` is 1 where it has run out."""

    name: str
    pressure: float
    #: For people: `3.1 GB of 4 GB`.
    reading: str = ""


class Ladder(Struct, frozen=True, kw_only=True):
    """Where steps begin and end."""

    #: The pressure at which each step after `NORMAL` is entered.
    enter: tuple[float, float, float, float] = (0.80, 0.90, 0.95, 0.98)
    #: A step is left when the pressure is this much below where it is entered …
    margin: float = 0.05
    #: … and has been for so long.
    calm_s: float = 5.0

    def step_for(self, pressure: float) -> Step:
        """The step that this pressure asks for."""
        return Step(sum(pressure >= threshold for threshold in self.enter))


class Degradation:
    """The current step and why. Times are monotonic seconds."""

    def __init__(self, ladder: Ladder) -> None:
        self._ladder = ladder
        self._calm_since: float | None = None
        self.step = Step.NORMAL
        #: What asked for the current step.
        self.cause: Gauge | None = None

    def update(self, gauges: list[Gauge], now: float) -> bool:
        """Take new readings; True if the step has changed."""
        worst = max(gauges, key=lambda gauge: gauge.pressure)
        wanted = self._ladder.step_for(worst.pressure)
        if wanted > self.step:
            self.step, self.cause, self._calm_since = wanted, worst, None
            return True
        if self.step is Step.NORMAL or not self._is_calm(worst.pressure):
            self._calm_since = None
            return False
        if self._calm_since is None:
            self._calm_since = now
        if now - self._calm_since < self._ladder.calm_s:
            return False
        self.step, self._calm_since = Step(self.step - 1), now
        self.cause = worst if self.step else None
        return True

    def _is_calm(self, pressure: float) -> bool:
        return pressure < self._ladder.enter[self.step - 1] - self._ladder.margin
