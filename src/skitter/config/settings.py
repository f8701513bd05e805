"""Every setting, its type, its bounds, its default and what it means.

`docs/reference/settings.md` is generated from this file; `load` reads values into it.
Building a section by hand checks nothing: bounds are checked where values come from outside.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from skitter.config.manners import (
    Backoff,
    Blocking,
    Breaker,
    DomainManners,
    Politeness,
    Retry,
    Throttle,
)
from skitter.config.product import user_agent
from skitter.config.proxy import Proxy

__all__ = [
    "Backoff",
    "Blocking",
    "Breaker",
    "Catalog",
    "Degrade",
    "Dns",
    "Fetch",
    "Frontier",
    "Limits",
    "Links",
    "Politeness",
    "Proxy",
    "Retry",
    "Robots",
    "Security",
    "Settings",
    "Store",
    "Traps",
]

KIB = 1024
MIB = 1024 * KIB

#: What may stand in a header value: a line break would start another header.
HeaderText = Annotated[str, Meta(pattern=r"^[\x20-\x7e]*\Z")]


class Fetch(Struct, frozen=True, kw_only=True):
    """How pages are fetched."""

    contact: Annotated[
        HeaderText | None,
        Meta(
            description="Mail address or URL for webmasters, shown in the User-Agent. "
            "Sites that can reach you complain before they block."
        ),
    ] = None
    user_agent: Annotated[
        HeaderText,
        Meta(
            description="The whole User-Agent header. Empty: product, version and `fetch.contact`."
        ),
    ] = ""
    user_agents: Annotated[
        tuple[HeaderText, ...],
        Meta(
            description="Further User-Agents, for domains that have blocked the one before. "
            "Empty: every request says who it is from, whatever happens."
        ),
    ] = ()
    cookies: Annotated[
        bool,
        Meta(
            description="true: cookies that sites set are sent back to them, each job and worker "
            "with a jar of its own that ends with the run. false: only those of `--cookie`."
        ),
    ] = True
    timeout_s: Annotated[
        float, Meta(gt=0, description="Longest time for one request, from connect to last byte.")
    ] = 30.0
    connect_timeout_s: Annotated[
        float, Meta(gt=0, description="Longest time to connect, TLS included.")
    ] = 10.0
    max_body_bytes: Annotated[
        int, Meta(ge=1, description="Decoded bytes kept of a body; the rest is cut and marked.")
    ] = 10 * MIB
    max_sitemap_bytes: Annotated[
        int, Meta(ge=1, description="The same for sitemaps, packed or not, read with `--sitemaps`.")
    ] = 50 * MIB
    max_header_bytes: Annotated[
        int, Meta(ge=1, description="Response headers beyond this fail the request.")
    ] = 256 * KIB
    min_rate_bytes_s: Annotated[
        int, Meta(ge=0, description="Slower than this for the window is `too_slow`; 0: never.")
    ] = 10
    min_rate_window_s: Annotated[
        int, Meta(ge=1, description="The window over which `fetch.min_rate_bytes_s` is measured.")
    ] = 20
    ca_file: Annotated[
        str,
        Meta(
            description="PEM file with the certificate authorities to trust. "
            "Empty: those of the system."
        ),
    ] = ""
    http2: Annotated[
        bool, Meta(description="true: HTTP/2 where a TLS server offers it. false: HTTP/1.1 only.")
    ] = True
    concurrency: Annotated[
        int, Meta(ge=1, description="Transfers at once, to all domains together.")
    ] = 256

    def __post_init__(self) -> None:
        """An empty User-Agent becomes the product's own."""
        if not self.user_agent:
            structs.force_setattr(self, "user_agent", user_agent(self.contact))


class Dns(Struct, frozen=True, kw_only=True):
    """How host names become addresses. The hosts file and `--resolve` come first."""

    servers: Annotated[
        tuple[str, ...],
        Meta(
            description="Name servers: addresses, with `:port` if it is not 53 (`[::1]:5353`). "
            "Empty: those of the system."
        ),
    ] = ()
    family: Annotated[
        Literal["both", "ipv4", "ipv6"],
        Meta(description="Which addresses are asked for; with `both` the faster one is used."),
    ] = "both"
    timeout_s: Annotated[float, Meta(gt=0, description="Longest time for one lookup.")] = 5.0
    retries: Annotated[
        int, Meta(ge=0, description="Tries after the first, if a host has no address.")
    ] = 2
    retry_delay_s: Annotated[float, Meta(ge=0, description="Wait before each of them.")] = 1.0
    max_ttl_s: Annotated[
        float, Meta(ge=1, description="Longest time an address is used, whatever its TTL says.")
    ] = 3_600.0
    negative_ttl_s: Annotated[
        float, Meta(ge=0, description="How long a name that does not exist is remembered as such.")
    ] = 60.0


class Robots(Struct, frozen=True, kw_only=True):
    """How robots.txt is fetched and kept (RFC 9309)."""

    ttl_s: Annotated[float, Meta(ge=0, description="How long a copy is used.")] = 86_400.0
    error_ttl_s: Annotated[
        float, Meta(ge=0, description="How long an unreachable robots.txt is remembered as such.")
    ] = 3_600.0
    max_bytes: Annotated[
        int, Meta(ge=1, description="Bytes that are read of it; RFC 9309 asks for 500 KiB or more.")
    ] = 512_000
    timeout_s: Annotated[float, Meta(gt=0, description="Longest time for one try.")] = 10.0
    retries: Annotated[int, Meta(ge=0, description="Tries after the first.")] = 2
    retry_delay_s: Annotated[float, Meta(ge=0, description="Wait before each of them.")] = 2.0
    max_crawl_delay_s: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(
            description="Longest crawl-delay that is accepted; the requests of a host that asks "
            "for more are dropped (`crawl_delay`). Unset: any is kept."
        ),
    ] = None
    user_agent_token: Annotated[
        str,
        Meta(
            description="The name that groups in robots.txt address us by.",
            pattern=r"^[A-Za-z_-]+\Z",
        ),
    ] = "skitter"  # noqa: S105  (a product token, RFC 9309 2.2.1)


class Limits(Struct, frozen=True, kw_only=True):
    """Where a crawl ends."""

    max_depth: Annotated[int, Meta(ge=0, description="Links from a seed; seeds are 0.")] = 10
    max_url_length: Annotated[
        int, Meta(ge=1, description="Characters; a longer URL is dropped (`url_too_long`).")
    ] = 2_048
    max_redirects: Annotated[
        int, Meta(ge=0, description="Hops in a row; more is dropped (`too_many_redirects`).")
    ] = 10
    max_links_per_page: Annotated[
        int, Meta(ge=0, description="Links read from one page; the rest is ignored.")
    ] = 10_000


class Traps(Struct, frozen=True, kw_only=True):
    """Sites that make up pages without end."""

    enabled: Annotated[
        bool,
        Meta(
            description="true: URLs that break a rule below are dropped (`trap`), and links that "
            "differ in their session id alone are one. false: neither; budgets still hold."
        ),
    ] = True
    max_path_depth: Annotated[
        int, Meta(ge=1, description="Segments of a URL's path; a deeper one is dropped (`trap`).")
    ] = 24
    max_repeats: Annotated[
        int,
        Meta(
            ge=1,
            description="How often up to four segments may stand in a row in a path: "
            "`/a/b/a/b/a/b` is 3 times. Numbers may repeat.",
        ),
    ] = 2
    max_segment_bytes: Annotated[
        int, Meta(ge=1, description="Length of a segment of the path, percent signs decoded.")
    ] = 512
    max_parameters: Annotated[int, Meta(ge=0, description="Parameters in a URL's query.")] = 20
    max_years_ahead: Annotated[
        int,
        Meta(
            ge=0,
            description="How far into the future a calendar is followed: links from a page with "
            "a date in its URL to one of the same pattern.",
        ),
    ] = 5
    max_years_back: Annotated[int, Meta(ge=0, description="The same into the past.")] = 200
    domain_pages: Annotated[
        int,
        Meta(ge=1, description="Pages fetched of a domain, per job; the rest ends as `budget`."),
    ] = 100_000
    barren_pages: Annotated[
        int,
        Meta(
            ge=1,
            description="Pages of a pattern that lead on but say nothing new, per job and domain; "
            "then the pattern's other URLs end as `budget`. News earns more, up to ten times.",
        ),
    ] = 64
    max_patterns: Annotated[
        int,
        Meta(ge=1, description="Patterns of a domain with a budget of their own; others share."),
    ] = 32


class Links(Struct, frozen=True, kw_only=True):
    """Which links of a page are followed."""

    follow_nofollow: Annotated[
        bool,
        Meta(
            description='true: `rel="nofollow"` is a hint for ranking and is followed. '
            "false: such links, and all links of a page whose robots meta says nofollow, are not."
        ),
    ] = True


class Frontier(Struct, frozen=True, kw_only=True):
    """Queues, dedupe, leases and rates."""

    url: Annotated[
        str, Meta(min_length=1, description="Backend; `sqlite:` lives in the data folder.")
    ] = "sqlite:"
    lease_s: Annotated[
        float,
        Meta(gt=0, description="How long a worker may be silent before its work is requeued."),
    ] = 30.0
    heartbeat_s: Annotated[
        float, Meta(gt=0, description="How often a worker renews its leases; less than the lease.")
    ] = 10.0


class Store(Struct, frozen=True, kw_only=True):
    """Bodies, as WARC segments."""

    url: Annotated[
        str, Meta(min_length=1, description="Backend; `file:` lives in the data folder.")
    ] = "file:"
    segment_bytes: Annotated[
        int, Meta(ge=1, description="A segment is closed when it has grown to this.")
    ] = 64 * MIB
    sync_interval_s: Annotated[
        float,
        Meta(
            ge=0,
            description="Longest wait of a fetched page for the sync that makes it durable. "
            "Longer: fewer syncs. Shorter: less to fetch again after a crash.",
        ),
    ] = 0.25


class Catalog(Struct, frozen=True, kw_only=True):
    """Jobs and pages; rebuildable from the store."""

    url: Annotated[
        str, Meta(min_length=1, description="Backend; `sqlite:` lives in the data folder.")
    ] = "sqlite:"


class Security(Struct, frozen=True, kw_only=True):
    """What the crawler may reach."""

    allow_networks: Annotated[
        tuple[str, ...],
        Meta(
            description="Networks in CIDR form that may be reached although they are not public. "
            "The hosts typed on the command line need no entry."
        ),
    ] = ()


class Degrade(Struct, frozen=True, kw_only=True):
    """What is left undone, in four steps, when something runs short."""

    enabled: Annotated[
        bool,
        Meta(
            description="true: low priorities wait first, then bodies are not kept, then jobs that "
            "follow links wait, then all do. false: the crawl goes on until something breaks."
        ),
    ] = True
    memory_mb: Annotated[
        float,
        Meta(
            ge=0,
            description="Memory one worker may take. 0: three quarters of the machine's, shared by "
            "its workers.",
        ),
    ] = 0.0
    min_free_disk_mb: Annotated[
        float, Meta(ge=0, description="Room that must stay free where the data folder is.")
    ] = 64.0
    max_lag_s: Annotated[
        float, Meta(gt=0, description="Longest acceptable answer of the frontier.")
    ] = 10.0
    calm_s: Annotated[
        float, Meta(ge=0, description="How long the pressure must be lower before a step is left.")
    ] = 5.0
    patience_s: Annotated[
        float,
        Meta(
            ge=0,
            description="How long a crawl waits on the last two steps; then it ends, to be "
            "resumed when there is room.",
        ),
    ] = 60.0


class Settings(Struct, frozen=True, kw_only=True):
    """All sections; each attribute is a table of `skitter.toml`."""

    fetch: Fetch = Fetch()
    proxy: Proxy = Proxy()
    dns: Dns = Dns()
    politeness: Politeness = Politeness()
    robots: Robots = Robots()
    retry: Retry = Retry()
    backoff: Backoff = Backoff()
    breaker: Breaker = Breaker()
    throttle: Throttle = Throttle()
    blocking: Blocking = Blocking()
    limits: Limits = Limits()
    traps: Traps = Traps()
    degrade: Degrade = Degrade()
    links: Links = Links()
    frontier: Frontier = Frontier()
    store: Store = Store()
    catalog: Catalog = Catalog()
    security: Security = Security()
    #: Domain -> what holds for it alone; not a section like the others.
    domains: dict[str, DomainManners] = {}
