"""The frontier as a worker process reaches it: the same verbs over the coordinator's socket."""

from collections.abc import Mapping, Sequence

from skitter.frontier.base import AddResult, DomainInfo, Frontier, JobInfo
from skitter.models import (
    NO_STRAIN,
    Completion,
    Grant,
    JobSpec,
    JobState,
    Lease,
    Request,
    Strain,
    Transfer,
    Verdict,
)
from skitter.politeness.rates import Rate
from skitter.rpc import Channel, Verb, verb

__all__ = ["RemoteFrontier", "frontier_verbs"]

_VERBS = (
    *("open_job", "set_state", "delete_job", "info", "jobs", "add", "lease", "fetched"),
    *("complete", "still_held", "retain", "extend", "set_lease", "reap", "hold", "set_rate"),
    *("set_crawl_delay", "block", "reserve", "rest", "domain", "backlog", "leases"),
)


def frontier_verbs(frontier: Frontier) -> dict[str, Verb]:
    """The verbs of a frontier, for a server to offer."""
    return {name: verb(getattr(frontier, name)) for name in _VERBS}


class RemoteFrontier:
    """See `skitter.frontier.base.Frontier`. Calls wait while the coordinator is away."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def open_job(
        self,
        name: str,
        job_id: str,
        spec: JobSpec,
        *,
        max_pages: int | None,
        priority: int | None = None,
    ) -> JobInfo:
        arguments = name, job_id, spec, max_pages, priority
        return await self._channel.call("open_job", arguments, JobInfo)

    async def set_state(self, job: str, state: JobState) -> None:
        await self._channel.call("set_state", (job, state), object)

    async def delete_job(self, job: str) -> None:
        await self._channel.call("delete_job", (job,), object)

    async def info(self, job: str) -> JobInfo | None:
        return await self._channel.call("info", (job,), JobInfo | None)  # type: ignore[arg-type]

    async def jobs(self) -> list[JobInfo]:
        return await self._channel.call("jobs", (), list[JobInfo])

    async def add(self, job: str, requests: Sequence[Request]) -> AddResult:
        return await self._channel.call("add", (job, requests), AddResult)

    async def lease(self, worker: str, limit: int, strain: Strain = NO_STRAIN) -> Grant:
        return await self._channel.call("lease", (worker, limit, strain), Grant)

    async def reserve(self, worker: str, servers: Mapping[int, str]) -> dict[int, float]:
        return await self._channel.call("reserve", (worker, servers), dict[int, float])

    async def fetched(self, worker: str, transfers: Mapping[int, Transfer]) -> None:
        # Not awaited: the next lease travels behind it. If it is lost with the connection,
        # the worker reports all its ended transfers again when it is back.
        self._channel.post("fetched", (worker, transfers))

    async def complete(self, worker: str, completions: Sequence[Completion]) -> list[Verdict]:
        return await self._channel.call("complete", (worker, completions), list[Verdict])

    async def still_held(self, worker: str, tokens: Sequence[int]) -> set[int]:
        return await self._channel.call("still_held", (worker, tokens), set[int])

    async def retain(self, worker: str, tokens: Sequence[int]) -> int:
        return await self._channel.call("retain", (worker, tokens), int)

    async def extend(self, worker: str) -> None:
        await self._channel.call("extend", (worker,), object)

    async def set_lease(self, lease_s: float) -> None:
        await self._channel.call("set_lease", (lease_s,), object)

    async def reap(self, worker: str | None = None) -> int:
        return await self._channel.call("reap", (worker,), int)

    async def hold(self, domain: str, retry_after_s: float | None, reason: str) -> float:
        return await self._channel.call("hold", (domain, retry_after_s, reason), float)

    async def set_rate(self, domain: str, rate: Rate | None) -> None:
        await self._channel.call("set_rate", (domain, rate), object)

    async def set_crawl_delay(self, domain: str, crawl_delay_s: float | None) -> None:
        await self._channel.call("set_crawl_delay", (domain, crawl_delay_s), object)

    async def block(self, domain: str, *, blocked: bool = True) -> None:
        await self._channel.call("block", (domain, blocked), object)

    async def rest(self, domain: str, wait_s: float, reason: str) -> None:
        await self._channel.call("rest", (domain, wait_s, reason), object)

    async def domain(self, name: str) -> DomainInfo | None:
        kind = DomainInfo | None
        return await self._channel.call("domain", (name,), kind)  # type: ignore[arg-type]

    async def backlog(self, limit: int = 100) -> list[DomainInfo]:
        return await self._channel.call("backlog", (limit,), list[DomainInfo])

    async def leases(self) -> dict[str, list[Lease]]:
        return await self._channel.call("leases", (), dict[str, list[Lease]])

    async def aclose(self) -> None:
        """Nothing: the coordinator owns the storage."""
