"""What is known about one URL of a job, as `skitter why` tells it. Values only."""

from msgspec import Struct

from skitter.engine.trail import Try

__all__ = [
    "BudgetStory",
    "QueueStory",
    "RecordStory",
    "RobotsStory",
    "ScopeStory",
    "Step",
    "Story",
    "TryStory",
]


class ScopeStory(Struct, frozen=True, kw_only=True):
    """Whether a link to the URL belongs to the job, and what says so."""

    inside: bool
    rule: str


class RobotsStory(Struct, frozen=True, kw_only=True):
    """What robots.txt of its origin says, by the last copy in the fetch log."""

    allowed: bool
    #: The line that decides, from 1; None: none is about it.
    line_number: int | None
    line: str
    #: Whom the line is for.
    agent: str
    status: int | None
    #: When the copy was read, as in records.
    read: str
    crawl_delay_s: float | None


class BudgetStory(Struct, frozen=True, kw_only=True):
    """What the job has spent on its domain and may spend on URLs like it."""

    domain: str
    pages: int
    max_pages: int
    pattern: str
    #: The account of barren pages it belongs to, and what is left; None: there were none.
    account: str | None
    credit: float | None

    @property
    def is_spent(self) -> bool:
        """True: it would be dropped."""
        return self.pages >= self.max_pages or (self.credit is not None and self.credit <= 0)


class TryStory(Struct, frozen=True, kw_only=True):
    """One time that it was asked for."""

    sent: str
    worker: str
    elapsed_ms: int | None
    status: int | None
    error: str | None

    @classmethod
    def of(cls, one: Try, sent: str) -> "TryStory":
        """A try of the fetch log; `sent` is its time as records have it."""
        elapsed_ms = None if one.elapsed_s is None else round(one.elapsed_s * 1000)
        return cls(
            sent=sent,
            worker=one.worker,
            elapsed_ms=elapsed_ms,
            status=one.status,
            error=one.error,
        )


class QueueStory(Struct, frozen=True, kw_only=True):
    """What it waits for."""

    #: Of its job and domain.
    ahead: int
    #: Seconds until its domain may be asked again, and from one request to the next.
    due_in_s: float
    interval_s: float
    hold_reason: str | None
    blocked: bool
    #: Seconds until its next try; 0: it is not waiting for one.
    next_try_in_s: float


class RecordStory(Struct, frozen=True, kw_only=True):
    """Its record, and where the response is stored."""

    id: str
    status_code: int | None
    error: str | None
    timestamp: str
    length: int
    digest: str | None
    segment: str | None
    offset: int | None


class Step(Struct, frozen=True, kw_only=True):
    """One of the pages that led to it."""

    url: str
    #: How it led on: `link`, `redirect`, or `sitemap`.
    by: str
    #: None: there is no record of it.
    depth: int | None


class Story(Struct, frozen=True, kw_only=True):
    """All of it. `fate` is an outcome, `queued`, `delayed`, `leased` or `unknown`."""

    url: str
    #: As it was asked for, if that is written otherwise.
    asked: str | None
    job: str
    fate: str
    #: Of a dropped one.
    reason: str | None
    #: One sentence.
    why: str
    #: The URL of the request that counts for it, if that is another.
    same_as: str | None
    scope: ScopeStory
    depth: int | None
    max_depth: int
    trap: str | None
    robots: RobotsStory | None
    budget: BudgetStory
    tries: list[TryStory]
    queue: QueueStory | None
    record: RecordStory | None
    redirects_to: str | None
    #: From the page that led to it back to the seed.
    found_on: list[Step]

    @property
    def is_known(self) -> bool:
        """Whether the job has a request for it."""
        return self.fate != "unknown"
