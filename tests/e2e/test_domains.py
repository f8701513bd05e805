"""`skitter domains`, on a crawl that runs and on one that does not."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.crawls import SKITTER, environment, finish, run_crawl, start_crawl, wait_until
from support.simulation import Simulation, simulated_web

pytestmark = [pytest.mark.e2e, pytest.mark.sim]

WEB = ("--hosts", "2", "--pages", "70")
HELD, OTHER = "site0001.test", "site0002.test"


def domains(folder: Path, *arguments: str, code: int = 0) -> str:
    command = [SKITTER, "domains", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def shown(folder: Path, domain: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(domains(folder, "show", domain, "--json"))
    return parsed


def asked(sim: Simulation, host: str) -> int:
    return sum(host.encode() in line for line in sim.log_path.read_bytes().splitlines())


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_held_domain_is_left_alone_while_the_others_go_on(tmp_path: Path, workers: str) -> None:
    with simulated_web(tmp_path, *WEB) as sim:
        arguments = (*sim.crawl_arguments, "--delay", "0.1", "--workers", workers, "--json")
        process = start_crawl(tmp_path, *arguments, stdin=sim.stdin)
        try:
            assert wait_until(process, lambda: asked(sim, HELD) > 5)
            assert "left alone for 1 h 00 min" in domains(tmp_path, "hold", HELD, "--for", "1h")
            before = asked(sim, HELD)
            assert wait_until(process, lambda: asked(sim, OTHER) > 60)
            # One may have been on its way when we said so, and the log is a moment behind.
            assert asked(sim, HELD) <= before + 3
            info = shown(tmp_path, f"www.{HELD}")
            assert (info["hold_reason"], info["in_flight"]) == ("held by hand", 0)
            assert info["queued"] > 0
            domains(tmp_path, "hold", HELD, "--for", "0")
            done = finish(process)
        finally:
            process.kill()
        assert done.code == 0, done.err
        assert done.summary["pages"] == 140


def test_rates_and_blocks_are_kept_for_the_next_run(tmp_path: Path) -> None:
    with simulated_web(tmp_path, *WEB) as sim:
        arguments = (*sim.crawl_arguments, "--delay", "0", "--json")
        run_crawl(tmp_path, *arguments, "--max-pages", "5", stdin=sim.stdin)
        assert "1 every 6 s" in domains(tmp_path, "set", OTHER, "--hits", "10", "--window", "60")
        assert shown(tmp_path, OTHER)["rate"]["hits"] == 10
        assert "1 every 6 s" in domains(tmp_path, "list")
        domains(tmp_path, "set", OTHER, "--default")
        domains(tmp_path, "block", HELD)
        before = asked(sim, HELD)
        process = start_crawl(tmp_path, *arguments, stdin=sim.stdin)
        try:
            assert wait_until(process, lambda: asked(sim, OTHER) > 60)
            assert asked(sim, HELD) == before
            assert shown(tmp_path, HELD)["blocked"]
            domains(tmp_path, "unblock", HELD)
            done = finish(process)
        finally:
            process.kill()
        assert done.summary["pages"] == 140


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawled")
    with simulated_web(folder, "--hosts", "1", "--pages", "1") as sim:
        run_crawl(folder, *sim.crawl_arguments, stdin=sim.stdin)
    return folder


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "nowhere.test"), "not known"),
        (("show", "no domain"), "is not a domain"),
        (("set", HELD), "say either which rate"),
        (("set", HELD, "--delay", "1", "--hits", "2"), "choose one"),
        (("set", HELD, "--delay", "1", "--window", "9"), "go with --hits"),
        (("set", HELD, "--scale", "0"), "--scale"),
        (("hold", HELD, "--for", "3y"), "is not a time"),
        (("list", "--data", "nothing"), "nothing"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(
    crawled: Path, arguments: tuple[str, ...], said: str
) -> None:
    complaint = domains(crawled, *arguments, code=2)
    assert said in complaint
    assert complaint.count("\n") == 1
