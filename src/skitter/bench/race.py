"""Everybody runs in turn, round after round, so a machine that is busy for a while hurts all."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import Signals
from tempfile import TemporaryDirectory

from msgspec import Struct

from skitter.bench.contestants import Contestant, Task, last_line
from skitter.bench.measure import measure
from skitter.bench.sites import Site
from skitter.clock import Clock

__all__ = ["Absence", "Entrant", "Race", "Run"]


class Run(Struct, frozen=True, kw_only=True):
    """One crawl of the whole site by one contestant."""

    #: Different URLs that answered 200.
    pages: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int


class Entrant(Struct, frozen=True, kw_only=True):
    """A contestant and its runs, one for each round."""

    contestant: Contestant
    runs: list[Run]


class Absence(Struct, frozen=True, kw_only=True):
    """A contestant that is not in the table, and why."""

    name: str
    reason: str
    #: It began and could not finish; False: it never could have run here.
    failed: bool = False


class Race:
    """`say` gets a line whenever something is known."""

    def __init__(
        self,
        site: Site,
        *,
        concurrency: int,
        folder: Path,
        clock: Clock,
        say: Callable[[str], None],
    ) -> None:
        self.absences: list[Absence] = []
        self._site = site
        self._concurrency = concurrency
        self._folder = folder
        self._clock = clock
        self._say = say

    def run(self, contestants: Iterable[Contestant], rounds: int) -> list[Entrant]:
        """Who finished every round."""
        entrants = [
            Entrant(contestant=contestant, runs=[])
            for contestant in contestants
            if self._can_run(contestant)
        ]
        for number in range(1, rounds + 1):
            entrants = [
                entrant
                for entrant in entrants
                if self._turn(entrant, f"round {number} of {rounds}")
            ]
        return entrants

    def warm_up(self, contestant: Contestant) -> None:
        """A crawl that does not count: the site's pages are in memory for whoever is first."""
        self._say(f"warming up {self._site.title}")
        self._crawl(contestant)

    def _can_run(self, contestant: Contestant) -> bool:
        with self._task() as task:
            reason = contestant.obstacle(task)
        if reason is not None:
            self._leave_out(Absence(name=contestant.name, reason=reason))
        return reason is None

    def _turn(self, entrant: Entrant, when: str) -> bool:
        name = entrant.contestant.name
        result = self._crawl(entrant.contestant)
        if isinstance(result, str):
            self._leave_out(Absence(name=name, reason=result, failed=True))
            return False
        entrant.runs.append(result)
        self._say(
            f"{when}: {name:<13} {result.pages} pages in {result.seconds:.1f} s, "
            f"{result.cpu_seconds / result.pages * 1e6:.0f} µs of CPU a page"
        )
        return True

    def _crawl(self, contestant: Contestant) -> Run | str:
        """A string says why there is no result."""
        with self._task() as task:
            usage = measure(contestant.command(task), task.folder, self._clock)
            if usage.exit_code < 0:
                return f"killed by {Signals(-usage.exit_code).name}"
            if usage.exit_code > 0:
                said = (task.folder / "stderr").read_text(errors="replace")
                return f"failed with exit code {usage.exit_code}: {last_line(said)}"
            pages = contestant.count(task)
        if not pages:
            return f"got no page with status 200 from {self._site.url}"
        return Run(
            pages=pages,
            seconds=usage.seconds,
            cpu_seconds=usage.cpu_seconds,
            peak_bytes=usage.peak_bytes,
        )

    @contextmanager
    def _task(self) -> Iterator[Task]:
        """The same for everybody, in a folder that was empty before and is gone after."""
        with TemporaryDirectory(dir=self._folder, ignore_cleanup_errors=True) as name:
            yield Task(url=self._site.url, concurrency=self._concurrency, folder=Path(name))

    def _leave_out(self, absence: Absence) -> None:
        self.absences.append(absence)
        self._say(f"{absence.name}: {absence.reason}")
