"""One embedded crawl from its job to its summary."""

import resource
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import asdict, replace

from skitter.clock import Clock
from skitter.engine.plan import seed_request, sitemap_of, sitemap_request
from skitter.errors import BackendError, JobChangedError
from skitter.frontier.base import Frontier, JobInfo
from skitter.models import JobSpec, JobState

__all__ = [
    "Stopwatch",
    "Summary",
    "begin",
    "end",
    "is_finished",
    "open_job",
    "summarise",
    "take_back_leases",
]

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
    #: Pages among pages and failures; None: neither.
    success_rate: float | None
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
    frontier: Frontier,
    name: str,
    job_id: str,
    spec: JobSpec,
    *,
    max_pages: int | None,
    priority: int | None,
) -> JobInfo:
    """Create or take up a job; one with other job-defining settings is refused."""
    known = await frontier.info(name)
    if known is not None and known.job_id != job_id:
        raise JobChangedError(_difference(name, known.spec, spec))
    return await frontier.open_job(name, job_id, spec, max_pages=max_pages, priority=priority)


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


async def begin(frontier: Frontier, info: JobInfo) -> None:
    """Set a job going: whoever held leases in this folder before is gone, its lock says so.

    So is whoever ran another job of it: only what is asked for is crawled.
    """
    await take_back_leases(frontier)
    for other in await frontier.jobs():
        if other.state is JobState.RUNNING and other.name != info.name:
            await frontier.set_state(other.name, JobState.PAUSED)
    await frontier.set_state(info.name, JobState.RUNNING)
    requests = [seed_request(url) for url in info.spec.seeds]
    if info.spec.sitemaps and info.spec.robots == "ignore":
        # Otherwise robots.txt is asked first where they are.
        sitemaps = dict.fromkeys(sitemap_of(url) for url in info.spec.seeds)
        requests += [sitemap_request(url) for url in sitemaps]
    if info.counts.accepted >= len({request.fingerprint for request in requests}):
        # Nothing was accepted before all of these, and to find out that they are known would
        # be to read everything that is.
        return
    for start in range(0, len(requests), _SEED_BATCH):
        await frontier.add(info.name, requests[start : start + _SEED_BATCH])


async def end(frontier: Frontier, name: str) -> JobInfo:
    """Leave a job finished, or paused with everything queued again."""
    await take_back_leases(frontier)
    info = await frontier.info(name)
    if info is None:
        raise BackendError(f"job {name!r} was deleted while it ran")
    state = JobState.FINISHED if is_finished(info) else JobState.PAUSED
    await frontier.set_state(name, state)
    return replace(info, state=state)


async def take_back_leases(frontier: Frontier) -> None:
    """Requeue whatever is leased."""
    for worker in await frontier.leases():
        await frontier.reap(worker)


class Stopwatch:
    """Wall time, CPU time (children that have ended included) and pages since a moment."""

    def __init__(self, clock: Clock, info: JobInfo) -> None:
        self._clock = clock
        self._started_at = clock.monotonic()
        self._cpu_before_s = _cpu_s()
        self._pages_before = info.counts.done

    def summary(self, info: JobInfo, *, data: str, outputs: Sequence[str]) -> Summary:
        """The counters of the job and the times of this run."""
        return summarise(
            info,
            seconds=self._clock.monotonic() - self._started_at,
            cpu_seconds=_cpu_s() - self._cpu_before_s,
            new_pages=info.counts.done - self._pages_before,
            data=data,
            outputs=outputs,
        )


def summarise(
    info: JobInfo,
    *,
    seconds: float,
    cpu_seconds: float,
    new_pages: int,
    data: str,
    outputs: Sequence[str],
) -> Summary:
    """A job's summary."""
    counts = info.told
    tried = counts.done + counts.failed
    return Summary(
        job=info.name,
        state=info.state,
        pages=counts.done,
        failed=counts.failed,
        redirected=counts.redirected,
        success_rate=round(counts.done / tried, 4) if tried else None,
        dropped=counts.dropped,
        queued=counts.queued,
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
