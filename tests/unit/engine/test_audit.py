"""The fetch log as it is written and read, and the judgements on it; every broken rule is found."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from skitter.engine.audit import MAX_FINDINGS, Check, Ids, Tally
from skitter.engine.audit_outputs import audit_output
from skitter.engine.auditor import audit_log
from skitter.engine.fetchlog import FetchLog
from skitter.engine.logbook import Event, Fetched, Held, InFlight, LogReader, RobotsRead, Run
from skitter.fetch.base import FetchResult
from skitter.frontier.base import JobInfo
from skitter.models import JobCounts, JobSpec, JobState, Lease, Request

DELAY, CRAWL_DELAY, CONCURRENCY, HOLDS, ROBOTS, READABLE = range(6)

RUN = Run(run="r1", worker="w", boot="b1", at=0.0, wall_s=1_000.0, agent="skitter")
SPEC = JobSpec(seeds=("http://a.test/",))
JOB = JobInfo(
    name="j",
    job_id="0" * 32,
    spec=SPEC,
    state=JobState.RUNNING,
    counts=JobCounts(),
    scope_seeds=SPEC.seeds,
    version=0,
    max_pages=None,
    created_s=900.0,
)


def page(sent: float, *, path: str = "/", took_s: float = 0.1, **fields: object) -> Fetched:
    line = Fetched(
        url=f"http://a.test{path}",
        domain="a.test",
        sent=sent,
        ended=sent + took_s,
        job="j",
        token=int(sent * 1000),
        gap_s=1.0,
        concurrency=1,
        status=200,
    )
    return replace(line, **fields)


def robots(at: float = 0.0, body: str = "", status: int | None = 200) -> RobotsRead:
    return RobotsRead(origin="http://a.test", domain="a.test", at=at, status=status, body=body)


def write(folder: Path, lines: Iterable[Event], *, run: Run = RUN, name: str = "w-0001") -> None:
    data = msgspec.json.Encoder().encode_lines([run, *lines])
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.jsonl").write_bytes(data)


def judged(folder: Path, job: JobInfo = JOB) -> list[Check]:
    return audit_log(LogReader(folder), [job], 0.02)


def broken(folder: Path, job: JobInfo = JOB) -> list[int]:
    return [number for number, check in enumerate(judged(folder, job)) if not check.holds]


@pytest.mark.parametrize(
    ("lines", "rules"),
    [
        ([page(1), page(2), page(2.985)], []),
        ([page(1), page(1.9)], [DELAY]),
        ([page(2.9), page(2)], [DELAY]),
        ([page(1), page(1.5, domain="b.test")], []),
        ([page(1), page(1.5, gap_s=0.5)], []),
        ([page(1), page(1.5, kind="sitemap")], [DELAY]),
        ([page(1), page(1.2, kind="robots", job="", token=0, concurrency=0)], []),
        ([page(1, took_s=1.5), page(2)], [CONCURRENCY]),
        ([page(1, took_s=1.5), page(2, concurrency=2)], []),
        ([page(1), page(1.05, kind="robots", job="", token=0, concurrency=0)], [CONCURRENCY]),
        ([page(1), Held(domain="a.test", at=1.1, wait_s=5, reason="http_429"), page(7)], []),
        ([page(1), Held(domain="a.test", at=1.1, wait_s=5, reason="http_429"), page(6)], [HOLDS]),
    ],
)
def test_times(tmp_path: Path, lines: list[Event], rules: list[int]) -> None:
    write(tmp_path, [robots(), *lines])
    assert broken(tmp_path) == rules


def test_the_longest_of_several_holds_counts(tmp_path: Path) -> None:
    holds = [
        Held(domain="a.test", at=at, wait_s=s, reason="") for at, s in ((1.0, 9.0), (2.0, 1.0))
    ]
    write(tmp_path, [robots(), *holds, page(5)])
    assert broken(tmp_path) == [HOLDS]


def test_a_finding_says_where_what_and_by_how_much(tmp_path: Path) -> None:
    write(tmp_path, [robots(), page(1), page(1.4)])
    (finding,) = judged(tmp_path)[DELAY].findings
    assert finding.where == "log/w-0001.jsonl:4"
    assert finding.what == "a.test: 0.400 s after the last, 600 ms short of 1 s"


def test_findings_beyond_a_number_are_only_counted(tmp_path: Path) -> None:
    write(tmp_path, [robots(), *(page(1 + n / 2) for n in range(100))])
    check = judged(tmp_path)[DELAY]
    assert (check.found, len(check.findings), check.checked) == (99, MAX_FINDINGS, 99)


def test_runs_of_one_boot_are_compared_and_of_two_are_not(tmp_path: Path) -> None:
    write(tmp_path, [robots(), page(1)])
    write(tmp_path, [robots(1.2), page(1.5)], run=replace(RUN, run="r2"), name="w2-0001")
    assert broken(tmp_path) == [DELAY]
    other = replace(RUN, run="r2", boot="b2")
    write(tmp_path, [robots(1.2), page(1.5)], run=other, name="w2-0001")
    assert broken(tmp_path) == []


def test_what_never_ended_was_sent_nevertheless(tmp_path: Path) -> None:
    started = InFlight(
        url="http://a.test/", domain="a.test", sent=1, seen=1.3, token=9, gap_s=1.0, concurrency=1
    )
    write(tmp_path, [robots(), started, page(1.5)])
    assert broken(tmp_path) == [DELAY]
    write(tmp_path, [robots(), started, page(1.2)])
    assert broken(tmp_path) == [DELAY, CONCURRENCY]
    write(tmp_path, [robots(), started, page(1, token=9, took_s=0.9), page(2)])
    assert judged(tmp_path)[DELAY].checked == 1
    assert broken(tmp_path) == []


SLOW = "User-agent: *\nCrawl-delay: 3\n"
CLOSED = "User-agent: *\nDisallow: /private/\n"


def test_a_crawl_delay_holds_for_who_read_it_at_once(tmp_path: Path) -> None:
    write(tmp_path, [robots(), page(1), robots(1.5, SLOW), page(2)])
    assert broken(tmp_path) == [CRAWL_DELAY]


def test_a_crawl_delay_holds_for_others_from_their_next_request_on(tmp_path: Path) -> None:
    write(tmp_path, [robots(0.0, SLOW), page(0.5)])
    other = replace(RUN, run="r2")
    write(tmp_path, [robots(0.1), page(4), page(5)], run=other, name="w2-0001")
    assert broken(tmp_path) == []  # the second run has read that there is none any more
    write(tmp_path, [page(4), page(5)], run=other, name="w2-0001")
    assert broken(tmp_path) == [CRAWL_DELAY, ROBOTS]


@pytest.mark.parametrize(
    ("lines", "rules"),
    [
        ([robots(0, CLOSED), page(1, path="/open")], []),
        ([robots(0, CLOSED), page(1, path="/private/x")], [ROBOTS]),
        ([page(1)], [ROBOTS]),
        ([robots(0, status=404), page(1)], []),
        ([robots(0, status=503), page(1)], [ROBOTS]),
        ([robots(0, CLOSED), robots(0.5, status=None), page(1, path="/private/x")], [ROBOTS]),
        ([robots(0), robots(1.5, CLOSED), page(1, path="/private/x", took_s=1)], []),
        ([robots(0, CLOSED), page(1, path="/private/x", job="deleted")], []),
    ],
)
def test_robots(tmp_path: Path, lines: list[Event], rules: list[int]) -> None:
    write(tmp_path, lines)
    assert broken(tmp_path) == rules


def test_a_host_that_asks_for_more_than_is_accepted_is_left_alone(tmp_path: Path) -> None:
    impatient = replace(RUN, max_crawl_delay_s=1.0)
    write(tmp_path, [robots(0, SLOW), page(1)], run=impatient)
    assert broken(tmp_path) == [ROBOTS]
    # Its neighbours in the domain need not wait for it.
    neighbour = replace(robots(), origin="http://b.a.test")
    pages = [page(sent, url="http://b.a.test/") for sent in (1, 2)]
    write(tmp_path, [robots(0, SLOW), neighbour, *pages], run=impatient)
    assert broken(tmp_path) == []


def test_a_job_that_ignores_robots_is_not_held_to_them(tmp_path: Path) -> None:
    write(tmp_path, [page(1), page(2, path="/private/x")])
    assert broken(tmp_path, replace(JOB, spec=replace(SPEC, robots="ignore"))) == []


def test_lines_from_before_the_job_are_of_another_one(tmp_path: Path) -> None:
    write(tmp_path, [page(1)])
    assert broken(tmp_path, replace(JOB, created_s=1_002.0)) == []


def test_a_torn_last_line_is_skipped_and_a_broken_one_within_is_found(tmp_path: Path) -> None:
    write(tmp_path, [robots(), page(1), page(2)])
    path = tmp_path / "w-0001.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    checks = judged(tmp_path)
    assert all(check.holds for check in checks)
    assert checks[READABLE].checked == 2
    path.write_bytes(whole.replace(b'{"event":"robots"', b'{"event":"robot'))
    assert READABLE in broken(tmp_path)


def test_a_file_that_does_not_say_whose_it_is_is_found(tmp_path: Path) -> None:
    (tmp_path / "w-0001.jsonl").write_bytes(msgspec.json.encode(page(1)) + b"\n")
    assert broken(tmp_path) == [READABLE]


def test_no_log_is_said_and_is_no_fault(tmp_path: Path) -> None:
    checks = judged(tmp_path / "log")
    assert all(check.holds for check in checks)
    assert "there is none" in checks[READABLE].note


# Writing


class Turned:
    """A clock that a test turns, and the calls that wait for it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waiting: list[Callable[[], None]] = []

    def time(self) -> float:
        return 5_000.0 + self.now

    def monotonic(self) -> float:
        return self.now

    def call_later(self, _delay_s: float, call: Callable[[], None]) -> None:
        self.waiting.append(call)

    def ring(self, seconds: float) -> None:
        self.now += seconds
        calls, self.waiting = self.waiting, []
        for call in calls:
            call()


def lease(token: int) -> Lease:
    request = Request(url=f"http://a.test/{token}", fingerprint=token, domain="a.test")
    return Lease(token=token, job="j", request=request, pace_s=1.0, concurrency=2)


OpenLog = Callable[..., FetchLog]


@pytest.fixture
def clock() -> Turned:
    return Turned()


@pytest.fixture
def open_log(clock: Turned) -> Iterator[OpenLog]:
    with ExitStack() as stack:

        def opened(folder: Path, **options: int) -> FetchLog:
            log = FetchLog(
                folder, "w", clock=clock, agent="skitter", call_later=clock.call_later, **options
            )
            return stack.enter_context(closing(log))

        yield opened


def lines_of(folder: Path) -> list[Event]:
    return [line for _, line in LogReader(folder)]


def test_lines_wait_for_their_group_and_are_written_when_its_time_is_up(
    tmp_path: Path, open_log: OpenLog, clock: Turned
) -> None:
    log = open_log(tmp_path)
    log.sent(lease(1), clock.now)
    log.fetched(lease(1), FetchResult(status_code=200, sent_at=clock.now))
    log.fetched(lease(2), FetchResult(detail="refused"))  # never left
    assert list(tmp_path.iterdir()) == []
    clock.ring(0.25)
    (line,) = lines_of(tmp_path)
    assert isinstance(line, Fetched)
    assert (line.url, line.sent, line.gap_s, line.concurrency) == ("http://a.test/1", 100.0, 1.0, 2)


def test_a_full_group_does_not_wait(tmp_path: Path, open_log: OpenLog, clock: Turned) -> None:
    log = open_log(tmp_path)
    for token in range(300):
        log.fetched(lease(token), FetchResult(status_code=200, sent_at=clock.now))
    assert len(lines_of(tmp_path)) == 256
    log.close()
    assert len(lines_of(tmp_path)) == 300


def test_a_transfer_that_takes_long_has_a_line_before_its_end(
    tmp_path: Path, open_log: OpenLog, clock: Turned
) -> None:
    log = open_log(tmp_path)
    log.sent(lease(1), clock.now)
    clock.ring(0.25)
    assert list(tmp_path.iterdir()) == []
    clock.ring(0.25)
    (line,) = lines_of(tmp_path)
    assert isinstance(line, InFlight)
    assert (line.token, line.sent, line.seen) == (1, 100.0, 100.5)
    clock.ring(0.25)
    assert len(lines_of(tmp_path)) == 1


def test_who_stood_still_does_not_claim_to_have_seen_the_end(
    tmp_path: Path, open_log: OpenLog, clock: Turned
) -> None:
    log = open_log(tmp_path)
    log.sent(lease(1), clock.now)
    log.sent(lease(2), clock.now)
    clock.ring(0.25)
    clock.now += 9.0
    log.fetched(lease(1), FetchResult(status_code=200, sent_at=100.0))
    clock.ring(0.0)
    ended, lost = lines_of(tmp_path)
    assert isinstance(ended, Fetched)
    assert isinstance(lost, InFlight)
    assert (ended.ended, lost.seen) == (100.25, 100.25)
    log.fetched(lease(2), FetchResult(status_code=200, sent_at=100.0))  # got round to it only now
    clock.ring(0.25)
    *_, late = lines_of(tmp_path)
    assert isinstance(late, Fetched)
    assert late.ended == 100.25


def test_what_is_dropped_in_flight_at_the_end_has_a_line(
    tmp_path: Path, open_log: OpenLog, clock: Turned
) -> None:
    log = open_log(tmp_path)
    log.sent(lease(1), clock.now)
    log.close()
    assert isinstance(lines_of(tmp_path)[0], InFlight)


def test_a_large_file_is_followed_by_another_of_the_same_run(
    tmp_path: Path, open_log: OpenLog, clock: Turned
) -> None:
    log = open_log(tmp_path, file_bytes=1_000)
    for token in range(12):
        log.held("a.test", 1.0, f"http_{token}")
        clock.ring(0.25)
    open_log(tmp_path).held("b.test", 1.0, "")
    clock.ring(0.25)
    reader = LogReader(tmp_path)
    assert len(list(reader)) == 13
    assert len(reader.files) > 2
    assert len(reader.runs) == 2


def test_robots_are_logged_as_read(tmp_path: Path, open_log: OpenLog, clock: Turned) -> None:
    log = open_log(tmp_path)
    result = FetchResult(status_code=200, body=b"User-agent: \xff\n", sent_at=clock.now)
    log.robots_fetched("http://a.test/robots.txt", result)
    log.robots_read("http://a.test", result)
    log.close()
    transfer, answer = lines_of(tmp_path)
    assert isinstance(transfer, Fetched)
    assert transfer.kind == "robots"
    assert isinstance(answer, RobotsRead)
    assert (answer.domain, answer.status) == ("a.test", 200)
    assert answer.body == "User-agent: \N{REPLACEMENT CHARACTER}\n"


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path, open_log: OpenLog) -> None:
    (tmp_path / "log").write_text("in the way")
    log = open_log(tmp_path / "log")
    log.held("a.test", 1.0, "")
    log.close()


# Output files


@pytest.mark.parametrize(
    ("lines", "settled", "found"),
    [
        ("abc", True, 0),
        ("ab", False, 0),
        ("ab", True, 1),
        ("abca", True, 1),
        ("abcd", True, 1),
        ("ab?c", True, 1),
    ],
)
def test_lines_of_a_file(lines: str, settled: bool, found: int) -> None:
    wanted = Ids()
    for letter in "abc":
        wanted.add(letter * 32)
    tally = Tally("outputs")
    numbered = [(n, letter * 32) for n, letter in enumerate(lines, start=1)]
    audit_output(tally, "out.jsonl", numbered, wanted, settled=settled)
    assert tally.result().found == found
