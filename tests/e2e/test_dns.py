"""Crawls whose names come from a name server of the test's own."""

import json
from pathlib import Path

import pytest
from support.crawls import QUICK_RETRIES, QUICK_ROBOTS, run_crawl
from support.fetching import ALLOWED, FORBIDDEN, SITE
from support.nameserver import NameServer, name_server
from support.origin import canary, origin, page, redirect, reply
from support.records import read_catalog, read_jsonl

pytestmark = pytest.mark.e2e

ARGUMENTS = ("--scope", "any", "--delay", "0", "--workers", "1", "--json", "--data", "data")


def settings(names: NameServer, *networks: str) -> dict[str, str]:
    return {
        "SKITTER_DNS__SERVERS": json.dumps([names.place]),
        "SKITTER_DNS__RETRY_DELAY_S": "0.05",
        "SKITTER_SECURITY__ALLOW_NETWORKS": json.dumps(networks or [ALLOWED]),
        **QUICK_RETRIES,
        **QUICK_ROBOTS,
    }


def test_every_host_is_asked_for_once(tmp_path: Path) -> None:
    hosts = [f"h{number}.test" for number in range(5)]
    zone = {host: [SITE] for host in hosts}
    with origin({}, SITE) as server, name_server(dict(zone), ttl_s=3600) as names:
        links = [f"http://{host}:{server.port}/{n}" for host in hosts for n in range(4)]
        server.routes.update({f"/{n}": page(*links) for n in range(4)})
        done = run_crawl(tmp_path, links[0], *ARGUMENTS, env=settings(names))
        assert done.code == 0, done.err
    assert done.summary["pages"] == len(links)
    assert names.asked == dict.fromkeys(hosts, 1)


@pytest.mark.parametrize("robots", ["obey", "ignore"])
def test_names_that_lead_into_a_private_network_are_dropped(tmp_path: Path, robots: str) -> None:
    zone = {"site.test": [SITE], "inside.test": [FORBIDDEN], "mixed.test": [FORBIDDEN, SITE]}
    with canary(FORBIDDEN) as (port, touched), origin({}, SITE) as server:
        with name_server(dict(zone)) as names:
            server.routes["/"] = page(
                f"http://inside.test:{port}/",
                f"http://mixed.test:{server.port}/mixed",
                f"http://site.test:{server.port}/moved",
            )
            server.routes["/moved"] = redirect(f"http://inside.test:{port}/moved")
            server.routes["/mixed"] = page()
            seed = f"http://site.test:{server.port}/"
            done = run_crawl(tmp_path, seed, *ARGUMENTS, "--robots", robots, env=settings(names))
        assert done.code == 0, done.err
        assert not touched()
    assert done.summary["dropped"] == {"forbidden_address": 2}
    assert done.summary["pages"] == 2


def test_a_name_that_does_not_resolve_is_a_record_with_the_reason(tmp_path: Path) -> None:
    with origin({"/": page("http://gone.test/")}, SITE) as server:
        with name_server({"site.test": [SITE]}) as names:
            seed = f"http://site.test:{server.port}/"
            arguments = (*ARGUMENTS, "--robots", "ignore", "-o", "out.jsonl")
            done = run_crawl(tmp_path, seed, *arguments, env=settings(names))
        assert done.code == 0, done.err
    records = {record["url"]: record for record in read_jsonl(tmp_path / "out.jsonl")}
    gone = records["http://gone.test/"]
    assert (gone["outcome"], gone["status_code"]) == ("failed", None)
    assert gone["error"] == "dns: cannot resolve gone.test: no such name"
    # It was an answer: tries within its life time do not ask again.
    assert names.asked["gone.test"] == 1


def test_hosts_the_operator_typed_may_be_anywhere(tmp_path: Path) -> None:
    with origin({"/": page()}, FORBIDDEN) as server, name_server({"box": [FORBIDDEN]}) as names:
        seed = f"http://box:{server.port}/"
        done = run_crawl(tmp_path, seed, *ARGUMENTS, env=settings(names))
        assert done.code == 0, done.err
    assert done.summary["pages"] == 1


def test_localhost_needs_no_name_server(tmp_path: Path) -> None:
    with origin({"/": page()}) as server:
        env = {"SKITTER_DNS__SERVERS": '["127.0.0.1:1"]'}
        done = run_crawl(tmp_path, f"http://localhost:{server.port}/", *ARGUMENTS, env=env)
    assert done.summary["pages"] == 1


def test_records_tell_every_header_that_was_sent(tmp_path: Path) -> None:
    with origin({"/": reply("hello")}, SITE) as server:
        env = {"SKITTER_SECURITY__ALLOW_NETWORKS": json.dumps([ALLOWED])}
        arguments = ("--header", "X-Mine: 1", "--cookie", "a=b")
        done = run_crawl(tmp_path, f"{server.url}/", *ARGUMENTS, *arguments, env=env)
        assert done.code == 0, done.err
    (record,) = read_catalog(tmp_path / "data")
    (asked,) = [asked for asked in server.asked if asked.path == "/"]
    recorded = {name.lower(): value for name, (value,) in record["request_headers"].items()}
    assert recorded == asked.headers


@pytest.mark.parametrize("server", ["ns.example.com", "300.1.1.1", "127.0.0.1:99999", ""])
def test_a_bad_name_server_is_refused_before_anything_is_fetched(
    tmp_path: Path, server: str
) -> None:
    env = {"SKITTER_DNS__SERVERS": json.dumps([server])}
    done = run_crawl(tmp_path, "http://127.0.0.1:1/", "--workers", "2", env=env)
    assert (done.code, done.out) == (2, "")
    assert "SKITTER_DNS__SERVERS: dns.servers" in done.err
    assert "Traceback" not in done.err
