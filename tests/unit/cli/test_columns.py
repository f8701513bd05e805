"""Lists are read by people and cut by scripts: columns line up and no line is wrapped."""

import pytest

from skitter.cli.columns import print_columns


def test_columns_line_up(capsys: pytest.CaptureFixture[str]) -> None:
    print_columns(("name", "n", "state"), [("a.test", "7", "ok"), ("b", "1200", "")], right={"n"})
    assert capsys.readouterr().out.splitlines() == [
        "name       n  state",
        "a.test     7  ok",
        "b       1200",
    ]


def test_a_long_line_is_not_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    print_columns(("domain", "state"), [("a.test", "waits: " + "word " * 40)])
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_without_rows_there_are_titles(capsys: pytest.CaptureFixture[str]) -> None:
    print_columns(("domain", "state"), [])
    assert capsys.readouterr().out == "domain  state\n"
