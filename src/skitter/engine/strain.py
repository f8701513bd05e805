"""Watches what a worker can run short of, and says how far it should go on."""

import asyncio
from collections.abc import Callable

from skitter.clock import Clock
from skitter.config.settings import Degrade
from skitter.engine.degrade import Degradation, Ladder, Step
from skitter.engine.pressure import PressureGauges
from skitter.errors import StorageFullError
from skitter.log import Log
from skitter.models import NO_STRAIN, Strain

__all__ = ["StrainWatch"]

_log = Log("skitter.engine")

#: How often the gauges are read.
_READ_S = 1.0
#: Who comes so late to that stood still; it was not the frontier that took its time.
_STOOD_STILL_S = 1.0


class StrainWatch:
    """Keeps `strain` up to date while `run` runs; `changed` is called when it is another."""

    def __init__(
        self,
        settings: Degrade,
        gauges: PressureGauges,
        clock: Clock,
        *,
        backlog: Callable[[], float],
        changed: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._gauges = gauges
        self._clock = clock
        self._backlog = backlog
        self._changed = changed
        self._degradation = Degradation(Ladder(calm_s=settings.calm_s))
        self._stopped_at: float | None = None
        self._asked_at: float | None = None
        self._lag_s = 0.0
        self.strain = NO_STRAIN

    def __enter__(self) -> None:
        """The frontier is asked something."""
        self._asked_at = self._clock.monotonic()

    def __exit__(self, *_exc: object) -> None:
        """It has answered."""
        self._lag_s, self._asked_at = self._waited_s(), None

    @property
    def keeps_bodies(self) -> bool:
        """False: there is no room for them."""
        return self.strain.step < Step.BODIES_NOT_KEPT

    async def run(self) -> None:
        """Read the gauges until cancelled; an error if nothing can be done for too long."""
        while self._settings.enabled:
            self._look()
            due_at = self._clock.monotonic() + _READ_S
            await asyncio.sleep(_READ_S)
            late_s = self._clock.monotonic() - due_at
            if late_s > _STOOD_STILL_S:
                self._discount(late_s)

    def _look(self) -> None:
        now = self._clock.monotonic()
        readings = self._gauges.read(backlog=self._backlog(), lag_s=self._waited_s())
        if self._degradation.update(readings, now):
            self._change()
            if self.strain.step < Step.LINKS_WAIT:
                self._stopped_at = None
            elif self._stopped_at is None:
                self._stopped_at = now
        if self._stopped_at is not None and now - self._stopped_at >= self._settings.patience_s:
            raise StorageFullError(
                f"short of something for {self._settings.patience_s:g} s"
                f" ({self.strain.cause}): make room and run it again; [degrade] has the limits"
            )

    def _change(self) -> None:
        step, cause = self._degradation.step, self._degradation.cause
        words = f"{cause.name}: {cause.reading}" if cause else ""
        self.strain = Strain(step=step, cause=words)
        log = _log.warning if step else _log.info
        log("worker.degraded", step=int(step), means=step.name.lower(), cause=words)
        self._changed()

    def _discount(self, late_s: float) -> None:
        """The answer may have been read already, or not."""
        if self._asked_at is None:
            self._lag_s = max(0.0, self._lag_s - late_s)
        else:
            self._asked_at += late_s

    def _waited_s(self) -> float:
        if self._asked_at is None:
            return self._lag_s
        return max(0.0, self._clock.monotonic() - self._asked_at)
