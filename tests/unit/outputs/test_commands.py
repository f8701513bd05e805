"""`skitter show`, `export` and `jobs`, on folders with real crawls in them."""

import asyncio
import csv
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from skitter.cli import main as cli
from skitter.cli.main import Entry, main
from skitter.config.settings import Settings
from skitter.models import Completion, JobSpec, JobState, Outcome, Request
from skitter.store.base import StoredPage
from skitter.urls.fingerprint import fingerprint
from skitter.wiring import Backends, hold_folder, open_backends

#: The class is in conftest.py, which no test can import.
Crawl: TypeAlias = Any
Run = Callable[..., Result]
Jobs = Callable[..., None]

SPEC = JobSpec(
    seeds=("http://site.test/",),
    headers=(("Authorization", "Bearer secret-token"), ("X-Team", "us")),
    cookie="session=secret-cookie",
)
JOB_ID = "a" * 32
PNG = b"\x89PNG\r\n\x1a\n\0"


@asynccontextmanager
async def held(data: Path) -> AsyncIterator[Backends]:
    with hold_folder(data):
        async with open_backends(data, Settings(), writing=True) as backends:
            yield backends


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in `tmp_path`."""
    monkeypatch.chdir(tmp_path)
    for name in ("show", "export", "jobs"):
        monkeypatch.setitem(cli.COMMANDS, name, Entry(f"skitter.cli.{name}:{name}", ""))
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])


async def fill(backends: Backends, crawl: Crawl, name: str, job_id: str = JOB_ID) -> None:
    """A job with a page, an image, a redirect, a failure, and two URLs still queued."""
    await backends.frontier.open_job(name, job_id, SPEC, max_pages=None)
    pages = [
        crawl.page("page", "<title>Ü".encode()),
        crawl.page("image", PNG, encoding=None),
        crawl.page("moved", b"", Outcome.REDIRECTED),
        crawl.page("gone", None, Outcome.FAILED),
    ]
    stored = [
        StoredPage(
            record_id=page.record.id,
            url=page.record.url,
            timestamp=page.record.timestamp,
            head=(b"HTTP/2 200 ", b"Content-Encoding: br", b"X: y") if page.record.digest else (),
            body=page.body,
            digest=page.record.digest,
        )
        for page in pages
    ]
    places = await backends.store.append(job_id, stored)
    rows = [replace(page, location=place) for page, place in zip(pages, places, strict=True)]
    await backends.catalog.add(name, rows, lambda _new: [])
    await finish(backends, name, pages)


async def finish(backends: Backends, name: str, pages: Sequence[Any]) -> None:
    urls = [page.record.url for page in pages] + ["http://site.test/q1", "http://site.test/q2"]
    await backends.frontier.add(
        name, [Request(url=url, fingerprint=fingerprint(url), domain=url) for url in urls]
    )
    outcomes = {page.record.url: page.record.outcome for page in pages}
    grant = await backends.frontier.lease("worker", len(urls))
    await backends.frontier.complete(
        "worker",
        [
            Completion(token=lease.token, outcome=outcomes[lease.request.url], body_bytes=10)
            for lease in grant.leases
            if lease.request.url in outcomes
        ],
    )
    await backends.frontier.reap("worker")


@pytest.fixture
def jobs(tmp_path: Path, crawl: Crawl) -> Jobs:
    """Makes `./skitter-data` with jobs of these names and ids."""

    async def make(names: dict[str, str]) -> None:
        async with held(tmp_path / "skitter-data") as backends:
            for name, job_id in names.items():
                await fill(backends, crawl, name, job_id)

    return lambda **names: asyncio.run(make(names))


def test_show_prints_the_record_as_json_away_from_a_terminal(run: Run, jobs: Jobs) -> None:
    jobs(news=JOB_ID)
    result = run("show", "site.test/page#fragment")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["url"] == "http://site.test/page"
    assert run("show", "http://site.test/page", "--json", "--job", "news").stdout == result.stdout


def test_show_body_is_byte_for_byte(run: Run, jobs: Jobs) -> None:
    jobs(news=JOB_ID)
    assert run("show", "site.test/image", "--body").stdout_bytes == PNG
    record = json.loads(run("show", "site.test/page", "--json", "--body").stdout)
    assert record["body"] == "<title>Ü"


def test_show_headers_are_as_received(run: Run, jobs: Jobs) -> None:
    jobs(news=JOB_ID)
    result = run("show", "site.test/image", "--headers")
    assert result.stdout == "HTTP/2 200 \nContent-Encoding: br\nX: y\n"
    both = run("show", "site.test/image", "--headers", "--body").stdout_bytes
    assert both == result.stdout_bytes + b"\n" + PNG


def test_show_is_a_table_on_a_terminal(
    run: Run, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs(news=JOB_ID)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _self: True)
    monkeypatch.setenv("COLUMNS", "100")
    text = run("show", "site.test/page").stdout
    for words in ("http://site.test/page", "Set-Cookie: b=2", 'say "x", please', "A title"):
        assert words in text
    assert "{" not in text


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (("show", "site.test/never"), 1, "no record of http://site.test/never in job news"),
        (("show", "site.test/gone", "--body"), 1, "it is failed (dns)"),
        (("show", "ftp://site.test/"), 2, "only http and https"),
        (("show", "site.test", "--job", "nwes"), 2, "no job named 'nwes' in skitter-data"),
        (("show", "site.test", "--data", "nowhere"), 2, "not a Skitter data folder"),
        (("export", "a.txt"), 2, "must end in .jsonl"),
        (("export", "a.csv", "./a.csv"), 2, "twice"),
        (("export",), 2, "Missing argument"),
        (("jobs", "delete"), 2, "name the job"),
        (("jobs", "delete", "nwes"), 2, "no job named"),
        (("jobs", "delete", "news", "--data", "nowhere"), 2, "not a Skitter data folder"),
        (("jobs", "show", "a", "--job", "b"), 2, "two jobs"),
    ],
)
def test_what_is_wrong_is_one_line(
    run: Run, jobs: Jobs, tmp_path: Path, words: tuple[str, ...], code: int, line: str
) -> None:
    jobs(news=JOB_ID)
    result = run(*words)
    assert result.exit_code == code
    assert result.stdout == ""
    assert line in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "nowhere").exists()


def test_with_several_jobs_one_must_be_chosen(run: Run, jobs: Jobs) -> None:
    jobs(news=JOB_ID, sport="b" * 32)
    for words in (("show", "site.test/page"), ("export", "a.csv"), ("jobs", "show")):
        result = run(*words)
        assert result.exit_code == 2
        assert "has 2 jobs, choose one with --job: news, sport" in result.stderr
    assert run("export", "a.csv", "--job", "sport").exit_code == 0


def test_an_empty_folder_has_no_jobs(run: Run, jobs: Jobs) -> None:
    jobs()
    assert run("jobs", "list", "--json").stdout == "[]\n"
    result = run("show", "site.test")
    assert (result.exit_code, "no jobs yet" in result.stderr) == (2, True)


def test_export_writes_every_format(run: Run, jobs: Jobs, tmp_path: Path) -> None:
    jobs(news=JOB_ID)
    names = ["a.jsonl", "a.csv", "a.parquet", "a.warc.gz"]
    result = run("export", *names, "--json")
    written = json.loads(result.stdout)
    assert [Path(file["path"]).name for file in written] == names
    assert {file["records"] for file in written} == {3}
    assert [file["bytes"] for file in written] == [(tmp_path / n).stat().st_size for n in names]
    assert run("export", "all.csv", "--all", "--body").stdout.startswith("all.csv: 4 ")
    rows = list(csv.DictReader((tmp_path / "all.csv").read_text().splitlines()))
    assert [row["body_base64"] for row in rows] == ["", "true", "", ""]


def test_export_leaves_a_growing_file_alone(run: Run, crawl: Crawl, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"

    async def make(state: JobState) -> None:
        async with held(tmp_path / "skitter-data") as backends:
            await backends.frontier.open_job("news", JOB_ID, SPEC, max_pages=None)
            await backends.frontier.set_state("news", state)
            outputs = crawl.outputs(target)
            await outputs.prepare(backends.catalog, backends.store, "news")
            await backends.catalog.add("news", [crawl.page("a")], outputs.append)
            outputs.close()

    asyncio.run(make(JobState.PAUSED))
    before = target.read_bytes()
    assert "export to another name" in run("export", "out.jsonl", "--body").stderr
    assert target.read_bytes() == before
    asyncio.run(make(JobState.FINISHED))
    assert run("export", "out.jsonl", "--body").exit_code == 0


def test_jobs_list_counts(run: Run, jobs: Jobs) -> None:
    jobs(news=JOB_ID)
    [job] = json.loads(run("jobs", "list", "--json").stdout)
    created = job.pop("created")
    assert created.startswith("20")
    assert job == {
        "job": "news",
        "id": JOB_ID,
        "state": "paused",
        "interrupted": True,
        "pages": 2,
        "failed": 1,
        "redirected": 1,
        "dropped": {},
        "queued": 2,
        "accepted": 6,
        "bytes": 40,
        "max_pages": None,
    }
    header, row = run("jobs", "list").stdout.splitlines()
    assert header.split()[:4] == ["job", "state", "pages", "failed"]
    assert row.split()[:7] == ["news", "interrupted", "2", "1", "1", "0", "2"]


def test_jobs_show_hides_secrets(run: Run, jobs: Jobs) -> None:
    jobs(news=JOB_ID)
    for words in (("jobs", "show"), ("jobs", "show", "news", "--json")):
        result = run(*words)
        assert result.exit_code == 0, result.output
        assert "secret" not in result.stdout
        assert "X-Team" in result.stdout
        assert "http://site.test/" in result.stdout


def test_a_finished_job_counts_what_is_left_as_max_pages(
    run: Run, crawl: Crawl, tmp_path: Path
) -> None:
    async def make() -> None:
        async with held(tmp_path / "skitter-data") as backends:
            await fill(backends, crawl, "news")
            await backends.frontier.set_state("news", JobState.FINISHED)

    asyncio.run(make())
    [job] = json.loads(run("jobs", "list", "--json").stdout)
    assert (job["state"], job["dropped"], job["queued"]) == ("finished", {"max_pages": 2}, 0)


def test_delete_keeps_what_another_job_shares(run: Run, jobs: Jobs, tmp_path: Path) -> None:
    jobs(news=JOB_ID, again=JOB_ID, sport="b" * 32)
    segments = tmp_path / "skitter-data" / "segments"
    assert "deleted news: 2 pages, 2 queued" in run("jobs", "delete", "news").stdout
    assert run("show", "site.test/page", "--job", "again", "--body").exit_code == 0
    assert json.loads(run("jobs", "delete", "again", "--json").stdout)["job"] == "again"
    assert [folder.name for folder in segments.iterdir()] == ["b" * 32]
    assert run("export", "a.jsonl", "--body").exit_code == 0
    assert "<title>Ü" in (tmp_path / "a.jsonl").read_text()
    assert "no job named 'news'" in run("jobs", "delete", "news").stderr


def test_reading_works_while_a_crawl_holds_the_folder_and_deleting_does_not(
    run: Run, crawl: Crawl, tmp_path: Path
) -> None:
    async def main() -> None:
        async with held(tmp_path / "skitter-data") as backends:
            await fill(backends, crawl, "news")
            for words in (
                ("show", "site.test/page"),
                ("export", "a.jsonl"),
                ("jobs", "list"),
                ("jobs", "show"),
            ):
                result = await asyncio.to_thread(run, *words)
                assert result.exit_code == 0, result.output
            result = await asyncio.to_thread(run, "jobs", "delete", "news")
            assert result.exit_code == 2
            assert "in use by process" in result.stderr
            await backends.catalog.add("news", [crawl.page("later")], lambda _new: [])
            result = await asyncio.to_thread(run, "show", "site.test/later")
            assert msgspec.json.decode(result.stdout)["url"] == "http://site.test/later"

    asyncio.run(main())


@pytest.mark.parametrize("words", [("show",), ("export",), ("jobs", "list"), ("jobs", "delete")])
def test_help_has_examples(run: Run, words: tuple[str, ...]) -> None:
    result = run(*words, "--help")
    assert result.exit_code == 0
    assert f"  skitter {' '.join(words)}" in result.stdout.partition("Examples:")[2]
