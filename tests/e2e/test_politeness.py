"""What the sites see: distance, one at a time, and silence when they ask for it."""

import asyncio
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from support.crawls import run_crawl
from support.origin import Asked, origin, page, reply
from support.records import read_jsonl
from support.simulation import simulated_web

from skitter.sim.accesslog import Access

pytestmark = [pytest.mark.e2e, pytest.mark.sim]

#: What the wire and the server's own scheduling may take off a gap.
JITTER_S = 0.02


def starts_by_host(log: list[Access]) -> dict[str, list[float]]:
    """When each host was asked for a page. In the simulated web a host is a domain."""
    starts = defaultdict(list)
    for access in log:
        if access.path != "/robots.txt":
            starts[access.host].append(access.start_monotonic_s)
    return {host: sorted(times) for host, times in starts.items()}


def least_gap_s(starts: dict[str, list[float]]) -> float:
    return min(later - earlier for times in starts.values() for earlier, later in pairwise(times))


@pytest.mark.alone
@pytest.mark.timeout(300)
def test_fifty_hosts_are_asked_as_often_as_allowed_and_no_oftener(tmp_path: Path) -> None:
    web = ("--hosts", "50", "--pages", "40", "--latency-ms", "5", "--jitter-ms", "10")
    with simulated_web(tmp_path, *web) as sim:
        done = run_crawl(tmp_path, *sim.crawl_arguments, "--delay", "0.2", stdin=sim.stdin)
        assert done.code == 0, done.err
        log = sim.log()
    starts = starts_by_host(log)
    assert sum(map(len, starts.values())) == 50 * 40
    assert least_gap_s(starts) >= 0.2 - JITTER_S
    assert {access.concurrent for access in log} == {1}
    # The promise is about the schedule; both ends are taken from the server's log.
    took_s = max(map(max, starts.values())) - min(map(min, starts.values()))
    ideal_s = (max(map(len, starts.values())) - 1) * 0.2
    assert took_s <= 1.15 * ideal_s


def test_a_crawl_delay_in_robots_txt_holds(tmp_path: Path) -> None:
    web = ("--hosts", "2", "--pages", "6", "--crawl-delay", "0.4")
    with simulated_web(tmp_path, *web) as sim:
        done = run_crawl(tmp_path, *sim.crawl_arguments, "--delay", "0.1", stdin=sim.stdin)
        assert done.code == 0, done.err
        assert least_gap_s(starts_by_host(sim.log())) >= 0.4 - JITTER_S


def test_a_crawl_delay_is_ignored_with_robots(tmp_path: Path) -> None:
    arguments = ("--delay", "0", "--robots", "ignore")
    with simulated_web(tmp_path, "--hosts", "1", "--pages", "6", "--crawl-delay", "100") as sim:
        done = run_crawl(tmp_path, *sim.crawl_arguments, *arguments, stdin=sim.stdin)
        assert done.code == 0, done.err
        assert len(sim.pages_asked()) == 6


def test_a_delay_holds_across_the_hosts_of_a_domain_and_across_runs(tmp_path: Path) -> None:
    links = [f"http://{host}.sim.test:PORT/{n}" for host in "ab" for n in range(3)]
    with origin({}) as server:
        server.routes["/"] = page(*(link.replace("PORT", str(server.port)) for link in links))
        arguments = (
            *(f"http://a.sim.test:{server.port}/", "--scope", "domain", "--delay", "0.3"),
            *("--resolve", f"*:{server.port}:127.0.0.1"),
        )
        for more in ("2", "4", "100"):
            done = run_crawl(tmp_path, *arguments, "--max-pages", more)
            assert done.code == 0, done.err
        times = [asked.at_s for asked in server.asked if asked.path != "/robots.txt"]
    assert len(times) == 7
    assert min(later - earlier for earlier, later in pairwise(times)) >= 0.3 - JITTER_S


def test_a_429_silences_the_whole_domain_for_as_long_as_it_says(tmp_path: Path) -> None:
    refused: list[float] = []

    async def busy_once(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if refused:
            writer.write(page())
        else:
            refused.append(asked.at_s)
            writer.write(reply("later", "429 Too Many Requests", Retry_After="1"))

    with origin({"/busy": busy_once}) as server:
        others = [f"http://b.sim.test:{server.port}/{n}" for n in range(5)]
        server.routes["/"] = page("/busy", *others)
        done = run_crawl(
            tmp_path,
            *(f"http://a.sim.test:{server.port}/", "--scope", "domain", "--delay", "0"),
            *("--resolve", f"*:{server.port}:127.0.0.1", "-o", "out.jsonl"),
        )
        assert done.code == 0, done.err
        later = [a for a in server.asked if a.at_s > refused[0]]
    assert min(asked.at_s for asked in later) >= refused[0] + 1.0 - JITTER_S
    # robots.txt of the other host waits too: it is the same domain.
    assert [asked.path for asked in later].count("/busy") == 1
    assert {r["status_code"] for r in read_jsonl(tmp_path / "out.jsonl")} == {200, 404}
