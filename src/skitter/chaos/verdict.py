"""Is the crawl what it should be? Its records against the truth, once each. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from msgspec import Struct

from skitter.models import Outcome
from skitter.sim.truth import Truth
from skitter.urls.fingerprint import fingerprint

__all__ = ["Blame", "Entry", "Finding", "compare", "doubled", "truths_of"]


class Blame(StrEnum):
    """Which promise was broken."""

    LOST = "lost"
    DUPLICATED = "duplicated"
    VIOLATION = "violation"


class Finding(Struct, frozen=True, kw_only=True):
    """Something that must not be."""

    blame: Blame
    what: str


class Entry(Struct, frozen=True, kw_only=True):
    """What is compared of a record; a line of an export decodes to it."""

    id: str = ""
    url: str
    outcome: Outcome
    status_code: int | None
    error: str | None
    digest: str | None

    @property
    def identity(self) -> tuple[Outcome, int | None, str, str | None]:
        """Equal for equal results; what follows the error's code differs from run to run."""
        return (self.outcome, self.status_code, (self.error or "").partition(":")[0], self.digest)


def truths_of(manifest: Iterable[Truth]) -> dict[int, Entry]:
    """A manifest as records would have it, by fingerprint."""
    return {
        fingerprint(truth.url): Entry(
            url=truth.url,
            outcome=truth.outcome,
            status_code=truth.status_code,
            error=truth.error or truth.reason,
            digest=truth.digest,
        )
        for truth in manifest
    }


def compare(wanted: Mapping[int, Entry], records: Iterable[Entry]) -> Iterator[Finding]:
    """A page without a record is lost, and so is one whose record says something else."""
    got = {fingerprint(record.url): record for record in records}
    for key, entry in wanted.items():
        record = got.get(key)
        if record is None:
            yield Finding(blame=Blame.LOST, what=f"{entry.url} has no record")
        elif record.identity != entry.identity:
            shown = f"{entry.url}: {record.identity}, not {entry.identity}"
            yield Finding(blame=Blame.LOST, what=shown)
    for key in got.keys() - wanted.keys():
        yield Finding(blame=Blame.VIOLATION, what=f"{got[key].url} should not be there")


def doubled(records: Iterable[Entry], where: str) -> Iterator[Finding]:
    """Records that are in one place more than once."""
    seen = Counter(record.id for record in records)
    for record, count in seen.items():
        if count > 1:
            what = f"record {record} is {count} times in {where}"
            yield Finding(blame=Blame.DUPLICATED, what=what)
