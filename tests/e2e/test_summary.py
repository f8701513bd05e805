"""`--json`, `--max-pages`, `--dry-run`: what a script can rely on."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.crawls import AT_FULL_SPEED, run_crawl
from support.origin import origin, page, redirect, reply
from support.records import by_path, differences, read_catalog, read_jsonl
from support.simulation import simulated_web

pytestmark = pytest.mark.e2e

FIELDS = {
    *("job", "state", "pages", "failed", "redirected", "dropped", "bytes"),
    *("seconds", "pages_per_second", "cpu_seconds"),
}


def check_adds_up(summary: dict[str, Any]) -> None:
    parts = summary["pages"] + summary["failed"] + summary["redirected"]
    assert summary["accepted"] == parts + sum(summary["dropped"].values())


def test_json_is_one_object_whose_counts_add_up(tmp_path: Path) -> None:
    routes = {
        "/": page("/a", "/away", "/private", "/gone", "https://elsewhere.test/", "/a#again"),
        "/a": page("/"),
        "/away": redirect("/a"),
        "/robots.txt": reply("User-agent: *\nDisallow: /private\n", kind="text/plain"),
    }
    with origin(routes) as server:
        done = run_crawl(tmp_path, server.url, "--delay", "0", "--json", "-o", "out.jsonl")
    assert done.code == 0
    assert done.err == ""
    summary = done.summary
    assert summary.keys() >= FIELDS
    assert summary["state"] == "finished"
    assert (summary["pages"], summary["failed"], summary["redirected"]) == (3, 0, 1)
    assert summary["dropped"] == {"robots": 1}
    records = by_path(read_jsonl(tmp_path / "out.jsonl"))
    assert summary["bytes"] == sum(record["length"] for record in records.values())
    assert records.keys() == {"/", "/a", "/gone"}
    assert records["/gone"]["status_code"] == 404
    assert (records["/gone"]["outcome"], records["/gone"]["error"]) == ("done", None)
    assert records["/a"]["parent"] == f"{server.url}/"
    assert records["/"]["title"] == "A page"
    check_adds_up(summary)


def test_the_record_has_the_fields_of_the_contract_in_their_order(tmp_path: Path) -> None:
    with origin({"/": page("/x")}) as server:
        run_crawl(tmp_path, server.url, "--delay", "0", "-o", "out.jsonl", "--body")
    record = by_path(read_jsonl(tmp_path / "out.jsonl"))["/"]
    assert " ".join(record) == (
        "id appid crawlid job url response_url redirected_from outcome status_code status_msg "
        "timestamp depth parent spider encoding content_type length digest title links "
        "request_headers response_headers attrs elapsed_ms truncated error body"
    )
    assert (record["appid"], record["spider"], record["depth"]) == ("skitter", "link", 0)
    assert record["links"] == [{"url": f"{server.url}/x", "text": "/x"}]
    assert record["body"].startswith("<!doctype html>")


def test_the_same_command_has_the_same_ids_in_any_folder(tmp_path: Path) -> None:
    with origin({"/": page("/x")}) as server:
        for name in ("one", "two"):
            arguments = ("--delay", "0", "--data", name, "-o", f"{name}.jsonl")
            run_crawl(tmp_path, server.url, *arguments)
    one, two = (read_jsonl(tmp_path / f"{name}.jsonl") for name in ("one", "two"))
    assert [record["id"] for record in one] == [record["id"] for record in two]


def test_max_pages_is_a_bound_and_raising_it_goes_on(tmp_path: Path) -> None:
    web = ("--hosts", "2", "--pages", "40", "--redirect-rate", "0.2", "--gone-rate", "0.1")
    with simulated_web(tmp_path, *web) as sim:
        arguments = (*sim.crawl_arguments, *AT_FULL_SPEED, "--json", "--data", "data")
        for most in (1, 7, 30):
            done = run_crawl(tmp_path, *arguments, "--max-pages", str(most), stdin=sim.stdin)
            assert done.code == 0, done.err
            summary = done.summary
            assert (summary["state"], summary["pages"]) == ("finished", most)
            assert summary["dropped"]["max_pages"] > 0
            check_adds_up(summary)
        again = run_crawl(tmp_path, *arguments, "--max-pages", "30", stdin=sim.stdin)
        assert again.summary["pages"] == 30
        whole = run_crawl(tmp_path, *arguments, stdin=sim.stdin)
        assert "max_pages" not in whole.summary["dropped"]
        assert differences(sim.truth(), read_catalog(tmp_path / "data")) == []
        asked = sim.pages_asked()
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("as_json", [False, True])
def test_a_dry_run_says_what_it_would_do_and_does_nothing(tmp_path: Path, as_json: bool) -> None:
    arguments = ("--dry-run", "--scope", "prefix", "-o", "out.csv", *["--json"] * as_json)
    with origin({"/": page()}) as server:
        done = run_crawl(tmp_path, f"{server.url}/docs/", *arguments)
        assert server.asked == []
    assert done.code == 0, done.err
    assert list(tmp_path.iterdir()) == []
    if as_json:
        described = json.loads(done.out)
        assert described["seeds"] == [f"{server.url}/docs/"]
        assert described["scope"] == "prefix"
        assert described["outputs"][0].endswith("out.csv")
    else:
        assert f"{server.url}/docs/" in done.out
        assert "prefix" in done.out
        assert "out.csv" in done.out


def test_a_dry_run_still_refuses_what_is_wrong(tmp_path: Path) -> None:
    done = run_crawl(tmp_path, "http://a.test/", "--dry-run", "--allow", "(")
    assert (done.code, done.out) == (2, "")


def test_who_crawls_his_own_machine_needs_no_contact(tmp_path: Path) -> None:
    with origin({"/": page()}) as server:
        env = {"SKITTER_FETCH__CONTACT": ""}
        done = run_crawl(tmp_path, server.url, "--json", env=env)
        (robots, asked) = server.asked
    assert done.code == 0
    assert done.err == ""
    assert robots.headers["user-agent"] == asked.headers["user-agent"]
    assert asked.headers["user-agent"].lower().startswith("skitter/")
