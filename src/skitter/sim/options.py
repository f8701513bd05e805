"""What may be ordered from the simulated web. Equal options and port: equal bytes."""

import math

from msgspec import Struct
from msgspec.structs import asdict

from skitter.errors import UsageError

__all__ = ["EVERYTHING", "SICKNESSES", "SimOptions"]


#: What `sickness` may name; see `skitter.sim.sickness`.
SICKNESSES = ("error", "reset", "limit", "forbid", "challenge", "mute", "drip", "endless")


class SimOptions(Struct, frozen=True, kw_only=True):
    """Rates are shares of the ordinary pages, 0 to 1.

    `flaky`, `throttle`, `charset` and `gzip` change how that share of the pages is served;
    all of them still end as 200. `redirect` puts redirects before that share. `error`, `reset`,
    `gone` and `robots` add that many further URLs, linked from the pages, so every ordinary
    page stays reachable whatever the rates are.
    """

    seed: int = 1
    hosts: int = 10
    #: Ordinary pages of each host; they all answer 200 in the end.
    pages: int = 100
    #: Children of a page in the tree that reaches every page.
    fanout: int = 10
    #: Links of a page across the tree, one in eight to another host.
    links: int = 3
    latency_ms: float = 0.0
    #: Up to so much more, different for each request.
    jitter_ms: float = 0.0
    #: Mean size of a page.
    body_bytes: int = 4096
    #: Sizes are even between `body_bytes * (1 - spread)` and `body_bytes * (1 + spread)`.
    body_spread: float = 0.5
    #: URLs that answer 500, 502 or 504 however often they are asked.
    error_rate: float = 0.0
    #: URLs that reset the connection however often they are asked.
    reset_rate: float = 0.0
    #: Links to 404 and 410.
    gone_rate: float = 0.0
    #: Pages that fail once or twice (500 or reset) and then work.
    flaky_rate: float = 0.0
    #: Pages that answer 429 or 503 with `Retry-After: 1` once or twice and then work.
    throttle_rate: float = 0.0
    #: Single redirects, chains, loops, redirects to other hosts; and one chain that is too long.
    redirect_rate: float = 0.0
    #: URLs below a `Disallow`; a quarter of them is allowed again by a longer `Allow`.
    robots_rate: float = 0.0
    #: 0: robots.txt has no Crawl-delay.
    crawl_delay_s: float = 0.0
    sitemaps: bool = False
    #: Children of each page of an endless calendar; 0: no calendar.
    trap_fanout: int = 0
    #: Further hosts that are nothing but a trap, of each kind in turn; see `skitter.sim.mazes`.
    trap_hosts: int = 0
    #: Links on every page of the trap that is made of them.
    trap_links: int = 10_000
    #: So many of the hosts, the last ones, are ill; see `skitter.sim.sickness`.
    sick_hosts: int = 0
    #: How, in turn: any of error, reset, limit, forbid, challenge, mute, drip, endless.
    sickness: str = "error"
    #: A sick host is well again after so many requests; 0: never.
    sick_requests: int = 0
    #: What a sick host that limits us says in `Retry-After`.
    retry_after_s: float = 1.0
    #: Pages in other encodings, declared in every way there is.
    charset_rate: float = 0.0
    #: Pages sent with `Content-Encoding: gzip` to those who accept it.
    gzip_rate: float = 0.0
    #: Links written oddly: relative, mixed case, with fragments, reordered queries, twice.
    messy_rate: float = 0.2

    def __post_init__(self) -> None:
        """Refuse what cannot be served; the message names the option."""
        for name, value in asdict(self).items():
            if isinstance(value, str):
                _check_words(name, value)
                continue
            least = 1 if name in {"hosts", "pages", "fanout"} else 0
            most = 1 if name.endswith(("_rate", "_spread")) else math.inf
            # Written so that NaN is refused too; infinity is no number of anything.
            if not (least <= value <= most and value < math.inf):
                bounds = f"from {least} to {most}" if most == 1 else f"at least {least}"
                message = f"{name} must be {bounds}, not {value}"
                raise UsageError(message)


def _check_words(name: str, value: str) -> None:
    if not set(value.split(",")) <= set(SICKNESSES):
        message = f"{name} must be any of {', '.join(SICKNESSES)}, not {value!r}"
        raise UsageError(message)


#: Every misbehaviour at a rate that a crawl of a few hundred pages meets each of.
EVERYTHING = SimOptions(
    error_rate=0.03,
    reset_rate=0.01,
    gone_rate=0.05,
    flaky_rate=0.03,
    throttle_rate=0.02,
    redirect_rate=0.15,
    robots_rate=0.1,
    sitemaps=True,
    trap_fanout=1,
    charset_rate=0.3,
    gzip_rate=0.3,
)
