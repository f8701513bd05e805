"""A worker that is short of something is given less, and nothing is lost by it."""

import pytest

from skitter.models import JobSpec, Scope, Strain

from .stage import Stage, page

#: Job -> its priority, and whether it follows links.
JOBS = {"low": (20, True), "plain": (None, True), "high": (100, True), "flat": (90, False)}


@pytest.fixture
def jobs(free: Stage) -> Stage:
    for number, (name, (priority, follows)) in enumerate(JOBS.items()):
        spec = JobSpec(
            seeds=("http://a.test/",), scope=Scope.HOST if follows else Scope.PAGE, depth=3
        )
        free.open_job(name, f"id-of-{name}", spec, max_pages=None, priority=priority)
        free.add(name, [page(number, f"{name}.test")])
    return free


@pytest.mark.parametrize(
    ("step", "served"),
    [
        (0, {"low", "plain", "high", "flat"}),
        (1, {"plain", "high", "flat"}),
        (2, {"plain", "high", "flat"}),
        (3, {"flat"}),
        (4, set()),
    ],
)
def test_who_waits(jobs: Stage, step: int, served: set[str]) -> None:
    grant = jobs.lease("w", 100, Strain(step=step))
    assert {lease.job for lease in grant.leases} == served
    rest = jobs.lease("w", 100)
    assert {lease.job for lease in rest.leases} == set(JOBS) - served


def test_priority_survives_a_restart_and_can_be_changed(jobs: Stage) -> None:
    jobs.kill()
    assert {info.name: info.priority for info in jobs.jobs()} == {
        name: priority for name, (priority, _) in JOBS.items()
    }
    spec = jobs.info("low").spec
    jobs.open_job("low", "id-of-low", spec, max_pages=None, priority=41)
    leases = jobs.lease("w", 100, Strain(step=1)).leases
    assert {lease.job for lease in leases} == set(JOBS)


def test_a_domain_of_two_jobs_serves_the_one_that_may(free: Stage) -> None:
    spec = JobSpec(seeds=("http://a.test/",))
    free.open_job("low", "id-of-low", spec, max_pages=None, priority=1)
    free.open_job("high", "id-of-high", spec, max_pages=None, priority=60)
    free.add("low", [page(1, "a.test", priority=50)])
    free.add("high", [page(2, "a.test")])
    leases = free.lease("w", 100, Strain(step=1)).leases
    assert [lease.job for lease in leases] == ["high"]
