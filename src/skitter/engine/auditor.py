"""Leads the checks of an audit through frontier, catalog, store, output files and log.

Works beside a running crawl. Rows of the frontier are of one moment, and the catalog is read
after them: a result reaches the catalog first, so whatever has ended in the frontier has its
record by then.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from skitter.catalog.base import Catalog, Page, SavedOutput
from skitter.engine.audit import MAX_FINDINGS, Check, Ids, RecordsAudit, RequestsAudit, Tally
from skitter.engine.audit_outputs import audit_output
from skitter.engine.audit_robots import JobRobots, RobotsAudit
from skitter.engine.audit_sends import SendsAudit
from skitter.engine.logbook import Fetched, LogReader, RobotsRead
from skitter.engine.page import DEGRADED
from skitter.errors import DataFolderDamagedError
from skitter.frontier.base import JobInfo
from skitter.frontier.inspect import FrontierRows
from skitter.store.base import Store

__all__ = ["Auditor", "ReadIds", "audit_log"]

#: The record ids in the first so many bytes of an output file, with their line numbers.
ReadIds = Callable[[Path, int], Iterable[tuple[int, str | None]]]


class Auditor:
    """What frontier, catalog, store and output files say of each other."""

    def __init__(
        self,
        rows: FrontierRows,
        *,
        catalog: Catalog,
        store: Store,
        read_ids: ReadIds,
        deep: bool = False,
    ) -> None:
        self._rows = rows
        self._catalog = catalog
        self._store = store
        self._read_ids = read_ids
        self._deep = deep
        self._outputs = Tally("output files hold each record once")
        self._stored = Tally("stored pages are as they were fetched")
        if not deep:
            self._stored.note = "not read without --deep"

    async def audit(self, jobs: Sequence[str]) -> list[Check]:
        """Requests, counters, records, output files and stored pages of these jobs."""
        by_job: list[list[Check]] = []
        for name in jobs:
            requests = self._audit_requests(name)
            if requests is not None:
                records = await self._audit_records(requests)
                tallies = (requests.outcomes, requests.counters, records.tally, records.once)
                by_job.append([tally.result() for tally in tallies])
        joined = [_joined(same) for same in zip(*by_job, strict=True)]
        return [*joined, self._outputs.result(), self._stored.result()]

    def _audit_requests(self, name: str) -> RequestsAudit | None:
        with self._rows.snapshot():
            job = next((job for job in self._rows.jobs() if job.name == name), None)
            if job is None:
                return None  # deleted meanwhile
            audit = RequestsAudit(job)
            for row in self._rows.requests(name):
                audit.add(row)
            for token, worker, number in self._rows.stray_leases():
                audit.outcomes.find(f"lease {token} of {worker}", f"there is no request {number}")
        audit.finish()
        return audit

    async def _audit_records(self, requests: RequestsAudit) -> RecordsAudit:
        name = requests.job.name
        audit = RecordsAudit(requests)
        before = await self._catalog.outputs(name)
        async for page in self._catalog.pages(name, everything=True):
            head = page.head
            audit.add(head.id, head.url, head.outcome, stored=page.location is not None)
            if self._deep:
                await self._audit_stored(page)
        settled = await self._catalog.outputs(name) == before
        audit.finish(self._rows.fingerprints(name))
        for output in before:
            self._audit_output(output, audit.lined, settled=settled)
        return audit

    def _audit_output(self, output: SavedOutput, wanted: Ids, *, settled: bool) -> None:
        path = Path(output.path)
        if output.length == 0 or not path.is_file():
            return  # no longer written to, or moved away
        size = path.stat().st_size
        if size < output.length:
            short = output.length - size
            self._outputs.find(output.path, f"{short} bytes shorter than what was committed")
        lines = self._read_ids(path, output.length)
        audit_output(self._outputs, output.path, lines, wanted, settled=settled)

    async def _audit_stored(self, page: Page) -> None:
        if page.location is None:
            return
        self._stored.checked += 1
        place = page.location
        where = f"{place.segment} at {place.offset}"
        record = page.record
        try:
            stored = await self._store.read(place)
        except DataFolderDamagedError as error:
            self._stored.find(where, f"{record.url}: {error}")
            return
        if stored.record_id != record.id:
            self._stored.find(where, f"{record.url}: another record is there, {stored.record_id}")
        elif record.truncated == DEGRADED and not stored.body:
            return  # there was no room for it, and the record says so
        elif record.digest is not None and record.digest != _digest(stored.body):
            self._stored.find(where, f"{record.url}: the body is not the one that was fetched")


def audit_log(log: LogReader, jobs: Sequence[JobInfo], tolerance_s: float) -> list[Check]:
    """Manners, of all jobs: a domain does not care for whom it is asked."""
    lines = Tally("the fetch log can be read")
    sends = SendsAudit(log, tolerance_s)
    known = {
        job.name: JobRobots(obeys=job.spec.robots == "obey", created_s=job.created_s)
        for job in jobs
    }
    robots = RobotsAudit(log, known, sends)
    for place, line in log:
        lines.checked += 1
        if isinstance(line, RobotsRead):
            robots.read(place, line)
            continue
        sends.add(place, line)
        if isinstance(line, Fetched):
            robots.judge(place, line)
    sends.finish()
    robots.finish()
    for place, problem in log.damaged:
        lines.find(log.where(place.file, place.line), problem)
    if log.torn:
        lines.note = f"{log.torn} unfinished last lines"
    if not log.files:
        lines.note = "there is none: manners cannot be judged"
    tallies = (sends.delay, sends.crawl_delay, sends.concurrency, sends.holds, robots.tally)
    return [tally.result() for tally in (*tallies, lines)]


def _digest(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def _joined(checks: Sequence[Check]) -> Check:
    return Check(
        name=checks[0].name,
        checked=sum(check.checked for check in checks),
        found=sum(check.found for check in checks),
        findings=[finding for check in checks for finding in check.findings][:MAX_FINDINGS],
        note="; ".join(check.note for check in checks if check.note),
    )
