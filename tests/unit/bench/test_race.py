import os
import subprocess
import sys
from pathlib import Path

import pytest

from skitter.bench.contestants import BASE, Contestant, Task, contestants
from skitter.bench.measure import measure, tree_bytes
from skitter.bench.race import Race
from skitter.bench.sites import Site
from skitter.clock import SystemClock


def contestant(
    name: str, script: str = "", *, pages: int = 5, obstacle: str | None = None
) -> Contestant:
    return Contestant(
        name=name,
        title=name,
        does="",
        lacks="",
        command=lambda _task: [sys.executable, "-c", script],
        count=lambda _task: pages,
        obstacle=lambda _task: obstacle,
    )


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def race(tmp_path: Path, said: list[str]) -> Race:
    site = Site(url="http://127.0.0.1:1/", title="a site")
    return Race(site, concurrency=2, folder=tmp_path, clock=SystemClock(), say=said.append)


def test_rounds_are_interleaved(race: Race, said: list[str]) -> None:
    entrants = race.run([contestant("a"), contestant("b")], rounds=2)
    assert [line.split()[4] for line in said] == ["a", "b", "a", "b"]
    assert [len(entrant.runs) for entrant in entrants] == [2, 2]


def test_who_cannot_run_is_told_and_the_rest_runs(race: Race) -> None:
    entrants = race.run([contestant("a", obstacle="not installed"), contestant("b")], rounds=1)
    assert [entrant.contestant.name for entrant in entrants] == ["b"]
    (absence,) = race.absences
    assert (absence.name, absence.reason, absence.failed) == ("a", "not installed", False)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (contestant("a", "import sys; sys.exit('it broke')"), "exit code 1: it broke"),
        (contestant("a", "import os; os.kill(os.getpid(), 9)"), "killed by SIGKILL"),
        (contestant("a", pages=0), "no page with status 200"),
    ],
)
def test_who_fails_is_left_out(race: Race, broken: Contestant, reason: str) -> None:
    entrants = race.run([broken, contestant("b")], rounds=2)
    assert [entrant.contestant.name for entrant in entrants] == ["b"]
    (absence,) = race.absences
    assert absence.failed
    assert reason in absence.reason


def test_every_run_starts_in_an_empty_folder(race: Race, tmp_path: Path) -> None:
    script = "import os; assert set(os.listdir()) == {'stdout', 'stderr'}; open('left', 'w')"
    assert len(race.run([contestant("a", script)], rounds=2)[0].runs) == 2
    assert list(tmp_path.iterdir()) == []


def test_settings_of_the_operator_do_not_reach_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKITTER_FETCH__TIMEOUT_S", "1")
    script = "import os; print([name for name in os.environ if name.startswith('SKITTER')])"
    usage = measure([sys.executable, "-c", script], tmp_path, SystemClock())
    assert usage.exit_code == 0
    assert (tmp_path / "stdout").read_text() == "[]\n"


def test_cpu_of_children_counts(tmp_path: Path) -> None:
    # The child says what it used itself; all of it must be in what we are told of its parent.
    child = "sum(range(10**6)); import time; print(time.process_time())"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    usage = measure([sys.executable, "-c", parent], tmp_path, SystemClock())
    assert usage.cpu_seconds >= float((tmp_path / "stdout").read_text())


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_that_of_all_processes() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        try:
            of_child = tree_bytes(child.pid)
            assert 0 < of_child < tree_bytes(os.getpid())
        finally:
            child.terminate()
    assert tree_bytes(child.pid) == 0


def named(name: str) -> Contestant:
    return next(c for c in contestants(2) if c.name == name)


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task(url="http://127.0.0.1:1/", concurrency=2, folder=tmp_path)


def test_one_worker_is_not_measured_twice() -> None:
    assert [c.name for c in contestants(1)].count(BASE) == 1
    assert [c.name for c in contestants(4)][:2] == [BASE, "skitter-4"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (BASE, '{{"url": "{0}?", "response_url": "{0}", "status_code": {1}, "title": null}}'),
        ("scrapy", '{{"url": "{0}", "status": {1}, "links": []}}'),
        ("crawlee", '{{"url": "{0}", "status": {1}, "links": []}}'),
    ],
)
def test_pages_are_different_urls_with_status_200(name: str, line: str, task: Task) -> None:
    pages = [("a", 200), ("b", 200), ("a", 200), ("c", 404)]
    task.output.write_text("".join(line.format(*page) + "\n" for page in pages))
    assert named(name).count(task) == 2


def test_skitter_says_why_it_refuses(tmp_path: Path) -> None:
    wrong = Task(url="ftp://127.0.0.1/", concurrency=2, folder=tmp_path)
    reason = named(BASE).obstacle(wrong)
    assert reason
    assert "ftp" in reason
    assert not reason.startswith("skitter:")


def test_a_missing_peer_has_its_install_command(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skitter.bench.contestants._version", lambda _package: None)
    for name in ("scrapy", "scrapy-jobdir", "crawlee", "crawlee-files", "floor"):
        assert named(name).obstacle(task) == "not installed; pip install 'skitter[bench]'"
    assert named("scrapy-jobdir").title == "Scrapy, JOBDIR"
