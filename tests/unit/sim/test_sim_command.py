"""`skitter sim`, as a program and a person see it."""

import http.client
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from skitter.cli.main import main

PROGRAM = (sys.executable, "-c", "from skitter.cli.main import main; main()", "sim")


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--error-rate", "2"], "--error-rate must be from 0 to 1, not 2.0"),
        (["--hosts", "0"], "--hosts must be at least 1, not 0"),
        (["--charsets", "3"], "--charsets must be from 0 to 1, not 3.0"),
        (["--no-serve", "--manifest", "/nowhere/at/all"], "/nowhere/at/all"),
    ],
)
def test_bad_values_are_one_clear_line(flags: list[str], named: str) -> None:
    result = CliRunner().invoke(main, ["sim", *flags])
    assert result.exit_code == 2
    assert named in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_writes_the_manifest_without_serving(tmp_path: Path) -> None:
    manifest, seeds = tmp_path / "manifest.jsonl", tmp_path / "seeds"
    flags = ["--no-serve", "--hosts", "2", "--pages", "7", "--everything", "--traps"]
    flags += ["--charsets", "--manifest", str(manifest), "--seeds", str(seeds)]
    assert CliRunner().invoke(main, ["sim", *flags]).exit_code == 0
    lines = [json.loads(line) for line in manifest.read_text().splitlines()]
    assert sum(line["kind"] == "page" for line in lines) == 14
    assert seeds.read_text() == "http://site0001.test/\nhttp://site0002.test/\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_announces_serves_and_ends_when_told(tmp_path: Path, number: signal.Signals) -> None:
    log, manifest = tmp_path / "log", tmp_path / "manifest"
    flags = ("--json", "--hosts", "2", "--log", str(log), "--manifest", str(manifest))
    with subprocess.Popen([*PROGRAM, *flags], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        where = json.loads(process.stdout.readline())
        assert where["resolve"] == f"*:{where['port']}:127.0.0.1"
        assert [url.split("/")[2] for url in where["seeds"]] == [
            f"site{n:04d}.test:{where['port']}" for n in (1, 2)
        ]
        connection = http.client.HTTPConnection("127.0.0.1", where["port"])
        connection.request("GET", "/", headers={"Host": "site0002.test"})
        assert connection.getresponse().status == 200
        process.send_signal(number)
        assert process.wait(timeout=30) == 0
        connection.close()
    assert json.loads(log.read_text())["host"] == "site0002.test"
    assert len(manifest.read_text().splitlines()) == 200


@pytest.mark.parametrize(("hosts", "begins"), [("3", "  skitter crawl http://"), ("9", "  printf")])
def test_shows_the_command_to_crawl_it(hosts: str, begins: str) -> None:
    with subprocess.Popen(
        [*PROGRAM, "--hosts", hosts], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[2]
        command = process.stdout.readline()
        process.terminate()
    port = address.split(":")[1].rstrip(".")
    assert command.startswith(begins)
    assert f"--resolve '*:{port}:127.0.0.1'" in command
    assert process.returncode == 0
