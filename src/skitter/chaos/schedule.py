"""What is done to a crawl and when: the same for the same seed, so a failure can be repeated."""

from collections.abc import Iterator
from enum import StrEnum
from random import Random

from msgspec import Struct

__all__ = ["SIZES", "Fault", "FaultKind", "Plan", "Scenario", "make_schedule"]

#: Workers of the `scale` scenario, a third of the time each.
SIZES = (1, 8, 2)

#: Seconds that a wall clock is moved by, in turn.
_JUMPS_S = (3600, -3600)

#: The supervisor gives up a coordinator that dies ten times without ever living five seconds.
_COORDINATOR_GAPS = 2.5


class FaultKind(StrEnum):
    """One thing that can happen to a crawl."""

    KILL_WORKER = "kill-worker"
    KILL_COORDINATOR = "kill-coordinator"
    #: The children notice and end by themselves, while the same command already runs again.
    KILL_MAIN = "kill-main"
    KILL_ALL = "kill-all"
    FREEZE = "freeze"
    #: Frozen for so short a time that its leases are still its own afterwards.
    STALL = "stall"
    TERM = "term"
    SCALE = "scale"
    CLOCK = "clock"


class Scenario(StrEnum):
    """A mixture of faults."""

    KILL_WORKERS = "kill-workers"
    KILL_COORDINATOR = "kill-coordinator"
    KILL_ALL = "kill-all"
    FREEZE = "freeze"
    SCALE = "scale"
    TERM = "term"
    CLOCK = "clock"
    EVERYTHING = "everything"
    SOAK = "soak"


#: Dealt in a random order, then again: so even a short run meets every kind.
_DECKS = {
    Scenario.KILL_WORKERS: (FaultKind.KILL_WORKER,),
    Scenario.KILL_COORDINATOR: (FaultKind.KILL_COORDINATOR,),
    Scenario.KILL_ALL: (FaultKind.KILL_ALL, FaultKind.KILL_MAIN),
    Scenario.FREEZE: (FaultKind.FREEZE, FaultKind.STALL),
    Scenario.SCALE: (
        *(FaultKind.KILL_WORKER, FaultKind.KILL_WORKER),
        *(FaultKind.KILL_COORDINATOR, FaultKind.FREEZE),
    ),
    Scenario.TERM: (FaultKind.TERM,),
    Scenario.CLOCK: (FaultKind.CLOCK, FaultKind.KILL_WORKER),
    Scenario.EVERYTHING: tuple(FaultKind),
    Scenario.SOAK: (FaultKind.KILL_WORKER,),
}


class Plan(Struct, frozen=True, kw_only=True):
    """What a schedule follows from."""

    scenario: Scenario
    seed: int
    #: The schedule's own length; a crawl that is killed often takes longer.
    duration_s: float
    #: Least and most time between two faults.
    every_s: tuple[float, float]
    #: Kinds that cannot be done here.
    without: frozenset[FaultKind] = frozenset()


class Fault(Struct, frozen=True, kw_only=True):
    """Something to be done, so long after the one before."""

    after_s: float
    kind: FaultKind
    #: From 0 to 1: which of those there are.
    pick: float = 0.0
    #: Stop the worker before it is killed, and ask what it had leased. Not always: a stop gives
    #: the coordinator time to hear what the worker said last, a plain kill does not.
    weighed: bool = False
    #: With how many workers to go on after `SCALE`.
    workers: int = 0
    jump_s: int = 0


def make_schedule(plan: Plan) -> list[Fault]:
    """All faults of a run, in order."""
    random = Random(plan.seed)  # noqa: S311  (to be repeated, not to be secret)
    kinds = _deal(plan, random)
    faults: list[Fault] = []
    elapsed_s, jumps, sizes = 0.0, 0, 1
    while (gap_s := _gap_s(plan, random)) + elapsed_s <= plan.duration_s:
        elapsed_s += gap_s
        grows = plan.scenario is Scenario.SCALE and sizes < len(SIZES)
        if grows and elapsed_s >= plan.duration_s * sizes / len(SIZES):
            faults.append(Fault(after_s=gap_s, kind=FaultKind.SCALE, workers=SIZES[sizes]))
            sizes += 1
            continue
        kind = next(kinds, None)
        if kind is None:
            break
        faults.append(
            Fault(
                after_s=gap_s,
                kind=kind,
                pick=random.random(),
                weighed=random.random() < 0.5,
                workers=random.choice((1, 2, 4, 8)) if kind is FaultKind.SCALE else 0,
                jump_s=_JUMPS_S[jumps % len(_JUMPS_S)] if kind is FaultKind.CLOCK else 0,
            )
        )
        jumps += kind is FaultKind.CLOCK
    return faults


def _gap_s(plan: Plan, random: Random) -> float:
    slower = _COORDINATOR_GAPS if plan.scenario is Scenario.KILL_COORDINATOR else 1.0
    return random.uniform(*plan.every_s) * slower


def _deal(plan: Plan, random: Random) -> Iterator[FaultKind]:
    deck = [kind for kind in _DECKS[plan.scenario] if kind not in plan.without]
    while deck:
        random.shuffle(deck)
        yield from deck
