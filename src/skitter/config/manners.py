"""The settings of good manners: rates, retries, back-off, breakers, blocked sites."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

__all__ = [
    "Backoff",
    "Blocking",
    "Breaker",
    "DomainManners",
    "Politeness",
    "Retry",
    "Throttle",
]


class Politeness(Struct, frozen=True, kw_only=True):
    """What one domain has to bear."""

    delay_s: Annotated[
        float,
        Meta(ge=0, description="Least time between two requests to a domain, start to start."),
    ] = 1.0
    concurrency: Annotated[int, Meta(ge=1, description="Requests at once to a domain.")] = 1
    hits: Annotated[
        int,
        Meta(
            ge=0,
            description="Requests per `politeness.window_s` to a domain, instead of a delay; "
            "0: `politeness.delay_s` holds. `--delay` wins over it.",
        ),
    ] = 0
    window_s: Annotated[float, Meta(gt=0, description="The window for `politeness.hits`.")] = 60.0
    moderated: Annotated[
        bool,
        Meta(
            description="true: hits are evenly spaced. "
            "false: they may come all at once after a quiet window."
        ),
    ] = True
    elastic: Annotated[
        bool,
        Meta(
            description="true: what was missed of a window is made up for, "
            "at no more than twice the even pace. false: it is not."
        ),
    ] = False
    scale: Annotated[
        float, Meta(gt=0, le=1, description="Share of `politeness.hits` that is really used.")
    ] = 1.0
    server_concurrency: Annotated[
        int,
        Meta(
            ge=1,
            description="Requests at once to one server address, whatever the domains; "
            "never less than `politeness.concurrency`.",
        ),
    ] = 32
    server_delay_s: Annotated[
        float, Meta(ge=0, description="Least time between two requests to one server address.")
    ] = 0.0
    robots: Annotated[
        Literal["obey", "ignore"],
        Meta(
            description="`obey`: follow robots.txt and its crawl-delay. "
            "`ignore`: do not even ask for it; for sites that are yours."
        ),
    ] = "obey"


class Retry(Struct, frozen=True, kw_only=True):
    """The ladder of a request that failed in passing."""

    delays_s: Annotated[
        tuple[Annotated[float, Meta(ge=0)], ...],
        Meta(description="Wait before each further try; as many tries as there are delays."),
    ] = (1.0, 5.0, 15.0)
    jitter: Annotated[
        float, Meta(ge=0, le=1, description="Share by which each wait is lengthened at random.")
    ] = 0.1
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
    max_retry_after_s: Annotated[
        float,
        Meta(
            gt=0,
            description="A site that asks for a longer wait gets it, but nobody waits: "
            "what is queued for it fails (`unreachable`).",
        ),
    ] = 86_400.0
    forgive_s: Annotated[
        float, Meta(ge=0, description="Quiet time after which the next rest is a first one again.")
    ] = 1_800.0


class Breaker(Struct, frozen=True, kw_only=True):
    """When a domain that only fails is left alone, and how it is looked at again."""

    window: Annotated[
        int, Meta(ge=1, le=10_000, description="Transfers of a domain that are remembered.")
    ] = 100
    threshold: Annotated[
        float, Meta(gt=0, le=1, description="Share of failures among them that opens the breaker.")
    ] = 0.5
    min_results: Annotated[
        int, Meta(ge=1, description="Fewer transfers than this say nothing.")
    ] = 20
    open_s: Annotated[
        float, Meta(gt=0, description="Wait before each single request that tries it again.")
    ] = 60.0
    long_after: Annotated[
        int, Meta(ge=1, description="More failures in a row than this make the wait longer.")
    ] = 100
    long_open_s: Annotated[float, Meta(gt=0, description="That longer wait.")] = 300.0
    give_up_s: Annotated[
        float,
        Meta(
            ge=0,
            description="After so long with nothing but failures what is queued for the domain "
            "fails (`unreachable`), and for as long again; 0: it waits for ever.",
        ),
    ] = 3_600.0


class Throttle(Struct, frozen=True, kw_only=True):
    """Slows down for a server that has become slow; never faster than the rate allows."""

    enabled: Annotated[
        bool,
        Meta(
            description="true: a server that is slow by its own standard is asked less often. "
            "false: only rates and limits count."
        ),
    ] = True
    slow_ratio: Annotated[
        float, Meta(gt=1, description="Slow is so many times its usual time per transfer …")
    ] = 3.0
    slow_s: Annotated[float, Meta(ge=0, description="… and at least this long.")] = 1.0
    max_factor: Annotated[
        float, Meta(ge=1, description="A slow server is asked at most so many times less often.")
    ] = 8.0


class Blocking(Struct, frozen=True, kw_only=True):
    """Sites that answer with challenges or nothing but 403."""

    challenges: Annotated[
        int, Meta(ge=0, description="Challenges in a row that count as blocked; 0: never.")
    ] = 3
    forbidden: Annotated[
        int, Meta(ge=0, description="403s in a row that count as blocked; 0: never.")
    ] = 30
    rest_s: Annotated[
        float, Meta(gt=0, description="How long a domain that blocks us is left alone.")
    ] = 3_600.0
    factor: Annotated[
        float, Meta(ge=1, description="After each such rest it is asked so many times less often.")
    ] = 2.0
    max_factor: Annotated[
        float, Meta(ge=1, description="The most that `blocking.factor` adds up to.")
    ] = 16.0
    forgive_transfers: Annotated[
        int, Meta(ge=1, description="So many good answers take one such step back.")
    ] = 200


class DomainManners(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One domain's own: a table `[domains."example.com"]`. What is left out is as for all.

    Keys mean what they do in `[politeness]`; say `delay_s` or `hits`, not both. `blocked = true`
    keeps what is queued but asks for none of it.
    """

    delay_s: Annotated[float, Meta(ge=0)] | None = None
    hits: Annotated[int, Meta(ge=1)] | None = None
    window_s: Annotated[float, Meta(gt=0)] | None = None
    moderated: bool | None = None
    elastic: bool | None = None
    scale: Annotated[float, Meta(gt=0, le=1)] | None = None
    concurrency: Annotated[int, Meta(ge=1)] | None = None
    #: Keep what is queued but ask for none of it.
    blocked: bool = False
