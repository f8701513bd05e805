"""A domain with a long queue delays nobody: not a new job, not the other domains."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from skitter.frontier import policy
from skitter.frontier.sqlite import SqliteFrontier
from skitter.models import JobSpec, Lease, Request, Transfer
from skitter.politeness.backoff import BackoffPolicy
from skitter.politeness.rates import Rate
from skitter.urls.fingerprint import fingerprint

HUGE = 20_000
Play = Callable[[Coroutine[Any, Any, Any]], Any]


class StandingClock:
    def __init__(self) -> None:
        self.passed_s = 0.0

    def time(self) -> float:
        return 1_700_000_000.0 + self.passed_s

    def monotonic(self) -> float:
        return 5_000.0 + self.passed_s


class Crowd:
    """A frontier with a huge queue at `huge.test`."""

    def __init__(self, folder: Path) -> None:
        self.clock = StandingClock()
        self._runner = asyncio.Runner()
        self.run: Play = self._runner.run
        self.frontier = SqliteFrontier(
            folder / "frontier.sqlite",
            clock=self.clock,
            default_rate=Rate(),
            backoff=BackoffPolicy(),
        )
        self.job("old")
        self.add("old", [page(n, "huge.test") for n in range(HUGE)])

    def job(self, name: str) -> None:
        spec = JobSpec(seeds=("http://huge.test/",))
        self.run(self.frontier.open_job(name, name, spec, max_pages=None))

    def add(self, job: str, requests: list[Request]) -> None:
        self.run(self.frontier.add(job, requests))

    def lease(self, limit: int) -> list[Lease]:
        leases = self.run(self.frontier.lease("w", limit)).leases
        self.run(self.frontier.fetched("w", {lease.token: Transfer(age_s=0.0) for lease in leases}))
        return list(leases)

    def seconds(self, count: int, limit: int) -> list[Lease]:
        """What is leased in so many seconds, asked once in each."""
        leases = []
        for _ in range(count):
            leases += self.lease(limit)
            self.clock.passed_s += 1.0
        return leases

    def close(self) -> None:
        self.run(self.frontier.aclose())
        self._runner.close()


def page(path: object, domain: str, **fields: int) -> Request:
    url = f"http://{domain}/{path}"
    return Request(url=url, fingerprint=fingerprint(url), domain=domain, **fields)


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[Crowd]:
    made = Crowd(tmp_path)
    yield made
    made.close()


def test_a_new_job_on_a_domain_of_its_own_is_next(crowd: Crowd) -> None:
    crowd.lease(1)
    crowd.job("new")
    crowd.add("new", [page("", "new.test")])
    assert [lease.job for lease in crowd.lease(1)] == ["new"]


def test_a_new_job_on_the_crowded_domain_has_the_next_turn(crowd: Crowd) -> None:
    crowd.lease(1)
    crowd.job("new")
    crowd.add("new", [page(n, "huge.test") for n in ("a", "b")])
    crowd.clock.passed_s += 1.0
    leases = crowd.seconds(4, 1)
    assert Counter(lease.job for lease in leases) == {"old": 2, "new": 2}
    assert "new" in {lease.job for lease in leases[:2]}


def test_every_domain_gets_its_rate_beside_a_huge_one(crowd: Crowd) -> None:
    small = [f"s{n}.test" for n in range(50)]
    crowd.add("old", [page(n, domain) for domain in small for n in range(5)])
    leased = Counter(lease.request.domain for lease in crowd.seconds(5, 100))
    assert leased == {**dict.fromkeys(small, 5), "huge.test": 5}


def test_with_too_few_workers_the_domains_take_turns(crowd: Crowd) -> None:
    small = [f"s{n}.test" for n in range(9)]
    crowd.add("old", [page(n, domain) for domain in small for n in range(50)])
    leased = Counter(lease.request.domain for lease in crowd.seconds(100, 3))
    assert sum(leased.values()) == 300
    assert max(leased.values()) - min(leased.values()) <= 1


def test_priority_holds_however_long_the_queue(crowd: Crowd) -> None:
    crowd.add("old", [page("urgent", "huge.test", priority=50)])
    assert [lease.request.priority for lease in crowd.lease(1)] == [50]


def test_order_holds_when_memory_is_for_few_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "HEAP_ENTRIES", 8)
    monkeypatch.setattr(policy, "MEMORY_ENTRIES", 16)
    crowd = Crowd(tmp_path)
    domains = [f"m{n}.test" for n in range(40)]
    crowd.add("old", [page(n, d, priority=n % 3) for n in range(30) for d in domains])
    queues = [q for d in crowd.frontier._board.domains.values() for q in d.queues.values()]
    assert sum(queue.spillable for queue in queues) <= 3 * 16
    given: dict[str, list[tuple[int, str]]] = {}
    for lease in crowd.seconds(30, 100):
        request = lease.request
        given.setdefault(request.domain, []).append((request.priority, request.url))
    for domain in domains:
        expected = sorted(range(30), key=lambda n: (-(n % 3), n))
        assert given[domain] == [(n % 3, f"http://{domain}/{n}") for n in expected]
    crowd.close()
