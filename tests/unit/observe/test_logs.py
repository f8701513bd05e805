import io
import json
from collections.abc import Iterator

import pytest
import structlog

from skitter.log import Log
from skitter.observe.logs import configure


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class StoppedClock:
    def time(self) -> float:
        return 0.0

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def test_json_away_from_a_terminal() -> None:
    stream = io.StringIO()
    configure(stream=stream, clock=StoppedClock())
    Log("test").warning("robots.fetched", host="é.test", status=200)
    assert json.loads(stream.getvalue()) == {
        "event": "robots.fetched",
        "host": "é.test",
        "level": "warning",
        "status": 200,
        "timestamp": "1970-01-01T00:00:00.000000",
    }


def test_an_exception_stays_one_line_of_json() -> None:
    stream = io.StringIO()
    configure(stream=stream)
    try:
        int("x")
    except ValueError:
        Log("test").exception("hook.failed")
    assert stream.getvalue().count("\n") == 1
    assert "Traceback" in json.loads(stream.getvalue())["exception"]


@pytest.mark.parametrize(("level", "expected"), [("warning", 0), ("info", 1), ("debug", 2)])
def test_level(level: str, expected: int) -> None:
    stream = io.StringIO()
    configure(level=level, stream=stream)
    Log("test").info("lease.granted")
    Log("test").debug("lease.extended")
    assert stream.getvalue().count("\n") == expected


def test_key_value_on_a_terminal_without_foreign_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    configure(stream=stream, clock=StoppedClock())
    Log("test").warning("page.parsed", title="a\x1b[2Jb")
    assert "page.parsed" in stream.getvalue()
    assert "title=" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_colour_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    configure(stream=stream)
    Log("test").warning("page.parsed")
    assert "\x1b[" in stream.getvalue()


def test_standard_output_stays_empty(capsys: pytest.CaptureFixture[str]) -> None:
    configure()
    Log("test").error("store.failed")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "store.failed" in captured.err
