import importlib.metadata
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from skitter.cli import checks
from skitter.cli.checks import DEPENDENCIES, Status, examine
from skitter.cli.main import main
from skitter.cli.manual import manual_page
from skitter.cli.reference import pages

PROJECT = Path(__file__).parents[3]


class StoppedClock:
    def __init__(self, now_s: float) -> None:
        self.now_s = now_s

    def time(self) -> float:
        return self.now_s

    def monotonic(self) -> float:
        return 0.0


def run(*arguments: str, **variables: str) -> Result:
    return CliRunner(env=variables).invoke(main, arguments)


def test_config_show_is_valid_toml_away_from_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("config", "show", SKITTER_FETCH__TIMEOUT_S="7")
    assert tomllib.loads(result.stdout)["fetch"]["timeout_s"] == 7
    assert "fetch.timeout_s = 7.0  # SKITTER_FETCH__TIMEOUT_S" in result.stdout
    (tmp_path / "skitter.toml").write_text(result.stdout)
    assert run("config", "show").exit_code == 0


def test_config_show_json_hides_passwords(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("config", "show", "--json", SKITTER_FRONTIER__URL="redis://me:secret@host/0")
    shown = json.loads(result.stdout)
    assert shown["frontier.url"] == {
        "value": "redis://me:***@host/0",
        "source": "SKITTER_FRONTIER__URL",
    }
    assert "secret" not in result.stdout


def test_doctor_knows_every_dependency() -> None:
    stated = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert sorted(DEPENDENCIES) == [re.split(r"[<>=]", line)[0] for line in sorted(stated)]


def test_doctor_is_content_here(tmp_path: Path) -> None:
    result = run("doctor", "--json", "--data", str(tmp_path / "new"))
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report["healthy"] is True
    assert not (tmp_path / "new").exists()
    assert {"python", "pycurl", "libcurl http2", "sqlite", "clock"} <= {
        check["name"] for check in report["checks"]
    }


def test_doctor_fails_when_something_required_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(checks.DEPENDENCIES, "no-such-thing", ("no_such_thing", "this test"))
    result = run("doctor", "--data", str(tmp_path))
    assert result.exit_code == 1
    assert re.search(r"fail +no-such-thing .*\n +needed for this test; to mend it: ", result.stdout)


def test_doctor_sees_a_data_folder_that_cannot_be_written() -> None:
    findings = {finding.name: finding for finding in examine(Path("/proc/x"), StoppedClock(9e9))}
    assert findings["data folder"].status is Status.FAIL
    assert "--data" in findings["data folder"].fix


@pytest.mark.parametrize(("now_s", "status"), [(0.0, Status.WARN), (9e9, Status.OK)])
def test_doctor_doubts_a_clock_behind_our_own_files(
    tmp_path: Path, now_s: float, status: Status
) -> None:
    findings = {finding.name: finding for finding in examine(tmp_path, StoppedClock(now_s))}
    assert findings["clock"].status is status


def test_doctor_names_the_install_command_of_a_missing_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    findings = {finding.name: finding for finding in examine(tmp_path, StoppedClock(9e9))}
    assert findings["extra parquet"].status is Status.WARN
    assert "skitter[parquet]" in findings["extra parquet"].fix


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert "_SKITTER_COMPLETE" in result.stdout


@pytest.mark.needs("bash")
def test_completion_completes_commands_and_options() -> None:
    words = run(
        _SKITTER_COMPLETE="bash_complete", COMP_WORDS="skitter doc", COMP_CWORD="1"
    ).stdout.split()
    assert words == ["plain,doctor"]
    words = run(
        _SKITTER_COMPLETE="bash_complete", COMP_WORDS="skitter doctor --", COMP_CWORD="2"
    ).stdout.split()
    assert "plain,--data" in words


def test_manual_names_every_command() -> None:
    result = run("manual")
    assert result.stdout == manual_page(main)
    assert ".SS skitter config show [OPTIONS]" in result.stdout


@pytest.mark.needs("groff", package="groff-base")
def test_manual_renders_without_complaint() -> None:
    result = subprocess.run(
        ["groff", "-man", "-Tascii", "-P-cbou", "-ww"],
        input=manual_page(main),
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stderr == ""
    assert "EXIT STATUS" in result.stdout


@pytest.mark.parametrize("name", ["cli.md", "settings.md", "skitter.1"])
def test_reference_is_fresh(name: str) -> None:
    written = PROJECT / "docs" / "reference" / name
    assert written.read_text() == pages(main)[name], "run `make docs`"
