"""A job as a worker needs it: its spec, ready to be applied to thousands of pages."""

from skitter.config.settings import Fetch as FetchSettings
from skitter.engine.identity import HeaderLines, Identities
from skitter.frontier.base import JobInfo
from skitter.models import Headers, JobSpec, Request, RequestKind
from skitter.urls.domain import domain_of_url
from skitter.urls.fingerprint import fingerprint
from skitter.urls.normalize import origin_of
from skitter.urls.scope import LinkFilter, ScopeRule

__all__ = [
    "BASE_PRIORITY",
    "LEVEL_COST",
    "JobPlan",
    "headers_of",
    "max_body_bytes",
    "seed_request",
    "sitemap_of",
    "sitemap_request",
]

#: Of a seed nobody gave a priority: the middle band.
BASE_PRIORITY = 50
#: A link's priority is its page's less this.
LEVEL_COST = 10


class JobPlan:
    """Spec, scope and headers of a job. Replaced when the job's scope grows."""

    def __init__(self, info: JobInfo, settings: FetchSettings) -> None:
        self.name = info.name
        self.job_id = info.job_id
        self.spec: JobSpec = info.spec
        self.version = info.version
        rule = ScopeRule(info.spec.scope, info.scope_seeds)
        self.links = LinkFilter(rule, info.spec.allow, info.spec.deny)
        self.obeys_robots = info.spec.robots == "obey"
        self.seed_origins = frozenset(origin_of(seed) for seed in info.scope_seeds)
        # Only what the operator typed: where a seed redirects to is the web's choice.
        self._trusted_origins = frozenset(origin_of(seed) for seed in info.spec.seeds)
        agents = (settings.user_agent, *settings.user_agents)
        self._identities = Identities(info.spec, agents)

    def headers_for(self, url: str, identity: int = 0) -> HeaderLines:
        """The header lines for a URL; credentials go to the seeds' origins only."""
        trusted = origin_of(url) in self._trusted_origins
        return self._identities.lines(identity, trusted=trusted)


def headers_of(lines: tuple[str, ...]) -> Headers:
    """Header lines as records carry them."""
    headers: Headers = {}
    for line in lines:
        name, _, value = line.partition(": ")
        headers.setdefault(name.title(), []).append(value)
    return headers


def max_body_bytes(request: Request, settings: FetchSettings) -> int:
    """Decoded bytes that are kept of a response."""
    if request.kind is RequestKind.SITEMAP:
        return settings.max_sitemap_bytes
    return settings.max_body_bytes


def seed_request(url: str) -> Request:
    """The request of a normalised seed."""
    return Request(
        url=url,
        fingerprint=fingerprint(url),
        domain=domain_of_url(url),
        priority=BASE_PRIORITY,
        is_seed=True,
    )


def sitemap_request(url: str, parent: str | None = None, level: int = 0) -> Request:
    """The request of a normalised sitemap URL; it goes before the pages of its level."""
    return Request(
        url=url,
        fingerprint=fingerprint(url),
        domain=domain_of_url(url),
        priority=BASE_PRIORITY + 1,
        parent=parent,
        hops=level,
        kind=RequestKind.SITEMAP,
    )


def sitemap_of(seed: str) -> str:
    """Where a site's sitemap is unless robots.txt says otherwise."""
    return f"{origin_of(seed)}/sitemap.xml"
