"""The embedded frontier's rows as they are stored, for whoever wants to check them.

Reads only, one row after the other, and all of one moment: a crawl may go on meanwhile.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from msgspec import Struct

from skitter.frontier.base import JobInfo
from skitter.frontier.ledger import job_of
from skitter.frontier.sqlite import FRONTIER_FORMAT
from skitter.models import Outcome
from skitter.sql import read_schema, read_statements
from skitter.sqlite import Database

__all__ = ["FrontierRows", "RequestRow"]

_SQL = read_statements("skitter.frontier", "inspect.sql")
#: State code -> outcome; None: not terminal. See `schema.sql`.
_OUTCOMES = (
    None,
    None,
    Outcome.DONE,
    Outcome.REDIRECTED,
    Outcome.FAILED,
    Outcome.DROPPED,
)


class RequestRow(Struct, frozen=True, kw_only=True, gc=False):
    """A request as it is stored."""

    number: int
    fingerprint: int
    generation: int
    url: str
    #: The code in the storage; `outcome` is None where it is not a terminal one.
    state: int
    outcome: Outcome | None
    reason: str | None
    leased: bool

    @property
    def is_known_state(self) -> bool:
        """False: nobody wrote such a code."""
        return 0 <= self.state < len(_OUTCOMES)


class FrontierRows:
    """`snapshot` around all reads that must agree with each other."""

    def __init__(self, path: Path) -> None:
        schema = read_schema("skitter.frontier")
        self._db = Database(path, schema, FRONTIER_FORMAT, read_only=True)

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything read inside is of the same moment."""
        return self._db.snapshot()

    def jobs(self) -> list[JobInfo]:
        """The jobs with their stored counters, oldest first."""
        return [job_of(row).info() for row in self._db.query(_SQL["jobs"])]

    def requests(self, job: str) -> Iterator[RequestRow]:
        """Every request of a job, by fingerprint."""
        for number, key, generation, url, state, reason, leased in self._db.iterate(
            _SQL["requests"], (job,)
        ):
            yield RequestRow(
                number=number,
                fingerprint=key,
                generation=generation,
                url=url,
                state=state,
                outcome=_OUTCOMES[state] if 0 <= state < len(_OUTCOMES) else None,
                reason=reason,
                leased=bool(leased),
            )

    def fingerprints(self, job: str) -> Iterator[int]:
        """Only those, of now."""
        for (key,) in self._db.iterate(_SQL["fingerprints"], (job,)):
            yield key

    def stray_leases(self) -> list[tuple[int, str, int]]:
        """Token, worker and number of leases of requests that there are not."""
        return [(token, worker, number) for token, worker, number in self._db.query(_SQL["stray"])]

    async def aclose(self) -> None:
        """Let go of the file."""
        await self._db.aclose()
