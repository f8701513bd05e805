"""The judges themselves: each must see the crime it is there for."""

from msgspec.structs import replace

from skitter.chaos.damage import Done
from skitter.chaos.processes import Sample
from skitter.chaos.report import late, percentile, usages
from skitter.chaos.schedule import FaultKind
from skitter.chaos.verdict import Blame, Entry, compare, doubled, truths_of
from skitter.chaos.witness import check_manners, recoveries, repetitions, unfenced
from skitter.models import Outcome
from skitter.sim.accesslog import Access
from skitter.sim.page import PageKind
from skitter.sim.truth import Truth


def access(
    at_s: float, path: str = "/", host: str = "site0001.test", concurrent: int = 1
) -> Access:
    return Access(
        start_s=at_s,
        start_monotonic_s=at_s,
        end_monotonic_s=at_s + 0.1,
        method="GET",
        host=host,
        path=path,
        status=200,
        concurrent=concurrent,
    )


def truth(path: str, requests: int = 1) -> Truth:
    return Truth(
        url=f"http://site0001.test:8080{path}",
        outcome=Outcome.DONE,
        status_code=200,
        digest="sha256:1",
        depth=0,
        kind=PageKind.PAGE,
        requests=requests,
    )


def kill(at_s: float, *held: str, known: bool = True) -> Done:
    urls = tuple(f"http://site0001.test:8080{path}" for path in held)
    return Done(
        kind=FaultKind.KILL_WORKER,
        at_s=at_s,
        over_s=at_s + 0.01,
        what="worker 1",
        held=urls if known else None,
    )


def term(stop_s: float, exit_code: int = 3) -> Done:
    return Done(
        kind=FaultKind.TERM,
        at_s=0.0,
        over_s=stop_s,
        what="the crawl",
        stop_s=stop_s,
        exit_code=exit_code,
    )


def entry(path: str, **changes: object) -> Entry:
    values = {"id": path, "outcome": Outcome.DONE, "status_code": 200, "error": None}
    values |= {"digest": "sha256:1"} | changes
    return Entry(url=f"http://site0001.test:8080{path}", **values)  # type: ignore[arg-type]


def test_gaps_are_measured_per_domain_and_without_robots() -> None:
    log = [
        access(0.0, "/robots.txt"),
        access(0.1, "/a"),
        access(0.2, "/a", host="site0002.test"),
        access(1.085, "/b"),
        access(2.06, "/c"),
    ]
    manners = check_manners(log, delay_s=1.0, tolerance_s=0.02)
    assert manners.pairs == 2
    (problem,) = manners.problems
    assert "/c: 0.975 s after /b, 25 ms short" in problem


def test_two_at_once_are_seen() -> None:
    manners = check_manners([access(0.0, concurrent=2)], delay_s=1.0, tolerance_s=0.0)
    assert manners.most_at_once == 2
    assert "2 requests at once" in manners.problems[0]


def test_a_repetition_after_a_kill_is_that_kills() -> None:
    log = [access(1.0, "/a"), access(3.0, "/a"), access(4.0, "/b")]
    faults = [kill(0.5, "/x"), kill(2.0, "/a")]
    again = repetitions(log, [truth("/a"), truth("/b")], faults)
    assert again.by_fault == [0, 1]
    assert again.problems == []


def test_a_repetition_that_no_fault_explains_is_a_problem() -> None:
    log = [access(1.0, "/a"), access(3.0, "/a")]
    again = repetitions(log, [truth("/a")], [kill(0.5, "/a"), kill(3.5, "/a")])
    assert again.by_fault == [0, 0]
    assert "no fault explains it" in again.problems[0]


def test_a_repetition_of_what_the_victim_did_not_hold_is_a_problem() -> None:
    log = [access(1.0, "/a"), access(3.0, "/a")]
    again = repetitions(log, [truth("/a")], [kill(2.0, "/b")])
    assert "no victim held it" in again.problems[0]
    unsure = repetitions(log, [truth("/a")], [kill(2.0, known=False)])
    assert unsure.by_fault == [1]


def test_what_the_victim_sent_while_it_was_being_killed_is_still_its_own() -> None:
    log = [access(2.005, "/a"), access(3.0, "/a"), access(2.02, "/b"), access(3.0, "/b")]
    again = repetitions(log, [truth("/a"), truth("/b")], [kill(2.0, "/a", "/b")])
    assert again.by_fault == [1]
    (problem,) = again.problems
    assert "/b: asked for 2 times, and no fault explains it" in problem


def test_a_fault_costs_a_page_once() -> None:
    log = [access(1.0, "/a"), access(3.0, "/a"), access(4.0, "/a")]
    once = repetitions(log, [truth("/a")], [kill(2.0, "/a")])
    assert once.by_fault == [1]
    assert len(once.problems) == 1
    twice = repetitions(log, [truth("/a")], [kill(2.0, "/a"), kill(3.5, "/a")])
    assert twice.by_fault == [1, 1]
    assert twice.problems == []


def test_a_late_result_that_was_accepted_is_seen() -> None:
    frozen = replace(kill(2.0), stale=kill(2.0, "/a", "/b", "/c").held)
    truths = [truth("/a"), truth("/b"), truth("/c", requests=0)]
    log = [access(1.0, "/a"), access(1.0, "/b"), access(4.0, "/b")]
    (problem,) = unfenced(log, truths, [frozen])
    assert "/a: a late result was accepted" in problem


def test_tries_that_the_page_needs_are_no_repetitions() -> None:
    log = [access(float(second), "/a") for second in range(4)]
    assert repetitions(log, [truth("/a", requests=4)], []).problems == []


def test_what_robots_forbids_must_not_be_asked_for() -> None:
    again = repetitions([access(1.0, "/a")], [truth("/a", requests=0)], [kill(2.0, "/a")])
    assert len(again.problems) == 1


def test_recovery_is_the_time_to_the_next_request() -> None:
    assert recoveries([1.0, 2.5], [kill(2.0), kill(2.6)]) == [0.5, None]


def test_what_is_missing_or_different_is_lost() -> None:
    wanted = truths_of([truth("/a"), truth("/b"), truth("/c")])
    records = [entry("/a"), entry("/b", digest="sha256:2"), entry("/d")]
    found = list(compare(wanted, records))
    assert [finding.blame for finding in found] == [Blame.LOST, Blame.LOST, Blame.VIOLATION]
    assert list(compare(wanted, [entry("/a"), entry("/b"), entry("/c")])) == []


def test_errors_are_compared_by_their_code() -> None:
    one = entry("/a", error="reset: by peer")
    assert one.identity == entry("/a", error="reset").identity
    assert one.identity != entry("/a", error="timeout").identity


def test_a_record_twice_is_doubled() -> None:
    (finding,) = doubled([entry("/a"), entry("/b"), entry("/a")], "the catalog")
    assert finding.blame is Blame.DUPLICATED


def test_percentiles_are_values_that_were_met() -> None:
    values = [float(number) for number in range(1, 21)]
    assert [percentile(values, share) for share in (0.5, 0.95, 1.0)] == [10.0, 19.0, 20.0]
    assert percentile([], 0.5) is None


def test_who_is_back_too_late_or_leaves_too_late_is_found() -> None:
    faults = [kill(0.0), term(11.0), term(1.0, exit_code=1), term(1.0)]
    assert len(late(faults, [31.0, 1.0, 1.0, 31.0])) == 3


def test_growth_is_seen() -> None:
    samples = [
        Sample(at_s=at_s, pid=1, role="worker", memory_bytes=int(size), descriptors=files)
        for at_s, size, files in (
            (150.0, 50e6, 20),
            (260.0, 50e6, 20),
            (290.0, 50e6, 20),
            (590.0, 90e6, 20),
        )
    ]
    role, process = usages(samples, 600.0)
    assert (role.role, process.role) == ("worker", "worker process 1")
    assert (role.early_bytes, role.late_bytes) == (50_000_000, 90_000_000)
    assert not role.is_flat
    assert usages(samples, 100.0) == []


def test_growth_is_seen_of_one_worker_that_others_hide() -> None:
    """Workers that were killed are young and small again."""
    samples = [
        Sample(at_s=at_s, pid=pid, role="worker", memory_bytes=int(size), descriptors=files)
        for at_s in range(0, 600, 5)
        for pid, size, files in ((1, 50e6, 20 + at_s // 30), (at_s // 100 + 2, 50e6, 20))
        for _ in range(1 if pid == 1 else 3)
    ]
    grown = [usage.role for usage in usages(samples, 600.0) if not usage.is_flat]
    assert grown == ["worker process 1"]
