"""What is over budget is granted as something to drop: no rate is spent, no restart forgets."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from skitter.clock import Clock
from skitter.frontier.base import Frontier
from skitter.frontier.budgets import BudgetPolicy
from skitter.frontier.health import Rules
from skitter.frontier.sqlite import SqliteFrontier
from skitter.models import DropReason, Outcome
from skitter.politeness.rates import Rate

from .stage import BACKOFF, LEASE_S, OverSocket, Stage, add_up, page

POLICY = BudgetPolicy(domain_pages=3, barren_pages=2)


def open_sqlite(folder: Path, clock: Clock, rate: Rate, rules: Rules) -> Frontier:
    return SqliteFrontier(
        folder / "frontier.sqlite",
        clock=clock,
        default_rate=rate,
        backoff=BACKOFF,
        rules=rules,
        budgets=POLICY,
        lease_s=LEASE_S,
    )


def open_remote(folder: Path, clock: Clock, rate: Rate, rules: Rules) -> Frontier:
    return cast("Frontier", OverSocket(open_sqlite(folder, clock, rate, rules)))


@pytest.fixture(params=[open_sqlite, open_remote], ids=["sqlite", "remote"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    made = Stage(request.param, tmp_path / "stage")
    yield made
    made.close()


ENDS = pytest.mark.parametrize("end", [None, Stage.reopen, Stage.kill])


def fetch(stage: Stage, outcome: Outcome = Outcome.DONE, **fields: object) -> str:
    """Lease the next page, when its domain is due, and end it."""
    stage.clock.turn(1.0)
    lease = stage.lease_one()
    assert lease.drop is None
    stage.fetched("w", {lease.token: 0.0})
    stage.end(lease, outcome, **fields)
    url: str = lease.request.url
    return url


@ENDS
def test_a_domain_beyond_its_cap_is_dropped_at_once(
    stage: Stage, end: Callable[[Stage], None] | None
) -> None:
    stage.job()
    stage.add("job", [page(n) for n in range(6)])
    for outcome in (Outcome.DONE, Outcome.REDIRECTED, Outcome.FAILED):
        fetch(stage, outcome)
    if end is not None:
        end(stage)
    stage.clock.turn(1.0)
    # No rate and no slot: all at once, where one in flight and one a second are allowed.
    leases = stage.lease("w", 10).leases
    assert [lease.drop for lease in leases] == [DropReason.BUDGET] * 3
    for lease in leases:
        stage.end(lease, Outcome.DROPPED, reason="budget")
    (info,) = stage.jobs()
    assert add_up(info)
    assert info.counts.dropped == {"budget": 3}


@ENDS
def test_a_barren_pattern_is_dropped_and_others_are_not(
    stage: Stage, end: Callable[[Stage], None] | None
) -> None:
    stage.job()
    stage.add("job", [page("day/0")])
    for n in range(3):
        fetch(stage, text=7, links=(page(f"day/{n + 1}"),))
    if end is not None:
        end(stage)
    stage.clock.turn(1.0)
    lease = stage.lease_one()
    assert (lease.request.url, lease.drop) == ("http://a.test/day/3", DropReason.BUDGET)


def test_a_retry_does_not_count_twice(stage: Stage) -> None:
    stage.job()
    stage.add("job", [page(n) for n in range(3)])
    fetch(stage, Outcome.RETRY)
    assert sorted(fetch(stage) for _ in range(3)) == [f"http://a.test/{n}" for n in range(3)]


def test_what_is_taken_back_is_judged_anew(stage: Stage) -> None:
    stage.job()
    stage.add("job", [page("a/a/a/a")])
    stage.clock.turn(1.0)
    assert stage.lease_one("dead").drop is DropReason.TRAP
    assert stage.reap("dead") == 1
    assert stage.lease_one().drop is DropReason.TRAP


def test_a_deleted_job_leaves_no_budget(stage: Stage) -> None:
    stage.job()
    stage.add("job", [page(n) for n in range(3)])
    for _ in range(3):
        fetch(stage)
    stage.delete_job("job")
    stage.job()
    stage.add("job", [page(9)])
    assert fetch(stage) == "http://a.test/9"


def test_a_folder_without_budgets_gets_them(stage: Stage, tmp_path: Path) -> None:
    stage.job()
    stage.add("job", [page(n) for n in range(4)])
    fetch(stage)
    stage.reopen()
    with closing(sqlite3.connect(tmp_path / "stage" / "0" / "frontier.sqlite")) as file:
        file.execute("DROP TABLE budget")
        file.commit()
    stage.reopen()
    assert len({fetch(stage) for _ in range(3)}) == 3


def test_the_first_pages_are_asked_for_their_text(stage: Stage) -> None:
    stage.job()
    stage.add("job", [page(1)])
    stage.clock.turn(1.0)
    assert stage.lease_one().wants_text
