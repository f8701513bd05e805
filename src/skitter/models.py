"""The frozen values that cross borders. Nothing here does I/O or reads the time.

`gc=False`: made by the thousand, can hold no cycles, so the garbage collector need not look.
"""

from enum import StrEnum
from typing import Literal

from msgspec import Struct, field

__all__ = [
    "NO_STRAIN",
    "RELEASED",
    "TERMINAL",
    "Completion",
    "DomainNews",
    "DropReason",
    "ErrorCode",
    "Grant",
    "Headers",
    "JobCounts",
    "JobSpec",
    "JobState",
    "Lease",
    "Link",
    "Location",
    "Outcome",
    "Record",
    "Request",
    "RequestKind",
    "Scope",
    "Sign",
    "Strain",
    "Transfer",
    "Verdict",
]

#: Header name (Title-Case) -> every value, in the order received.
Headers = dict[str, list[str]]


class Outcome(StrEnum):
    """How a lease ends. All but `RETRY` are terminal."""

    DONE = "done"
    REDIRECTED = "redirected"
    FAILED = "failed"
    DROPPED = "dropped"
    RETRY = "retry"


TERMINAL = (Outcome.DONE, Outcome.REDIRECTED, Outcome.FAILED, Outcome.DROPPED)


class DropReason(StrEnum):
    """Why a request was not fetched. A closed list: add, do not rename."""

    ROBOTS = "robots"
    FORBIDDEN_ADDRESS = "forbidden_address"
    URL_TOO_LONG = "url_too_long"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    DEPTH = "depth"
    TRAP = "trap"
    BUDGET = "budget"
    CRAWL_DELAY = "crawl_delay"
    MAX_PAGES = "max_pages"
    STOPPED = "stopped"
    EXPIRED = "expired"


class ErrorCode(StrEnum):
    """What `Record.error` begins with. A closed list; `http_` is followed by the status."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_SLOW = "too_slow"
    RESET = "reset"
    PROTOCOL = "protocol"
    DECODE = "decode"
    HEADERS_TOO_LARGE = "headers_too_large"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    HTTP = "http_"
    #: The site answers with a challenge instead of the page.
    BLOCKED = "blocked"
    #: Its site has not answered for long; it was not asked again for this request.
    UNREACHABLE = "unreachable"
    INTERNAL = "internal"


class RequestKind(StrEnum):
    """What a request's response is read as."""

    PAGE = "page"
    SITEMAP = "sitemap"


class Scope(StrEnum):
    """Which links belong to the crawl; see `skitter.urls.scope`."""

    PAGE = "page"
    PREFIX = "prefix"
    HOST = "host"
    DOMAIN = "domain"
    ANY = "any"


class JobState(StrEnum):
    """`PAUSED` is also what an interrupted run leaves behind."""

    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"


class JobSpec(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The job-defining settings: two jobs with equal specs are the same job."""

    seeds: tuple[str, ...]
    scope: Scope = Scope.HOST
    depth: int = 10
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    robots: Literal["obey", "ignore"] = "obey"
    sitemaps: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    cookie: str | None = None
    user_agent: str | None = None


class Request(Struct, frozen=True, kw_only=True, gc=False):
    """One URL of a job, as the frontier keeps it."""

    url: str
    #: Signed 64 bits of `skitter.urls.fingerprint`; dedupe is by this alone.
    fingerprint: int
    #: Politeness unit, see `skitter.urls.domain`.
    domain: str
    depth: int = 0
    #: Highest first. Falls by 10 per level and per retry, without a floor.
    priority: int = 0
    parent: str | None = None
    redirected_from: str | None = None
    #: Redirects already followed to get here.
    hops: int = 0
    kind: RequestKind = RequestKind.PAGE
    #: A seed, or what a seed redirects to: its URL widens the job's scope.
    is_seed: bool = False
    generation: int = 0


class Lease(Struct, frozen=True, kw_only=True, gc=False):
    """A request handed to one worker. Only the holder of `token` may complete it."""

    #: Fencing token: grows with every lease ever given, never reused.
    token: int
    job: str
    request: Request
    #: Tries already spent, this one not counted.
    tries: int = 0
    #: 429s and 503s already met.
    holds: int = 0
    #: Seconds from the grant before which the request must not be sent.
    not_before_s: float = 0.0
    #: Least seconds between two sends to this domain; the holder also paces by its own last send.
    pace_s: float = 0.0
    #: Most requests at once to this domain; 0: not said.
    concurrency: int = 0
    #: Where bursts are allowed: seconds per request in the long run, and how far ahead of that
    #: schedule a request may be.
    interval_s: float = 0.0
    burst_s: float = 0.0
    #: How often the domain has blocked us: whoever has several identities uses the next one.
    identity: int = 0
    #: The address on which the frontier has reserved a place for it.
    server_ip: str | None = None
    #: Not to be fetched: it ends `failed` with this as its error.
    refused: str | None = None
    #: Not to be fetched: it ends `dropped` for this reason.
    drop: DropReason | None = None
    #: The completion should tell the gist of the page's text.
    wants_text: bool = False
    #: Grows when the job's scope grew; a worker with an older copy asks for the job again.
    job_version: int = 0


#: The event of a domain whose hold a person has ended.
RELEASED = "released"


class DomainNews(Struct, frozen=True, kw_only=True):
    """Something has changed about a domain, other than by the worker that hears of it."""

    domain: str
    #: Past tense: `held`, `breaker_opened`, `breaker_closed`, `blocked`, `slowed`, `eased` …
    event: str
    #: Nothing may be sent for so long; 0: it may.
    wait_s: float = 0.0
    reason: str = ""


class Grant(Struct, frozen=True, kw_only=True):
    """The answer to `lease`. No leases: nothing is due now, not that the job is finished."""

    leases: list[Lease]
    #: Seconds until something may become due by time alone; None: not before a completion or add.
    next_due_s: float | None = None
    #: Of domains this worker has to do with, since its last grant.
    news: list[DomainNews] = []


class Sign(StrEnum):
    """What the end of a transfer says about its site."""

    OK = "ok"
    #: 5xx, a time-out, no connection, an answer that broke off.
    FAILED = "failed"
    #: 429 or 503.
    LIMITED = "limited"
    #: 403.
    FORBIDDEN = "forbidden"
    #: A challenge or wall instead of the page.
    CHALLENGED = "challenged"


class Transfer(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """A transfer that has ended."""

    #: How many seconds ago its request was sent; None: it never was.
    age_s: float | None
    elapsed_s: float = 0.0
    #: None: nothing was learnt about the site.
    sign: Sign | None = None


class Strain(Struct, frozen=True, kw_only=True):
    """How short of something a worker is, which decides what it is given; see `engine.degrade`."""

    #: 0: not at all. 1: jobs of the two lowest bands wait. 3: jobs that follow links wait too.
    #: 4: everything waits.
    step: int = 0
    #: What it is short of, for people.
    cause: str = ""


NO_STRAIN = Strain()


class Completion(Struct, frozen=True, kw_only=True, gc=False):
    """What became of a lease, and the requests its page led to."""

    token: int
    outcome: Outcome
    #: `DropReason` of a dropped request.
    reason: str | None = None
    #: Seconds until the next try, for `RETRY`.
    after_s: float = 0.0
    #: False: the try was not the request's fault (429, 503, refused lease) and is not counted.
    costs_try: bool = True
    #: True: nothing was asked of the site; a `RETRY` that costs neither a try nor a hold.
    refused: bool = False
    links: tuple[Request, ...] = ()
    body_bytes: int = 0
    #: `skitter.extract.gist` of the page, where it was asked for.
    text: int | None = None


class Verdict(StrEnum):
    """`STALE`: the lease had ended before; the completion and its links were ignored."""

    ACCEPTED = "accepted"
    STALE = "stale"


class JobCounts(Struct, frozen=True, kw_only=True):
    """A job's counters; O(1) to read. accepted = done+failed+redirected+dropped+leased+queued."""

    accepted: int = 0
    done: int = 0
    failed: int = 0
    redirected: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    leased: int = 0
    queued: int = 0
    body_bytes: int = 0

    @property
    def terminal(self) -> int:
        """Requests that will not be looked at again."""
        return self.done + self.failed + self.redirected + sum(self.dropped.values())


class Link(Struct, frozen=True, gc=False):
    """A link of a page, as records carry it."""

    url: str
    text: str


class Location(Struct, frozen=True, gc=False):
    """Where a page is stored: a gzip member of its own within a segment."""

    segment: str
    offset: int
    length: int


class Record(Struct, frozen=True, kw_only=True, gc=False):
    """What we output for a request; field order is the order in JSONL and CSV."""

    id: str
    appid: str
    crawlid: str
    job: str
    url: str
    response_url: str
    redirected_from: str | None
    outcome: Outcome
    status_code: int | None
    status_msg: str | None
    timestamp: str
    depth: int
    parent: str | None
    spider: str
    encoding: str | None
    content_type: str | None
    length: int
    digest: str | None
    title: str | None
    links: list[Link]
    request_headers: Headers
    response_headers: Headers
    attrs: dict[str, object] | None
    elapsed_ms: int
    truncated: str | None
    error: str | None
