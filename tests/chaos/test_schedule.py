from collections import Counter

import pytest

from skitter.chaos.schedule import SIZES, FaultKind, Plan, Scenario, make_schedule


def plan(scenario: Scenario, seed: int = 1, **changes: object) -> Plan:
    values = {"duration_s": 60.0, "every_s": (2.0, 5.0)} | changes
    return Plan(scenario=scenario, seed=seed, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize("scenario", Scenario)
def test_a_seed_repeats_its_schedule_and_another_does_not(scenario: Scenario) -> None:
    assert make_schedule(plan(scenario, 7)) == make_schedule(plan(scenario, 7))
    assert make_schedule(plan(scenario, 7)) != make_schedule(plan(scenario, 8))


@pytest.mark.parametrize("seed", range(20))
def test_faults_keep_their_distance_and_end_in_time(seed: int) -> None:
    faults = make_schedule(plan(Scenario.KILL_WORKERS, seed))
    assert all(2 <= fault.after_s <= 5 for fault in faults)
    assert 50 < sum(fault.after_s for fault in faults) <= 60


@pytest.mark.parametrize("seed", range(20))
def test_everything_meets_every_kind_before_any_for_a_third_time(seed: int) -> None:
    faults = make_schedule(plan(Scenario.EVERYTHING, seed, duration_s=80.0))
    counts = Counter(fault.kind for fault in faults)
    assert set(counts) == set(FaultKind)
    assert max(counts.values()) <= min(counts.values()) + 1


def test_scale_goes_through_all_sizes_in_order() -> None:
    faults = make_schedule(plan(Scenario.SCALE))
    resized = [fault.workers for fault in faults if fault.kind is FaultKind.SCALE]
    assert (SIZES[0], *resized) == SIZES


def test_what_cannot_be_done_here_is_left_out() -> None:
    without = frozenset({FaultKind.CLOCK})
    kinds = {f.kind for f in make_schedule(plan(Scenario.EVERYTHING, without=without))}
    assert kinds == set(FaultKind) - without
    assert not make_schedule(
        plan(Scenario.TERM, without=frozenset({FaultKind.TERM}), duration_s=10.0)
    )
