import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from skitter import errors
from skitter.cli.errors import guarded
from skitter.cli.invocation import Invocation
from skitter.cli.main import COMMANDS, main
from skitter.cli.tree import walk


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("SKITTER_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_every_command(flag: str) -> None:
    result = run(flag)
    assert result.exit_code == 0
    for name, entry in COMMANDS.items():
        assert name in result.stdout
        assert " ".join(entry.summary.split()[:3]) in result.stdout


def test_help_imports_no_command_and_nothing_heavy() -> None:
    code = (
        "import sys\nfrom skitter.cli.main import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted(sys.modules), file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(result.stderr.strip("[]\n").replace("'", "").split(", "))
    commands = {entry.target.partition(":")[0] for entry in COMMANDS.values()}
    heavy = {"asyncio", "msgspec", "pycurl", "rich", "sqlite3", "structlog", "tomllib"}
    assert "skitter.cli.main" in loaded
    assert loaded & (commands | heavy) == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_summaries_are_the_commands_own(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    page = next(walk(command))
    assert page.paragraphs[0] == f"{COMMANDS[name].summary}."


def test_every_option_is_explained() -> None:
    unexplained = [
        f"{page.path} {row.names}" for page in walk(main) for row in page.options if not row.help
    ]
    assert unexplained == []


def test_version() -> None:
    assert run("--version").stdout.startswith("skitter ")


def test_no_command_is_help_on_standard_error() -> None:
    result = run()
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage: skitter")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["dctor"], "No such command 'dctor', did you mean 'doctor'; see 'skitter --help'"),
        (["doctor", "--frob"], "--frob"),
        (["completion"], "see 'skitter completion --help'"),
        (["config", "show", "--config", "/does/not/exist"], "cannot read"),
        (["--config", "/does/not/exist", "config", "show"], "cannot read"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(arguments: list[str], expected: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("skitter: error: ")
    assert result.stderr.count("\n") == 1
    assert expected in result.stderr


def guarded_raise(error: BaseException, *, debug: bool = False) -> int:
    def fail() -> None:
        raise error

    return guarded(fail, Invocation(debug=debug))


@pytest.mark.parametrize("name", errors.__all__)
def test_our_errors_end_with_their_own_code(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    kind = getattr(errors, name)
    assert guarded_raise(kind("what to do")) == kind.exit_code
    assert capsys.readouterr() == ("", "skitter: error: what to do\n")


def test_an_error_without_words_speaks_by_its_docstring(
    capsys: pytest.CaptureFixture[str],
) -> None:
    guarded_raise(errors.StorageFullError())
    assert "make room" in capsys.readouterr().err


def test_an_internal_error_is_one_line_unless_debugging(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert guarded_raise(ValueError("a\nb")) == 1
    line = "skitter: error: internal error: ValueError: a b; run with --debug for the traceback\n"
    assert capsys.readouterr() == ("", line)
    assert guarded_raise(ValueError("a"), debug=True) == 1
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv("SKITTER_DEBUG", "1")
    guarded_raise(ValueError("a"))
    assert "Traceback" in capsys.readouterr().err


def test_a_message_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    guarded_raise(errors.UsageError("bad \x1b[2Jurl"))
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupt_is_exit_3(
    interrupt: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guarded_raise(interrupt) == 3
    assert capsys.readouterr().out == ""


def test_a_command_may_return_its_exit_code() -> None:
    assert guarded(lambda: 1, Invocation()) == 1
    assert guarded(lambda: None, Invocation()) == 0
    assert guarded(lambda: "text", Invocation()) == 0


def test_a_reader_that_leaves_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from skitter.cli.main import main; main()", "config", "show"]
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (result.returncode, result.stderr) == (141, b"")


def test_a_connection_that_breaks_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(Invocation, "load", broken)
    result = run("config", "show")
    assert result.exit_code == 1
    assert "internal error" in result.stderr


def test_shared_options_stand_before_or_after_the_command(tmp_path: Path) -> None:
    file = tmp_path / "other.toml"
    file.write_text("fetch.timeout_s = 7")
    before = run("--config", str(file), "config", "show")
    after = run("config", "show", "--config", str(file))
    assert before.exit_code == 0
    assert before.stdout == after.stdout
    assert "fetch.timeout_s = 7.0" in before.stdout
