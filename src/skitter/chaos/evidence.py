"""What a crawl left behind, read by the product's own commands and from its fetch log."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from skitter.chaos.crawl import Crawl, environment
from skitter.chaos.target import SKITTER
from skitter.chaos.verdict import Blame, Entry, Finding
from skitter.engine.audit import Check
from skitter.engine.folder import DataFolder
from skitter.engine.logbook import LOG_FOLDER, Fetched, InFlight, LogReader
from skitter.errors import BackendError, SkitterError
from skitter.frontier.inspect import FrontierRows

__all__ = ["audit", "exported", "leased_urls", "read_entries", "sent_times"]


class _Audit(Struct, frozen=True):
    checks: list[Check]


def exported(crawl: Crawl) -> list[Entry]:
    """Every record of the catalog, those without a line in output files too."""
    path = crawl.folder / "all.jsonl"
    _run("export", str(path), "--all", "--data", str(crawl.data))
    return read_entries(path)


def read_entries(path: Path) -> list[Entry]:
    """The records of a JSONL file; a torn line is an error."""
    decode = msgspec.json.Decoder(Entry).decode
    with path.open("rb") as lines:
        return [decode(line) for line in lines]


def audit(crawl: Crawl, tolerance_s: float) -> Iterator[Finding]:
    """What `skitter audit --deep` finds."""
    tolerance = ("--tolerance-ms", f"{tolerance_s * 1000:g}")
    printed = _run("audit", "--deep", "--json", *tolerance, "--data", str(crawl.data), codes=(0, 1))
    for check in msgspec.json.decode(printed, type=_Audit).checks:
        for finding in check.findings:
            what = f"audit: {check.name}: {finding.where}: {finding.what}"
            yield Finding(blame=Blame.VIOLATION, what=what)
        for _ in range(check.found - len(check.findings)):
            yield Finding(blame=Blame.VIOLATION, what=f"audit: {check.name}: one more")


def sent_times(crawl: Crawl) -> list[float]:
    """When pages were asked for by the crawl's own log; for origins that keep none for us."""
    log = LogReader(crawl.data / LOG_FOLDER)
    sends = (line for _, line in log if isinstance(line, Fetched | InFlight))
    return sorted(line.sent for line in sends if line.kind != "robots")


def leased_urls(crawl: Crawl) -> tuple[str, ...] | None:
    """What a crawl that was killed had leased; None: it had not begun."""
    path = DataFolder(crawl.data).frontier
    if not path.exists():
        return None
    try:
        return asyncio.run(_leased(path))
    except SkitterError:
        return None  # killed while it made the file


async def _leased(path: Path) -> tuple[str, ...]:
    rows = FrontierRows(path)
    try:
        jobs = rows.jobs()
        return tuple(row.url for job in jobs for row in rows.requests(job.name) if row.leased)
    finally:
        await rows.aclose()


def _run(*arguments: str, codes: tuple[int, ...] = (0,)) -> bytes:
    done = subprocess.run(  # noqa: S603  (our own command)
        [SKITTER, *arguments], env=environment(), capture_output=True, check=False
    )
    # One that ends with code 1 because of an error of its own prints nothing.
    if done.returncode not in codes or (done.returncode and not done.stdout):
        said = done.stderr.decode(errors="replace").strip()
        raise BackendError(f"skitter {arguments[0]} failed: {said}")
    return done.stdout
