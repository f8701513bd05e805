"""Every setting, its type, its bounds, its default and what it means.

`docs/reference/settings.md` is generated from this file; `load` reads values into it.
Building a section by hand checks nothing: bounds are checked where values come from outside.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from skitter.config.product import user_agent

__all__ = [
    "Backoff",
    "Catalog",
    "Fetch",
    "Frontier",
    "Limits",
    "Links",
    "Politeness",
    "Retry",
    "Robots",
    "Security",
    "Settings",
    "Store",
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
    timeout_s: Annotated[
        float, Meta(gt=0, description="Longest time for one request, from connect to last byte.")
    ] = 30.0
    connect_timeout_s: Annotated[
        float, Meta(gt=0, description="Longest time to connect, TLS included.")
    ] = 10.0
    max_body_bytes: Annotated[
        int, Meta(ge=1, description="Decoded bytes kept of a body; the rest is cut and marked.")
    ] = 10 * MIB
    max_header_bytes: Annotated[
        int, Meta(ge=1, description="Response headers beyond this fail the request.")
    ] = 256 * KIB
    min_rate_bytes_s: Annotated[
        int, Meta(ge=0, description="Slower than this for the window is `too_slow`; 0: never.")
    ] = 10
    min_rate_window_s: Annotated[
        int, Meta(ge=1, description="The window over which `fetch.min_rate_bytes_s` is measured.")
    ] = 20
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


class Politeness(Struct, frozen=True, kw_only=True):
    """What one domain has to bear."""

    delay_s: Annotated[
        float,
        Meta(ge=0, description="Least time between two requests to a domain, start to start."),
    ] = 1.0
    concurrency: Annotated[int, Meta(ge=1, description="Requests at once to a domain.")] = 1
    robots: Annotated[
        Literal["obey", "ignore"],
        Meta(
            description="`obey`: follow robots.txt and its crawl-delay. "
            "`ignore`: do not even ask for it; for sites that are yours."
        ),
    ] = "obey"


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
    user_agent_token: Annotated[
        str,
        Meta(
            description="The name that groups in robots.txt address us by.",
            pattern=r"^[A-Za-z_-]+\Z",
        ),
    ] = "skitter"  # noqa: S105  (a product token, RFC 9309 2.2.1)


class Retry(Struct, frozen=True, kw_only=True):
    """The ladder of a request that failed in passing."""

    delays_s: Annotated[
        tuple[Annotated[float, Meta(ge=0)], ...],
        Meta(description="Wait before each further try; as many tries as there are delays."),
    ] = (1.0, 5.0, 15.0)
    max_holds: Annotated[
        int, Meta(ge=1, description="A request that met this many 429s and 503s fails.")
    ] = 10


class Backoff(Struct, frozen=True, kw_only=True):
    """How long a domain rests after a 429 or 503 without `Retry-After`."""

    first_s: Annotated[
        float, Meta(gt=0, description="The first rest; each further one is twice as long.")
    ] = 60.0
    max_s: Annotated[float, Meta(gt=0, description="The longest rest.")] = 86_400.0
    jitter: Annotated[
        float, Meta(ge=0, le=1, description="Share by which a rest is spread at random.")
    ] = 0.1
    forgive_s: Annotated[
        float, Meta(ge=0, description="Quiet time after which the next rest is a first one again.")
    ] = 1_800.0


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


class Settings(Struct, frozen=True, kw_only=True):
    """All sections; each attribute is a table of `skitter.toml`."""

    fetch: Fetch = Fetch()
    politeness: Politeness = Politeness()
    robots: Robots = Robots()
    retry: Retry = Retry()
    backoff: Backoff = Backoff()
    limits: Limits = Limits()
    links: Links = Links()
    frontier: Frontier = Frontier()
    store: Store = Store()
    catalog: Catalog = Catalog()
    security: Security = Security()
