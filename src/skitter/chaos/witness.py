"""What the origin's own log says of the crawl: manners, repetitions, recoveries. Pure.

The crawler's counters are not asked: a crawler that forgets a request forgets to count it, too.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from skitter.chaos.damage import Done
from skitter.sim.accesslog import Access
from skitter.sim.truth import Truth
from skitter.urls.domain import domain_of
from skitter.urls.fingerprint import fingerprint
from skitter.urls.normalize import host_of

__all__ = [
    "Manners",
    "Repetitions",
    "check_manners",
    "is_page",
    "recoveries",
    "repetitions",
    "unfenced",
]

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

    One does whose victim may have sent the first request, and that came before the further one.
    Where it is known what the victim held, the page must be among it. A fault costs a page once.
    """
    allowed = {_key(truth.url): truth.requests for truth in truths}
    held = [None if f.held is None else {_key(url) for url in f.held} for f in faults]
    blamed: Counter[int] = Counter()
    problems: list[str] = []
    for key, (url, asked) in _by_page(accesses).items():
        guilty: set[int] = set()
        for at_s in asked[allowed.get(key, 0) :]:
            between = [
                number
                for number, fault in enumerate(faults)
                if asked[0] <= fault.over_s and fault.at_s < at_s
            ]
            culprit = _culprit(key, [n for n in between if n not in guilty], held)
            if culprit is None:
                why = "but no victim held it" if between else "and no fault explains it"
                when = ", ".join(f"{moment:.3f}" for moment in asked)
                problems.append(f"{url}: asked for {len(asked)} times, {why} (at {when})")
            else:
                blamed[culprit] += 1
                guilty.add(culprit)
    return Repetitions(by_fault=[blamed[n] for n in range(len(faults))], problems=problems)


def unfenced(
    accesses: Iterable[Access], truths: Iterable[Truth], faults: Iterable[Done]
) -> list[str]:
    """Pages whose lease was taken from a worker, and that nobody was sent for again.

    Then the result of a lease that had ended was taken for good.
    """
    wanted = {_key(truth.url) for truth in truths if truth.requests}
    pages = _by_page(accesses)
    problems = []
    for fault in faults:
        for url in fault.stale:
            _, asked = pages.get(_key(url), ("", []))
            if _key(url) in wanted and not any(at_s > fault.over_s for at_s in asked):
                problems.append(f"{url}: a late result was accepted after {fault.what}")
    return problems


def recoveries(sent_s: Sequence[float], faults: Sequence[Done]) -> list[float | None]:
    """For each fault the time to the next page request; None: there was none any more."""
    waits: list[float | None] = []
    for fault in faults:
        after = bisect_right(sent_s, fault.at_s)
        waits.append(sent_s[after] - fault.at_s if after < len(sent_s) else None)
    return waits


def _by_page(accesses: Iterable[Access]) -> dict[int, tuple[str, list[float]]]:
    """For each page its URL and when it was asked for."""
    pages: dict[int, tuple[str, list[float]]] = {}
    for access in filter(is_page, accesses):
        url = f"http://{_url(access)}"
        pages.setdefault(_key(url), (url, []))[1].append(access.start_monotonic_s)
    return pages


def _culprit(key: int, between: Sequence[int], held: Sequence[set[int] | None]) -> int | None:
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
