"""What the origin's own log says of the crawl: manners, repetitions, recoveries. Pure.

The crawler's counters are not asked: a crawler that forgets a request forgets to count it, too.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from skitter.chaos.faults import Done
from skitter.sim.accesslog import Access
from skitter.sim.truth import Truth
from skitter.urls.domain import domain_of
from skitter.urls.fingerprint import fingerprint
from skitter.urls.normalize import host_of

__all__ = ["Manners", "Repetitions", "check_manners", "is_page", "recoveries", "repetitions"]

_ROBOTS = "/robots.txt"


class Manners(Struct, frozen=True, kw_only=True):
    """How near requests to one domain came."""

    pairs: int
    #: The smallest gap between two requests to a domain; None: no domain had two.
    least_gap_s: float | None
    most_at_once: int
    problems: list[str]


class Repetitions(Struct, frozen=True, kw_only=True):
    """Requests beyond those that an undisturbed crawl makes."""

    #: For each fault, how many pages were fetched again because of it.
    by_fault: list[int]
    problems: list[str]


def is_page(access: Access) -> bool:
    """Whether politeness asks for a gap before it."""
    return access.path != _ROBOTS


def check_manners(
    accesses: Iterable[Access], *, delay_s: float, tolerance_s: float, at_once: int = 1
) -> Manners:
    """Gap and concurrency of every domain; accesses come oldest first."""
    last: dict[str, Access] = {}
    pairs, least_gap_s, most = 0, None, 0
    problems: list[str] = []
    for access in accesses:
        most = max(most, access.concurrent)
        if access.concurrent > at_once:
            problems.append(f"{_url(access)}: {access.concurrent} requests at once")
        if not is_page(access):
            continue
        domain = domain_of(access.host)
        before = last.get(domain)
        last[domain] = access
        if before is None:
            continue
        pairs += 1
        gap_s = access.start_monotonic_s - before.start_monotonic_s
        least_gap_s = gap_s if least_gap_s is None else min(gap_s, least_gap_s)
        if gap_s < delay_s - tolerance_s:
            short_ms = (delay_s - gap_s) * 1000
            problems.append(
                f"{_url(access)}: {gap_s:.3f} s after {before.path}, {short_ms:.0f} ms short"
                f" (at {access.start_monotonic_s:.3f})"
            )
    return Manners(pairs=pairs, least_gap_s=least_gap_s, most_at_once=most, problems=problems)


def repetitions(
    accesses: Iterable[Access], truths: Iterable[Truth], faults: Sequence[Done]
) -> Repetitions:
    """Who was asked for more often than needed, and which fault explains it.

    One that lies between the first request for a page and a further one does. Where it is known
    what the victim held, the page must be among it.
    """
    allowed = {_key(truth.url): truth.requests for truth in truths}
    times: dict[int, list[float]] = defaultdict(list)
    urls: dict[int, str] = {}
    for access in filter(is_page, accesses):
        url = f"http://{_url(access)}"
        times[_key(url)].append(access.start_monotonic_s)
        urls[_key(url)] = url
    blamed: Counter[int] = Counter()
    problems: list[str] = []
    moments = [fault.at_s for fault in faults]
    held = [None if f.held is None else {_key(url) for url in f.held} for f in faults]
    for key, asked in times.items():
        for at_s in asked[allowed.get(key, 0) :]:
            between = range(bisect_right(moments, asked[0]), bisect_right(moments, at_s))
            culprit = _culprit(key, between, held)
            if culprit is None:
                why = "and no fault explains it" if not between else "but no victim held it"
                problems.append(f"{urls[key]}: asked for {len(asked)} times, {why}")
            else:
                blamed[culprit] += 1
    return Repetitions(by_fault=[blamed[n] for n in range(len(faults))], problems=problems)


def recoveries(sent_s: Sequence[float], faults: Sequence[Done]) -> list[float | None]:
    """For each fault the time to the next page request; None: there was none any more."""
    waits: list[float | None] = []
    for fault in faults:
        after = bisect_right(sent_s, fault.at_s)
        waits.append(sent_s[after] - fault.at_s if after < len(sent_s) else None)
    return waits


def _culprit(key: int, between: range, held: Sequence[set[int] | None]) -> int | None:
    """The last fault that may have cost the page; one whose victim is known to have had it wins."""
    unsure: int | None = None
    for number in reversed(between):
        keys = held[number]
        if keys is None:
            unsure = number if unsure is None else unsure
        elif key in keys:
            return number
    return unsure


def _url(access: Access) -> str:
    return f"{access.host}{access.path}"


def _key(url: str) -> int:
    """The same for a URL as crawled and as the origin sees it, which knows of no port."""
    return fingerprint(f"http://{host_of(url)}{url[url.index('/', 8) :]}")
