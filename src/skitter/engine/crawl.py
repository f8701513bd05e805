"""One embedded crawl from its job to its summary."""

import asyncio
import resource
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import asdict

from skitter.clock import Clock
from skitter.engine.plan import seed_request, sitemap_of, sitemap_request
from skitter.engine.worker import Worker
from skitter.errors import BackendError, JobChangedError
from skitter.frontier.base import Frontier, JobInfo
from skitter.models import DropReason, JobSpec, JobState

__all__ = ["Crawl", "Summary", "is_finished", "open_job", "summarise"]

#: In-flight requests get this long after the first interrupt.
_DRAIN_S = 10.0
#: Fields of a spec whose flag has another name.
_FLAGS = {"seeds": "the URLs", "headers": "--header"}
#: Seeds are added in steps of this size.
_SEED_BATCH = 10_000


class Summary(Struct, frozen=True, kw_only=True):
    """What a run leaves to say. Counts are the job's, times this run's."""

    job: str
    state: JobState
    pages: int
    failed: int
    redirected: int
    dropped: dict[str, int]
    queued: int
    accepted: int
    bytes: int
    seconds: float
    pages_per_second: float
    cpu_seconds: float
    data: str
    outputs: list[str]


async def open_job(
    frontier: Frontier, name: str, job_id: str, spec: JobSpec, max_pages: int | None
) -> JobInfo:
    """Create or take up a job; one with other job-defining settings is refused."""
    known = await frontier.info(name)
    if known is not None and known.job_id != job_id:
        raise JobChangedError(_difference(name, known.spec, spec))
    return await frontier.open_job(name, job_id, spec, max_pages=max_pages)


def _difference(name: str, old: JobSpec, new: JobSpec) -> str:
    before, now = asdict(old), asdict(new)
    for field, value in before.items():
        if value != now[field]:
            flag = _FLAGS.get(field) or "--" + field.replace("_", "-")
            return (
                f"job {name!r} was started with {flag} {_shown(value)}, not {_shown(now[field])}:"
                " use the old value, or another --job"
            )
    return f"job {name!r} was started with other settings: use another --job"


def _shown(value: object) -> str:
    """A setting as it is typed: `none` for what was not, `Name: value` for a header."""
    if isinstance(value, tuple):
        words = (": ".join(word) if isinstance(word, tuple) else str(word) for word in value)
        return " ".join(words) or "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else str(value)


class Crawl:
    """Runs one job with one worker until it is finished or interrupted."""

    def __init__(self, info: JobInfo, *, frontier: Frontier, worker: Worker, clock: Clock) -> None:
        self._name = info.name
        self._spec = info.spec
        self._frontier = frontier
        self._worker = worker
        self._clock = clock
        self._interrupted = False
        self._started_at = clock.monotonic()
        self._cpu_before_s = _cpu_s()
        self._pages_before = info.counts.done

    async def run(self) -> JobState:
        """Crawl; returns the state the job was left in."""
        await self._take_back_leases()
        await self._frontier.set_state(self._name, JobState.RUNNING)
        await self._seed()
        self._worker.on_written = self._check_soon
        self._done = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(self._watch())
            await self._worker.run()
            watch.cancel()
        info = await self._info()
        state = JobState.FINISHED if is_finished(info) else JobState.PAUSED
        await self._take_back_leases()
        await self._frontier.set_state(self._name, state)
        return state

    def interrupt(self) -> None:
        """First call: finish what is in flight. Second: stop at once."""
        if self._interrupted:
            self._worker.abort()
            return
        self._interrupted = True
        self._worker.drain()
        asyncio.get_running_loop().call_later(_DRAIN_S, self._worker.abort)

    async def summary(self, data: str, outputs: Sequence[str]) -> Summary:
        """The counters of the job and the times of this run."""
        info = await self._info()
        return summarise(
            info,
            seconds=self._clock.monotonic() - self._started_at,
            cpu_seconds=_cpu_s() - self._cpu_before_s,
            new_pages=info.counts.done - self._pages_before,
            data=data,
            outputs=outputs,
        )

    async def _info(self) -> JobInfo:
        info = await self._frontier.info(self._name)
        if info is None:
            raise BackendError(f"job {self._name!r} was deleted while it ran")
        return info

    async def _take_back_leases(self) -> None:
        """Whoever held leases in this folder before is gone: the folder's lock says so."""
        for worker in await self._frontier.leases():
            await self._frontier.reap(worker)

    async def _seed(self) -> None:
        requests = [seed_request(url) for url in self._spec.seeds]
        if self._spec.sitemaps:
            sitemaps = dict.fromkeys(sitemap_of(url) for url in self._spec.seeds)
            requests += [sitemap_request(url) for url in sitemaps]
        for start in range(0, len(requests), _SEED_BATCH):
            await self._frontier.add(self._name, requests[start : start + _SEED_BATCH])

    def _check_soon(self) -> None:
        self._done.set()

    async def _watch(self) -> None:
        """Drain the worker once nothing is left to do."""
        while True:
            if is_finished(await self._info()):
                self._worker.drain()
                return
            await self._done.wait()
            self._done.clear()


def summarise(
    info: JobInfo,
    *,
    seconds: float,
    cpu_seconds: float,
    new_pages: int,
    data: str,
    outputs: Sequence[str],
) -> Summary:
    """A job's summary. What --max-pages left in the queue counts as dropped once it is finished."""
    counts = info.counts
    dropped = dict(counts.dropped)
    queued = counts.queued
    if info.state is JobState.FINISHED and queued:
        dropped[DropReason.MAX_PAGES] = dropped.get(DropReason.MAX_PAGES, 0) + queued
        queued = 0
    return Summary(
        job=info.name,
        state=info.state,
        pages=counts.done,
        failed=counts.failed,
        redirected=counts.redirected,
        dropped=dropped,
        queued=queued,
        accepted=counts.accepted,
        bytes=counts.body_bytes,
        seconds=round(seconds, 3),
        pages_per_second=round(new_pages / seconds, 2) if seconds else 0.0,
        cpu_seconds=round(cpu_seconds, 3),
        data=data,
        outputs=list(outputs),
    )


def is_finished(info: JobInfo) -> bool:
    """True if no request of the job will be leased any more."""
    counts = info.counts
    if counts.leased:
        return False
    return counts.queued == 0 or (info.max_pages is not None and counts.done >= info.max_pages)


def _cpu_s() -> float:
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
