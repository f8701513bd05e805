"""One sentence that says why a URL has the fate it has."""

from msgspec.structs import replace

from skitter.engine.story import Story
from skitter.frontier.base import JobInfo
from skitter.models import DropReason, JobState
from skitter.politeness.backoff import in_words

__all__ = ["TRAPS", "sentence"]

#: Rule -> what is wrong with the URL; the setting that says how much is allowed.
TRAPS = {
    "path_depth": "its path has too many segments (traps.max_path_depth)",
    "repeated_path": "segments of its path repeat (traps.max_repeats)",
    "long_segment": "a segment of its path is too long (traps.max_segment_bytes)",
    "many_parameters": "its query has too many parameters (traps.max_parameters)",
    "calendar": "a calendar leads too far from today (traps.max_years_ahead, max_years_back)",
}

_DROPS = {
    DropReason.FORBIDDEN_ADDRESS: "its address is not a public one (security.allow_networks)",
    DropReason.URL_TOO_LONG: "its URL is too long (limits.max_url_length)",
    DropReason.TOO_MANY_REDIRECTS: "too many redirects led to it (limits.max_redirects)",
    DropReason.CRAWL_DELAY: "robots.txt asks for a longer delay than the job accepts",
    DropReason.MAX_PAGES: "the job had all the pages it may have (--max-pages)",
    DropReason.STOPPED: "the job was stopped",
    DropReason.EXPIRED: "the job expired",
    DropReason.DEPTH: "it is deeper than --depth",
}


def sentence(story: Story, job: JobInfo) -> Story:
    """The story with its sentence."""
    tellers = {"unknown": _unknown, "queued": _waiting, "delayed": _waiting, "dropped": _dropped}
    teller = tellers.get(story.fate)
    return replace(story, why=teller(story, job) if teller else _ended(story))


def _ended(story: Story) -> str:
    record = story.record
    if story.fate == "leased":
        return "A worker has it in hand."
    if story.fate == "redirected":
        to = story.redirects_to or "an address that is none"
        return f"It redirects to {to}, which is a request of its own if it is in scope."
    if story.fate == "failed":
        error = (record and record.error) or "it could not be fetched"
        return f"It failed in the end: {error}."
    status = f" with status {record.status_code}" if record and record.status_code else ""
    return f"It was fetched{status}."


def _dropped(story: Story, _job: JobInfo) -> str:
    match story.reason:
        case DropReason.ROBOTS:
            return f"Dropped: robots.txt forbids it{_line(story)}."
        case DropReason.TRAP:
            return f"Dropped as a trap: {TRAPS.get(story.trap or '', 'it looks endless')}."
        case DropReason.BUDGET:
            return f"Dropped: {_overspent(story)}."
    try:
        text = _DROPS[DropReason(story.reason or "")]
    except (KeyError, ValueError):
        text = story.reason or "no reason is known"
    return f"Dropped: {text}."


def _line(story: Story) -> str:
    robots = story.robots
    if robots is None or robots.line_number is None:
        return ""
    return f" in line {robots.line_number}, {robots.line!r}"


def _overspent(story: Story) -> str:
    budget = story.budget
    if budget.credit is not None and budget.credit <= 0:
        return (
            f"pages like it, {budget.account} of {budget.domain}, led on and on and brought"
            " nothing new (traps.barren_pages)"
        )
    return f"{budget.domain} had all the pages it may have (traps.domain_pages)"


def _waiting(story: Story, job: JobInfo) -> str:
    queue = story.queue
    if job.state is JobState.FINISHED:
        return "It was left when the job had all the pages it may have (--max-pages)."
    if queue is None:
        return "It waits for its turn."
    if job.state is JobState.PAUSED:
        return "It waits: the job is paused, and the same command takes it up again."
    if queue.blocked:
        return f"It waits: {story.budget.domain} is blocked."
    if queue.next_try_in_s:
        return f"It failed in passing; its next try is in {queue.next_try_in_s:.0f} s."
    held = f", which rests ({in_words(queue.hold_reason)})" if queue.hold_reason else ""
    return (
        f"It waits for its turn at {story.budget.domain}{held}: {queue.ahead} come first,"
        f" one every {queue.interval_s:g} s, the next in {queue.due_in_s:.1f} s."
    )


def _unknown(story: Story, job: JobInfo) -> str:
    if not story.scope.inside:
        return f"The job has no request for it, and would take none: {story.scope.rule}."
    if story.trap:
        return f"The job has no request for it, and would drop it: {TRAPS[story.trap]}."
    if story.robots is not None and not story.robots.allowed:
        return f"The job has no request for it, and robots.txt would forbid it{_line(story)}."
    if story.budget.is_spent:
        return f"The job has no request for it, and would drop it: {_overspent(story)}."
    yet = " yet" if job.state is not JobState.FINISHED else ""
    return (
        f"The job has no request for it: no page with links that were followed leads to it{yet}."
        f" It is in scope; links are followed to depth {story.max_depth}."
    )
