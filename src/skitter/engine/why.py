"""Why a URL was fetched, skipped or is waiting: put together from all that a crawl left behind."""

from pathlib import Path
from time import gmtime

from msgspec import Struct

from skitter.catalog.base import Catalog, Page
from skitter.clock import Clock, timestamp
from skitter.config.settings import Settings
from skitter.engine.reasons import sentence
from skitter.engine.story import (
    BudgetStory,
    QueueStory,
    RecordStory,
    RobotsStory,
    ScopeStory,
    Step,
    Story,
    TryStory,
)
from skitter.engine.trail import RobotsCopy, Trail, read_trail
from skitter.errors import InvalidURLError
from skitter.frontier.base import Frontier, JobInfo
from skitter.frontier.budgets import account_of, budget_policy
from skitter.frontier.lookup import FoundRequest, FrontierLookup
from skitter.models import Outcome
from skitter.politeness.robots import read_robots
from skitter.urls.domain import domain_of_url
from skitter.urls.fingerprint import fingerprint, record_id, session_fingerprint
from skitter.urls.normalize import normalize, origin_of
from skitter.urls.scope import ScopeRule, compile_patterns
from skitter.urls.traps import find_trap, pattern_of, without_session

__all__ = ["Inquiry", "explain"]

#: Pages that led to it, at most.
_MAX_STEPS = 1_000


class Inquiry(Struct, frozen=True, kw_only=True):
    """Where to look."""

    job: JobInfo
    frontier: Frontier
    lookup: FrontierLookup
    catalog: Catalog
    #: The folder of the fetch log.
    log: Path
    settings: Settings
    clock: Clock


async def explain(inquiry: Inquiry, url: str, asked: str) -> Story:
    """The story of a normalised URL."""
    job = inquiry.job
    found = inquiry.lookup.request(job.name, fingerprint(url), _session(url))
    kept = found.url if found else url
    trail = read_trail(inquiry.log, job=job.name, url=kept, origin=origin_of(kept))
    page = await _page(inquiry, kept, found.generation if found else 0)
    fate, reason = _fate(found)
    parent = found.parent if found else None
    story = Story(
        url=url,
        asked=None if asked == url else asked,
        job=job.name,
        fate=fate,
        reason=reason,
        why="",
        same_as=None if kept == url else kept,
        scope=_scope(job, kept, is_seed=found.is_seed if found else kept in job.scope_seeds),
        depth=found.depth if found else None,
        max_depth=job.spec.depth,
        trap=_trap(inquiry, kept, parent),
        robots=_robots(trail.robots, kept) if job.spec.robots == "obey" else None,
        budget=_budget(inquiry, kept),
        tries=_tries(trail),
        queue=await _queue(inquiry, found),
        record=_record(page),
        redirects_to=_redirects_to(page),
        found_on=await _found_on(inquiry, found),
    )
    return sentence(story, job)


def _session(url: str) -> int | None:
    free = without_session(url)
    return None if free is None else session_fingerprint(free)


def _fate(found: FoundRequest | None) -> tuple[str, str | None]:
    if found is None:
        return "unknown", None
    return ("leased" if found.worker else found.state), found.reason


def _scope(job: JobInfo, url: str, *, is_seed: bool) -> ScopeStory:
    spec = job.spec
    if is_seed:
        return ScopeStory(inside=True, rule="it is a seed, or where one redirects to")
    near = (seed for seed in job.scope_seeds if ScopeRule(spec.scope, (seed,)).contains(url))
    seed = next(near, None)
    if seed is None:
        rule = f"--scope {spec.scope.value}: it is not in that of any seed"
        return ScopeStory(inside=False, rule=rule)
    if denied := _match(spec.deny, "--deny", url):
        return ScopeStory(inside=False, rule=denied)
    if spec.allow:
        allowed = _match(spec.allow, "--allow", url)
        return ScopeStory(inside=bool(allowed), rule=allowed or "no --allow pattern matches it")
    return ScopeStory(inside=True, rule=f"--scope {spec.scope.value} of {seed}")


def _match(patterns: tuple[str, ...], flag: str, url: str) -> str | None:
    matching = (p for p in patterns if compile_patterns((p,), flag)[0].search(url))
    pattern = next(matching, None)
    return None if pattern is None else f"{flag} {pattern!r} matches it"


def _trap(inquiry: Inquiry, url: str, parent: str | None) -> str | None:
    rules = budget_policy(inquiry.settings.traps).rules
    year = gmtime(inquiry.clock.time()).tm_year
    trap = find_trap(url, parent, rules, year) if rules else None
    return None if trap is None else trap.value


def _robots(copy: RobotsCopy | None, url: str) -> RobotsStory | None:
    if copy is None:
        return None
    rules = read_robots(copy.status, copy.body.encode(), copy.agent) if copy.status else None
    if rules is None:
        decision, allowed, delay_s = None, False, None
    else:
        decision = rules.explain(url)
        allowed, delay_s = decision.allowed, rules.crawl_delay_s
    return RobotsStory(
        allowed=allowed,
        line_number=decision.line_number if decision else None,
        line=decision.line if decision else "",
        agent=decision.agent if decision else "",
        status=copy.status,
        read=timestamp(copy.read_s),
        crawl_delay_s=delay_s,
    )


def _budget(inquiry: Inquiry, url: str) -> BudgetStory:
    domain, pattern = domain_of_url(url), pattern_of(url)
    spent = inquiry.lookup.spent(inquiry.job.name, domain)
    account = account_of(pattern, spent.credits)
    return BudgetStory(
        domain=domain,
        pages=spent.pages,
        max_pages=inquiry.settings.traps.domain_pages,
        pattern=pattern,
        account=account,
        credit=None if account is None else spent.credits[account],
    )


def _tries(trail: Trail) -> list[TryStory]:
    return [TryStory.of(one, timestamp(one.sent_s)) for one in trail.tries]


async def _queue(inquiry: Inquiry, found: FoundRequest | None) -> QueueStory | None:
    if found is None or found.worker or found.state not in {"queued", "delayed"}:
        return None
    domain = await inquiry.frontier.domain(found.domain)
    if domain is None:
        return None
    delayed = found.state == "delayed"
    wait_s = max(0.0, found.not_before_s - inquiry.clock.time()) if delayed else 0.0
    return QueueStory(
        ahead=0 if delayed else inquiry.lookup.ahead(inquiry.job.name, found),
        due_in_s=domain.due_in_s,
        interval_s=domain.rate.interval_s,
        hold_reason=domain.hold_reason,
        blocked=domain.blocked,
        next_try_in_s=wait_s,
    )


async def _page(inquiry: Inquiry, url: str, generation: int = 0) -> Page | None:
    job = inquiry.job
    for key in (fingerprint(url), _session(url)):
        if key is None:
            continue
        page = await inquiry.catalog.get(job.name, record_id(job.job_id, key, generation))
        if page is not None:
            return page
    return None


def _record(page: Page | None) -> RecordStory | None:
    if page is None:
        return None
    record, place = page.record, page.location
    return RecordStory(
        id=record.id,
        status_code=record.status_code,
        error=record.error,
        timestamp=record.timestamp,
        length=record.length,
        digest=record.digest,
        segment=place.segment if place else None,
        offset=place.offset if place else None,
    )


def _redirects_to(page: Page | None) -> str | None:
    if page is None or page.head.outcome is not Outcome.REDIRECTED:
        return None
    record = page.record
    location = record.response_headers.get("Location", [""])[0]
    try:
        return normalize(location, record.url)
    except InvalidURLError:
        return location or None


async def _found_on(inquiry: Inquiry, found: FoundRequest | None) -> list[Step]:
    steps: list[Step] = []
    if found is None:
        return steps
    known = {found.url}
    origin, parent = found.redirected_from, found.parent
    while (url := origin or parent) is not None and url not in known and len(steps) < _MAX_STEPS:
        known.add(url)
        page = await _page(inquiry, url)
        record = page.record if page else None
        by = "redirect" if origin else _way(record.content_type if record else None)
        steps.append(Step(url=url, by=by, depth=record.depth if record else None))
        origin, parent = (record.redirected_from, record.parent) if record else (None, None)
    return steps


def _way(content_type: str | None) -> str:
    """A page leads on by links; what is no page can only be a sitemap."""
    return "sitemap" if content_type and "html" not in content_type else "link"
