"""One request as the embedded frontier has it stored, for whoever wants to know its fate.

Reads only, so it may run beside the crawl.
"""

from pathlib import Path

from msgspec import Struct

from skitter.frontier.sqlite import FRONTIER_FORMAT
from skitter.models import Outcome
from skitter.sql import read_schema, read_statements
from skitter.sqlite import Database

__all__ = ["FoundRequest", "FrontierLookup", "Spent"]

_SQL = read_statements("skitter.frontier", "lookup.sql")
#: State code -> what it is called; see `schema.sql`.
_STATES = (
    "queued",
    "delayed",
    *(o.value for o in (Outcome.DONE, Outcome.REDIRECTED, Outcome.FAILED, Outcome.DROPPED)),
)


class FoundRequest(Struct, frozen=True, kw_only=True):
    """A request of a job."""

    number: int
    url: str
    #: `queued`, `delayed`, or a terminal outcome; a leased one is still called queued or delayed.
    state: str
    reason: str | None
    depth: int
    priority: int
    parent: str | None
    redirected_from: str | None
    hops: int
    is_seed: bool
    generation: int
    tries: int
    holds: int
    #: Epoch; of a delayed one.
    not_before_s: float
    domain_number: int
    domain: str
    #: Who has it in hand, and since when.
    worker: str | None
    since_s: float | None


class Spent(Struct, frozen=True, kw_only=True):
    """What a job has spent on a domain."""

    pages: int = 0
    #: Account -> what is left, of patterns that brought nothing new.
    credits: dict[str, float] = {}


class FrontierLookup:
    """A frontier's file, opened for reading."""

    def __init__(self, path: Path) -> None:
        schema = read_schema("skitter.frontier")
        self._db = Database(path, schema, FRONTIER_FORMAT, read_only=True)

    def request(self, job: str, bare: int, session: int | None) -> FoundRequest | None:
        """By its fingerprint, or by the one it has if its session id does not count."""
        rows = self._db.query(
            _SQL["request"],
            {"job": job, "bare": bare, "session": bare if session is None else session},
        )
        if not rows:
            return None
        values = dict(zip(FoundRequest.__struct_fields__, rows[0], strict=True))
        state = _STATES[values["state"]]
        return FoundRequest(**values | {"state": state, "is_seed": bool(values["is_seed"])})

    def ahead(self, job: str, found: FoundRequest) -> int:
        """How many of the same job and domain come first."""
        place = {"domain": found.domain_number, "priority": found.priority, "id": found.number}
        number: int = self._db.query(_SQL["ahead"], {"job": job, **place})[0][0]
        return number

    def spent(self, job: str, domain: str) -> Spent:
        """Nothing, if nothing of the domain was fetched."""
        there = self._db.query(_SQL["has_budget"])
        rows = self._db.query(_SQL["budget"], (job, domain)) if there else []
        return Spent(
            pages=sum(pages for pattern, pages, _ in rows if not pattern),
            credits={pattern: credit for pattern, _, credit in rows if pattern},
        )

    async def aclose(self) -> None:
        """Let go of the file."""
        await self._db.aclose()
