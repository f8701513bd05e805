from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from skitter.bench.contestants import Contestant
from skitter.bench.plot import check_plot, write_plot
from skitter.bench.race import Absence, Entrant, Run
from skitter.bench.report import OverheadFigures, Report, make_report
from skitter.bench.sites import Site
from skitter.cli.bench_table import show_report
from skitter.cli.main import main
from skitter.errors import UsageError

SITE = Site(url="http://127.0.0.1:1/", title="a site")


def run(pages: int, seconds: float, cpu_seconds: float, peak_bytes: int = 1_000_000) -> Run:
    return Run(pages=pages, seconds=seconds, cpu_seconds=cpu_seconds, peak_bytes=peak_bytes)


def entrant(name: str, *runs: Run) -> Entrant:
    contestant = Contestant(
        name=name,
        title=name.title(),
        does="something",
        lacks="the rest",
        command=lambda _task: [],
        count=lambda _task: 0,
        obstacle=lambda _task: None,
    )
    return Entrant(contestant=contestant, runs=list(runs))


def report(*entrants: Entrant, absences: tuple[Absence, ...] = ()) -> Report:
    return make_report(SITE, entrants, absences, rounds=3, concurrency=16)


def test_figures_are_medians_and_ratios_are_to_one_worker() -> None:
    made = report(
        entrant("skitter-1", run(100, 1, 0.1), run(100, 9, 9.0), run(100, 2, 0.2)),
        entrant("other", run(100, 4, 2.0), run(100, 4, 2.0), run(100, 4, 99.0)),
    )
    ours, other = made.contestants
    assert (ours.pages_per_second, ours.cpu_us_per_page) == pytest.approx((50, 2_000))
    assert (ours.cpu_ratio, ours.speed_ratio) == (1, 1)
    assert (other.cpu_ratio, other.speed_ratio) == pytest.approx((10, 0.5))


@pytest.mark.parametrize(
    ("first", "second", "same"), [(100, 100, True), (99, 99, False), (100, 99, False)]
)
def test_other_pages_are_told(first: int, second: int, same: bool) -> None:
    made = report(
        entrant("skitter-1", run(100, 1, 1), run(100, 1, 1)),
        entrant("other", run(first, 1, 1), run(second, 1, 1)),
    )
    assert made.contestants[1].same_pages is same
    assert made.same_pages is same


def test_without_skitter_there_are_no_ratios() -> None:
    made = report(entrant("floor", run(10, 1, 1)), entrant("other", run(9, 1, 1)))
    assert [row.cpu_ratio for row in made.contestants] == [None, None]
    assert [row.same_pages for row in made.contestants] == [True, False]


def test_table_away_from_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    made = report(
        entrant("skitter-1", run(1000, 10, 2)),
        entrant("other", run(999, 20, 20)),
        absences=(Absence(name="third", reason="not installed"),),
    )
    show_report(made)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["Skitter-1", "1,000", "100", "2,000", "1", "1.00", "1.00"]
    assert lines[2].split() == ["Other", "999", "!", "50", "20,020", "1", "10.01", "0.50"]
    assert any(line.startswith("! got another number of pages") for line in lines)
    assert "  Other: something (the rest)" in lines
    assert "  not measured: third: not installed" in lines


def test_what_coordination_costs_has_its_own_line(capsys: pytest.CaptureFixture[str]) -> None:
    figures = OverheadFigures(
        workers=25,
        item_s=0.1,
        items=500,
        cpu_s_per_item=0.00045,
        wait_s_per_item=0.0027,
        cpu_share=0.0045,
        wait_share=0.027,
    )
    made = make_report(SITE, [], [], rounds=1, concurrency=16, overhead=figures)
    show_report(made)
    (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("Leases")]
    assert "25 workers with items of 100 ms wait 2.70%" in line
    assert "0.45% of it in CPU" in line
    assert msgspec.json.decode(msgspec.json.encode(made))["overhead"]["wait_share"] == 0.027


def test_plot_is_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "bench.png"
    check_plot(path)
    write_plot(report(entrant("skitter-1", run(100, 1, 1)), entrant("b", run(9, 1, 1))), path)
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("path", ["bench.txt", "no/such/folder/bench.png"])
def test_plot_that_could_not_be_written_is_refused_first(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--plot"):
        check_plot(tmp_path / path)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--only", "wget"], "--only wget: choose from skitter-1"),
        (["--quick", "--url", "http://127.0.0.1:1/"], "give one of them"),
        (["--url", "ftp://127.0.0.1/"], "ftp"),
    ],
)
def test_bad_usage_measures_nothing(arguments: list[str], complaint: str) -> None:
    result = CliRunner().invoke(main, ["bench", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert complaint in result.stderr
