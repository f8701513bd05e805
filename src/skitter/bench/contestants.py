"""Who takes part, how each is started, and what each does and does not do."""

import importlib.metadata
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from skitter.config.product import VERSION

__all__ = ["BASE", "Contestant", "Task", "contestants", "last_line"]

#: Whom the others are compared with.
BASE = "skitter-1"

_INSTALL = "pip install 'skitter[bench]'"
#: More than any site has: no contestant but ours has such a limit unless told.
_DEPTH = 1_000_000


class Task(Struct, frozen=True, kw_only=True):
    """What every contestant is asked to do, and an empty folder to do it in."""

    url: str
    concurrency: int
    folder: Path

    @property
    def output(self) -> Path:
        """Where a line for each page goes."""
        return self.folder / "pages.jsonl"


class Contestant(Struct, frozen=True, kw_only=True):
    """A crawler in one configuration."""

    name: str
    title: str
    does: str
    lacks: str
    command: Callable[[Task], list[str]]
    #: Different URLs that answered 200, told after the run.
    count: Callable[[Task], int]
    #: Why it cannot take part; None: it can. Writes nothing.
    obstacle: Callable[[Task], str | None]


def contestants(workers: int) -> list[Contestant]:
    """All of them, in the order in which they run and are shown."""
    ours = [_skitter(count) for count in sorted({1, workers})]
    peers = [_scrapy(), _scrapy_on_disk(), _crawlee(), _crawlee_on_disk()]
    return [*ours, *peers, _floor()]


def last_line(text: str) -> str:
    """What a process said last, which is why it ended."""
    lines = text.strip().splitlines()
    return lines[-1].strip().removeprefix("skitter: error: ") if lines else "no reason given"


def _skitter(workers: int) -> Contestant:
    def command(task: Task) -> list[str]:
        return [
            *(str(Path(sys.executable).with_name("skitter")), "crawl", task.url, "--json"),
            *("--delay", "0", "--concurrency", str(task.concurrency), "--robots", "ignore"),
            *("--depth", str(_DEPTH), "--workers", str(workers)),
            *("--data", str(task.folder / "data"), "-o", str(task.output)),
        ]

    def obstacle(task: Task) -> str | None:
        tried = subprocess.run(  # noqa: S603  (our own command)
            [*command(task), "--dry-run"], capture_output=True, text=True, check=False
        )
        return last_line(tried.stderr) if tried.returncode else None

    return Contestant(
        name=f"skitter-{workers}",
        title=f"Skitter {VERSION}, {workers} worker{'s'[: workers > 1]}",
        does="durable frontier (SQLite), every response in WARC, catalog, JSONL; survives kill -9",
        lacks="",
        command=command,
        count=_count_lines,
        obstacle=obstacle,
    )


def _scrapy() -> Contestant:
    return _peer(
        "scrapy",
        "scrapy",
        does="queue in memory, JSONL",
        lacks="no durable queue, bodies not kept",
        title="Scrapy {version}",
    )


def _scrapy_on_disk() -> Contestant:
    return _peer(
        "scrapy-jobdir",
        "scrapy",
        does="queue on disk (JOBDIR), JSONL",
        lacks="resumes after a clean stop only, bodies not kept",
        title="Scrapy {version}, JOBDIR",
        extra=lambda task: [str(task.folder / "job")],
    )


def _crawlee() -> Contestant:
    return _peer(
        "crawlee",
        "crawlee",
        does="Parsel, queue in memory, JSONL",
        lacks="no durable queue, bodies not kept",
        title="Crawlee {version}",
    )


def _crawlee_on_disk() -> Contestant:
    return _peer(
        "crawlee-files",
        "crawlee",
        does="Parsel, queue and pages in files, its default, JSONL",
        lacks="fetches again what was under way, records of it come twice, bodies not kept",
        title="Crawlee {version}, files",
        extra=lambda task: [str(task.folder / "storage")],
    )


def _peer(
    name: str,
    package: str,
    *,
    title: str,
    does: str,
    lacks: str,
    extra: Callable[[Task], list[str]] = lambda _task: [],
) -> Contestant:
    version = _version(package)

    def command(task: Task) -> list[str]:
        arguments = [task.url, str(task.concurrency), str(task.output), *extra(task)]
        return [sys.executable, "-m", f"skitter.bench.crawlers.{package}", *arguments]

    return Contestant(
        name=name,
        title=title.format(version=version or "").replace(" ,", ",").strip(),
        does=does,
        lacks=lacks,
        command=command,
        count=_count_lines,
        obstacle=lambda _task: None if version else f"not installed; {_INSTALL}",
    )


def _floor() -> Contestant:
    def command(task: Task) -> list[str]:
        module = "skitter.bench.crawlers.floor"
        return [sys.executable, "-m", module, task.url, str(task.concurrency)]

    return Contestant(
        name="floor",
        title="the floor",
        does="fetches, finds links, remembers them in memory",
        lacks="no output, no store, no durable queue, no retries: not a crawler, a lower bound",
        command=command,
        count=lambda task: int((task.folder / "stdout").read_text()),
        obstacle=lambda _task: None if _version("selectolax") else f"not installed; {_INSTALL}",
    )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


class _Line(Struct):
    """Ours say `response_url` and `status_code`, the peers' `url` and `status`."""

    url: str
    response_url: str | None = None
    status: int | None = None
    status_code: int | None = None


def _count_lines(task: Task) -> int:
    decode = msgspec.json.Decoder(_Line).decode
    with task.output.open("rb") as lines:
        pages = (decode(line) for line in lines)
        return len({page.response_url or page.url for page in pages if _is_ok(page)})


def _is_ok(page: _Line) -> bool:
    return 200 in {page.status, page.status_code}
