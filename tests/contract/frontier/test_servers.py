"""Many names on one server: the server has a limit of its own."""

from collections.abc import Callable

from skitter.frontier.health import Rules
from skitter.models import JobState
from skitter.politeness.rates import Rate

from .stage import Stage, page

Make = Callable[..., Stage]

IP = "192.0.2.7"
DOMAINS = [f"d{n}.test" for n in range(6)]
FREE = Rate.of_delay(0.0)


def fill(stage: Stage, pages: int = 5) -> None:
    stage.job()
    stage.add("job", [page(n, domain) for n in range(pages) for domain in DOMAINS])


def known(make_stage: Make, concurrency: int = 2, delay_s: float = 0.0) -> Stage:
    """All domains have been asked once and are known to be on one server."""
    rules = Rules(server_concurrency=concurrency, server_delay_s=delay_s)
    stage = make_stage(FREE, rules)
    fill(stage)
    for lease in stage.lease("w", 6).leases:
        stage.reserve("w", {lease.token: IP})
        stage.end(lease)
    return stage


def test_places_are_reserved_once_names_are_resolved(make_stage: Make) -> None:
    stage = make_stage(FREE, Rules(server_concurrency=2))
    fill(stage)
    leases = stage.lease("w", 6).leases
    refused = stage.reserve("w", {lease.token: IP for lease in leases})
    assert list(refused) == [lease.token for lease in leases[2:]]
    assert min(refused.values()) > 0
    assert stage.reserve("thief", {leases[0].token: "192.0.2.8"}) == {}


def test_what_is_known_of_a_domain_is_reserved_with_the_lease(make_stage: Make) -> None:
    stage = known(make_stage)
    leases = stage.lease("w", 6).leases
    assert [lease.server_ip for lease in leases] == [IP, IP]
    assert stage.reserve("w", {lease.token: IP for lease in leases}) == {}
    assert stage.lease("w", 6).leases == []


def test_every_domain_gets_its_turn_on_a_full_server(make_stage: Make) -> None:
    stage = known(make_stage)
    asked: list[str] = []
    stage.clock.turn(1.0)
    while leases := stage.lease("w", 6).leases:
        assert len(leases) <= 2
        stage.clock.turn(1.0)
        for lease in leases:
            asked.append(lease.request.domain)
            stage.fetched("w", {lease.token: 0.0})
            stage.end(lease)
    assert sorted(asked) == sorted(DOMAINS * 4)
    assert set(asked[:6]) == set(DOMAINS)


def test_a_domain_that_moves_leaves_its_place_to_another(make_stage: Make) -> None:
    stage = known(make_stage)
    first, _ = stage.lease("w", 6).leases
    stage.reserve("w", {first.token: "192.0.2.8"})
    assert len(stage.lease("w", 6).leases) == 1


def test_a_stopped_job_does_not_keep_its_place_in_the_line(make_stage: Make) -> None:
    stage = known(make_stage)
    stage.job("other")
    stage.add("other", [page(n, "other.test") for n in range(2)])
    (lease,) = [x for x in stage.lease("w", 9).leases if x.request.domain == "other.test"]
    stage.reserve("w", {lease.token: IP})
    stage.fetched("w", {lease.token: 0.0})
    stage.lease("w", 9)
    stage.set_state("job", JobState.STOPPED)
    for held in stage.leases()["w"]:
        stage.end(held)
    assert stage.lease_urls() == ["http://other.test/1"]


def test_a_delay_between_requests_to_one_server(make_stage: Make) -> None:
    stage = known(make_stage, concurrency=9, delay_s=0.5)
    times = []
    for _ in range(8):
        for lease in stage.lease("w", 6).leases:
            times.append(stage.clock.monotonic() - 5_000.0)
            stage.fetched("w", {lease.token: 0.0})
        stage.clock.turn(0.25)
    assert times == [0.5, 1.0, 1.5]
