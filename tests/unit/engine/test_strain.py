"""Whose fault it is that an answer of the frontier took long."""

import asyncio
from pathlib import Path

import pytest

from skitter.config.settings import Degrade
from skitter.engine import strain
from skitter.engine.degrade import Step
from skitter.engine.pressure import PressureGauges
from skitter.engine.strain import StrainWatch

SETTINGS = Degrade(max_lag_s=10.0, min_free_disk_mb=0, memory_mb=100_000)


class Turned:
    """Stands still until it is turned."""

    now = 100.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


async def step_after(folder: Path, turns_s: list[float]) -> Step:
    """The worst step while an answer is awaited and time passes in such leaps."""
    clock, looked, steps = Turned(), asyncio.Event(), [0]

    def backlog() -> float:  # asked at every look
        looked.set()
        steps.append(watch.strain.step)
        return 0.0

    gauges = PressureGauges(SETTINGS, folder, workers=1)
    watch = StrainWatch(SETTINGS, gauges, clock, backlog=backlog, changed=lambda: None)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(watch.run())
        with watch:
            for turn_s in (*turns_s, 0.0, 0.0):
                await looked.wait()
                looked.clear()
                clock.now += turn_s
        await looked.wait()
        task.cancel()
    return Step(max(steps))


@pytest.mark.parametrize(
    ("turns_s", "step"),
    [
        # One leap: it was us who stood still, so nobody knows how long the answer took.
        ([9.7], Step.NORMAL),
        # We looked on all the time.
        ([0.97] * 10, Step.LOW_BANDS_WAIT),
    ],
)
def test_standing_still_is_not_held_against_the_frontier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turns_s: list[float], step: Step
) -> None:
    monkeypatch.setattr(strain, "_READ_S", 0.001)
    assert asyncio.run(step_after(tmp_path, turns_s)) is step
