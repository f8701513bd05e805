"""Sites that limit, fail, block or stall, judged from the log of the server that does so."""

import signal
import subprocess
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from support.crawls import SKITTER, environment, finish, run_crawl, start_crawl, wait_until
from support.records import read_jsonl
from support.simulation import simulated_web

from skitter.sim.accesslog import Access

pytestmark = [pytest.mark.e2e, pytest.mark.sim]

#: What the wire and the server's own scheduling may take off a gap.
JITTER_S = 0.02
#: All sites are on one address here, which is not what is tested.
ONE_SERVER = {"SKITTER_POLITENESS__SERVER_CONCURRENCY": "1000"}
#: The timers of the real thing, a hundred times as fast.
FAST = ONE_SERVER | {
    "SKITTER_RETRY__DELAYS_S": "[0.01, 0.05, 0.15]",
    "SKITTER_BACKOFF__FIRST_S": "0.6",
    "SKITTER_BREAKER__OPEN_S": "0.6",
    "SKITTER_BREAKER__LONG_OPEN_S": "3",
    "SKITTER_BLOCKING__REST_S": "3",
    "SKITTER_STORE__SYNC_INTERVAL_S": "0.05",
}


def asked(log: list[Access]) -> dict[str, list[Access]]:
    """Requests for pages, by host. In the simulated web a host is a domain."""
    found = defaultdict(list)
    for access in sorted(log, key=lambda access: access.start_monotonic_s):
        if access.path != "/robots.txt":
            found[access.host].append(access)
    return found


def audited(folder: Path) -> None:
    """The crawl's own log says that no hold and no rate was broken."""
    command = [SKITTER, "audit"]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_limit_silences_the_whole_domain_with_many_at_once(tmp_path: Path, workers: str) -> None:
    web = ("--hosts", "2", "--pages", "40", "--latency-ms", "50")
    sick = ("--sick", "1", "--sickness", "limit", "--sick-requests", "10", "--retry-after", "2")
    arguments = ("--delay", "0.02", "--concurrency", "8", "--workers", workers, "--json")
    with simulated_web(tmp_path, *web, *sick) as sim:
        done = run_crawl(tmp_path, *sim.crawl_arguments, *arguments, stdin=sim.stdin, env=FAST)
        log = asked(sim.log())
    assert done.code == 0, done.err
    assert done.summary["pages"] == 80
    audited(tmp_path)
    limited = log["site0002.test"]
    told = [access for access in limited if access.status == 429]
    for access in told:
        # Whatever had left before the answer was out may still arrive.
        until = access.end_monotonic_s + 2.0 - JITTER_S
        sent = [a.start_monotonic_s for a in limited]
        assert not [at for at in sent if access.end_monotonic_s + 0.1 < at < until]


def test_a_failing_domain_gets_one_probe_per_wait_and_its_rate_back(tmp_path: Path) -> None:
    web = ("--hosts", "5", "--pages", "80", "--sick", "1", "--sick-requests", "30")
    arguments = ("--delay", "0.05", "--json", "-o", "out.jsonl")
    with simulated_web(tmp_path, *web) as sim:
        done = run_crawl(tmp_path, *sim.crawl_arguments, *arguments, stdin=sim.stdin, env=FAST)
        log = asked(sim.log())
    assert done.code == 0, done.err
    sick = log["site0005.test"]
    failures = [access.status for access in sick].index(200)
    assert failures == 30
    audited(tmp_path)
    # It opens within its window; from then on one request per wait until the first good one.
    probes = sick[20 : failures + 1]
    gaps = [b.start_monotonic_s - a.end_monotonic_s for a, b in pairwise(probes)]
    assert min(gaps) >= 0.6 - JITTER_S
    # Then the whole rate: no gap is as long as a wait.
    healthy = [b.start_monotonic_s - a.start_monotonic_s for a, b in pairwise(sick[failures:])]
    assert max(healthy) < 0.6
    # What was tried too often is recorded as failed, everything else is there.
    assert done.summary["pages"] + done.summary["failed"] == 5 * 80
    errors = {record["error"] for record in read_jsonl(tmp_path / "out.jsonl")}
    assert errors <= {None, "http_500"}


def test_a_site_that_challenges_us_is_left_alone_and_asked_less(tmp_path: Path) -> None:
    sick = ("--sick", "1", "--sickness", "challenge", "--sick-requests", "3")
    arguments = ("--delay", "0.2", "--json")
    with simulated_web(tmp_path, "--hosts", "1", "--pages", "12", *sick) as sim:
        env = FAST | {"SKITTER_RETRY__DELAYS_S": "[0.01, 0.01, 0.01]"}
        done = run_crawl(tmp_path, *sim.crawl_arguments, *arguments, stdin=sim.stdin, env=env)
        (log,) = asked(sim.log()).values()
    assert done.code == 0, done.err
    assert done.summary["pages"] == 12
    audited(tmp_path)
    gaps = [b.start_monotonic_s - a.start_monotonic_s for a, b in pairwise(log)]
    assert gaps[2] >= 3.0 - JITTER_S
    assert min(gaps[3:]) >= 0.4 - JITTER_S


def test_sites_that_drip_or_never_answer_or_never_end_hold_nobody_up(tmp_path: Path) -> None:
    web = ("--hosts", "12", "--pages", "20", "--sick", "6", "--sickness", "mute,drip,endless")
    env = FAST | {
        "SKITTER_FETCH__TIMEOUT_S": "2",
        "SKITTER_FETCH__MAX_BODY_BYTES": "200000",
        "SKITTER_RETRY__DELAYS_S": "[]",
        "SKITTER_BREAKER__MIN_RESULTS": "3",
        "SKITTER_BREAKER__GIVE_UP_S": "2",
    }
    arguments = ("--delay", "0.1", "--json", "-o", "out.jsonl")
    with simulated_web(tmp_path, *web) as sim:
        done = run_crawl(tmp_path, *sim.crawl_arguments, *arguments, stdin=sim.stdin, env=env)
        log = asked(sim.log())
    assert done.code == 0, done.err
    summary = done.summary
    assert summary["accepted"] == summary["pages"] + summary["failed"]
    ends = [a.end_monotonic_s - a.start_monotonic_s for sends in log.values() for a in sends]
    assert max(ends) < 2.0 + 1.0
    for host in [f"site{n:04}.test" for n in range(1, 7)]:
        assert sum(access.status == 200 for access in log[host]) == 20
    records = read_jsonl(tmp_path / "out.jsonl")
    codes = {(record["error"] or "").partition(":")[0] for record in records}
    assert codes <= {"", "timeout", "too_slow", "unreachable"}
    assert {r["truncated"] for r in records if "site0009" in r["url"]} == {"length"}


def test_hits_in_a_window_may_come_at_once_but_not_more(tmp_path: Path) -> None:
    env = ONE_SERVER | {
        "SKITTER_POLITENESS__HITS": "5",
        "SKITTER_POLITENESS__WINDOW_S": "1",
        "SKITTER_POLITENESS__MODERATED": "false",
        "SKITTER_POLITENESS__CONCURRENCY": "5",
    }
    with simulated_web(tmp_path, "--hosts", "1", "--pages", "20") as sim:
        done = run_crawl(tmp_path, *sim.crawl_arguments, "--json", stdin=sim.stdin, env=env)
        (log,) = asked(sim.log()).values()
    assert done.summary["pages"] == 20
    audited(tmp_path)
    starts = [access.start_monotonic_s for access in log]
    # A full bucket of 5, then one every 0.2 s.
    for first in range(len(starts)):
        for last in range(first, len(starts)):
            assert last - first + 1 <= 5 + (starts[last] - starts[first]) / 0.2 + 1
    assert starts[-1] - starts[0] >= (20 - 5 - 1) * 0.2


def test_a_table_of_the_configuration_holds_for_its_domain(tmp_path: Path) -> None:
    tables = '[domains."site0001.test"]\ndelay_s = 0.5\n[domains."site0002.test"]\nblocked = true\n'
    (tmp_path / "skitter.toml").write_text(tables)
    with simulated_web(tmp_path, "--hosts", "3", "--pages", "4") as sim:
        process = start_crawl(
            tmp_path, *sim.crawl_arguments, "--delay", "0.05", stdin=sim.stdin, env=ONE_SERVER
        )
        try:
            wait_until(process, lambda: sim.asked() >= 10)
        finally:
            process.send_signal(signal.SIGINT)
            finish(process)
        log = asked(sim.log())
    assert "site0002.test" not in log
    gaps = [b.start_monotonic_s - a.start_monotonic_s for a, b in pairwise(log["site0001.test"])]
    assert min(gaps) >= 0.5 - JITTER_S
    audited(tmp_path)


@pytest.mark.parametrize("kind", ["reset", "error", "mute"])
def test_a_request_is_tried_as_often_as_set_and_never_too_early(tmp_path: Path, kind: str) -> None:
    sick = ("--hosts", "1", "--pages", "1", "--sick", "1", "--sickness", kind)
    arguments = ("--delay", "0", "--retries", "0.2,0.4", "--json", "-o", "out.jsonl")
    env = {"SKITTER_FETCH__TIMEOUT_S": "0.5"}
    with simulated_web(tmp_path, *sick) as sim:
        done = run_crawl(tmp_path, *sim.crawl_arguments, *arguments, stdin=sim.stdin, env=env)
        (log,) = asked(sim.log()).values()
    assert done.code == 0, done.err
    assert len(log) == 3
    waits = [b.start_monotonic_s - a.start_monotonic_s for a, b in pairwise(log)]
    assert waits[0] >= 0.2 - JITTER_S
    assert waits[1] >= 0.4 - JITTER_S
    (record,) = read_jsonl(tmp_path / "out.jsonl")
    assert record["outcome"] == "failed"
    assert record["error"].partition(":")[0] in {"reset", "http_500", "timeout"}


def shares(log: dict[str, list[Access]], hosts: list[str], delay_s: float) -> list[float]:
    """Which part of the requests that its delay allowed each host really got, while it had any."""
    found = []
    for host in hosts:
        starts = [access.start_monotonic_s for access in log[host]]
        found.append((len(starts) - 1) * delay_s / (starts[-1] - starts[0]))
    return found


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(900)
def test_one_failing_domain_beside_forty_nine_healthy_ones(tmp_path: Path) -> None:
    web = ("--hosts", "50", "--pages", "60", "--sick", "1", "--sick-requests", "24")
    arguments = ("--delay", "1", "--json")
    env = ONE_SERVER
    with simulated_web(tmp_path, *web) as sim:
        done = run_crawl(tmp_path, *sim.crawl_arguments, *arguments, stdin=sim.stdin, env=env)
        log = asked(sim.log())
    assert done.code == 0, done.err
    audited(tmp_path)
    healthy = [f"site{n:04}.test" for n in range(1, 50)]
    assert min(shares(log, healthy, 1.0)) >= 0.95
    sick = log["site0050.test"]
    gaps = [b.start_monotonic_s - a.start_monotonic_s for a, b in pairwise(sick[:25])]
    # It opens within its window; then each wait has one probe.
    waits = [gap for gap in gaps if gap >= 60.0 - JITTER_S]
    assert len(waits) == 24 - 20 + 1
    assert [access.status for access in sick].count(200) > 40


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(900)
def test_twenty_stalling_domains_beside_thirty_healthy_ones(tmp_path: Path) -> None:
    web = ("--hosts", "50", "--pages", "60", "--sick", "20", "--sickness", "mute,drip,endless")
    env = ONE_SERVER | {"SKITTER_RETRY__DELAYS_S": "[]", "SKITTER_BREAKER__GIVE_UP_S": "60"}
    arguments = ("--delay", "1", "--json")
    with simulated_web(tmp_path, *web) as sim:
        done = run_crawl(tmp_path, *sim.crawl_arguments, *arguments, stdin=sim.stdin, env=env)
        log = asked(sim.log())
    assert done.code == 0, done.err
    audited(tmp_path)
    summary = done.summary
    assert summary["accepted"] == summary["pages"] + summary["failed"]
    ends = [a.end_monotonic_s - a.start_monotonic_s for sends in log.values() for a in sends]
    assert max(ends) <= 30.0 + 1.0
    assert min(shares(log, [f"site{n:04}.test" for n in range(1, 31)], 1.0)) >= 0.9
