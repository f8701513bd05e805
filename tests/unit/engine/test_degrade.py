from hypothesis import given
from hypothesis import strategies as st

from skitter.engine.degrade import Degradation, Gauge, Ladder, Step

LADDER = Ladder(calm_s=5.0)


def gauges(*pressures: float) -> list[Gauge]:
    return [Gauge(name=str(number), pressure=p) for number, p in enumerate(pressures)]


def test_pressure_is_met_at_once_and_as_far_as_it_asks() -> None:
    degradation = Degradation(LADDER)
    assert not degradation.update(gauges(0.5, 0.79), 0.0)
    assert degradation.update(gauges(0.1, 0.96), 1.0)
    assert degradation.step is Step.LINKS_WAIT
    assert degradation.cause == Gauge(name="1", pressure=0.96)


def test_steps_are_left_one_at_a_time_after_a_calm() -> None:
    degradation = Degradation(LADDER)
    degradation.update(gauges(1.0), 0.0)
    steps = []
    for second in range(1, 30):
        degradation.update(gauges(0.2), float(second))
        steps.append(degradation.step)
    assert steps[4] is Step.STOPPED
    assert sorted(set(steps), reverse=True) == [4, 3, 2, 1, 0]
    assert steps.index(Step.NORMAL) - steps.index(Step.LOW_BANDS_WAIT) == 5
    assert degradation.cause is None


def test_pressure_just_below_a_step_does_not_leave_it() -> None:
    degradation = Degradation(LADDER)
    degradation.update(gauges(0.82), 0.0)
    assert not any(degradation.update(gauges(0.77), second) for second in range(100))
    assert degradation.step is Step.LOW_BANDS_WAIT


def test_a_new_rise_ends_the_calm() -> None:
    degradation = Degradation(LADDER)
    degradation.update(gauges(0.82), 0.0)
    degradation.update(gauges(0.1), 1.0)
    degradation.update(gauges(0.78), 5.0)
    assert not degradation.update(gauges(0.1), 6.1)
    assert degradation.update(gauges(0.1), 11.2)


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0.01, 60)), max_size=60))
def test_never_less_careful_than_the_pressure_asks(readings: list[tuple[float, float]]) -> None:
    degradation = Degradation(LADDER)
    now = 0.0
    for pressure, passed_s in readings:
        now += passed_s
        before = degradation.step
        degradation.update(gauges(pressure), now)
        assert degradation.step >= min(LADDER.step_for(pressure), Step.STOPPED)
        assert before - degradation.step <= 1
