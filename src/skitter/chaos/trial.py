"""A whole trial: target, undisturbed reference where one is needed, disturbed crawl, judgement."""

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from skitter.chaos.crawl import Crawl, CrawlOptions
from skitter.chaos.evidence import audit, exported, read_entries, sent_times
from skitter.chaos.faults import Faults
from skitter.chaos.machine import Pressure
from skitter.chaos.report import Report, fault_rows, late, usages
from skitter.chaos.run import Course, Run
from skitter.chaos.schedule import SIZES, FaultKind, Plan, Scenario, make_schedule
from skitter.chaos.target import SimTarget, Target
from skitter.chaos.verdict import Blame, Entry, Finding, compare, doubled, truths_of
from skitter.chaos.wallclock import INSTALL, WallClock, has_faketime
from skitter.chaos.witness import check_manners, is_page, recoveries, repetitions, unfenced
from skitter.clock import Clock
from skitter.errors import BackendError
from skitter.urls.fingerprint import fingerprint

__all__ = ["Trial", "TrialOptions"]

#: A crawl that is killed all the time may take so many times as long; beyond it is stuck.
_PATIENCE = 10
_LEAST_PATIENCE_S = 120.0


class TrialOptions(Struct, frozen=True, kw_only=True):
    """What is done to what."""

    plan: Plan
    crawl: CrawlOptions
    #: What a gap may be short of.
    tolerance_s: float = 0.02


class Trial:
    """Everything it writes is in `folder`."""

    def __init__(
        self,
        target: Target,
        options: TrialOptions,
        *,
        folder: Path,
        clock: Clock,
        say: Callable[[str], None],
    ) -> None:
        self._target = target
        self._options = options
        self._folder = folder
        self._clock = clock
        self._say = say
        self._notes: list[str] = []
        self._pressure = Pressure(clock)

    def run(self) -> Report:
        """Crawl under faults and judge."""
        wanted = self._truth()
        plan = self._options.plan
        wall = self._wall_clock()
        if wall is None:
            plan = replace(plan, without=plan.without | {FaultKind.CLOCK})
        options = self._options.crawl
        if plan.scenario is Scenario.SCALE:
            options = replace(options, workers=SIZES[0])
        crawl = Crawl(self._target, options, self._folder / "crawl", wall)
        faults = Faults(crawl, lease_s=options.lease_s, clock=self._clock, wall=wall)
        run = Run(
            crawl,
            faults,
            clock=self._clock,
            limit_s=max(_LEAST_PATIENCE_S, plan.duration_s * _PATIENCE),
            say=self._say,
        )
        try:
            course = run.run(make_schedule(plan))
        finally:
            if wall is not None:
                wall.forget(crawl.pids)
        return self._judge(crawl, course, wanted)

    def _wall_clock(self) -> WallClock | None:
        if self._options.plan.scenario not in {Scenario.CLOCK, Scenario.EVERYTHING}:
            return None
        if has_faketime():
            folder = self._folder / "clocks"
            folder.mkdir()
            return WallClock(folder)
        self._notes.append(f"wall clocks were left alone: no faketime here ({INSTALL})")
        return None

    def _truth(self) -> dict[int, Entry]:
        """The manifest, or what an undisturbed crawl records."""
        if isinstance(self._target, SimTarget):
            return truths_of(self._target.truths())
        self._say("an undisturbed crawl, to compare with")
        crawl = Crawl(self._target, self._options.crawl, self._folder / "undisturbed")
        crawl.start()
        try:
            while not crawl.wait(_LEAST_PATIENCE_S):
                self._say("the undisturbed crawl goes on")
        finally:
            crawl.close()
        if crawl.poll() != 0:
            raise BackendError(f"the undisturbed crawl failed: {crawl.last_words()}")
        return {fingerprint(entry.url): entry for entry in exported(crawl)}

    def _judge(self, crawl: Crawl, course: Course, wanted: dict[int, Entry]) -> Report:
        self._say("comparing with the truth")
        records = exported(crawl)
        findings = [*course.findings, *compare(wanted, records), *doubled(records, "the catalog")]
        findings += doubled(read_entries(crawl.output), "the output file")
        findings += audit(crawl, self._options.tolerance_s)
        report = Report(
            scenario=self._options.plan.scenario,
            seed=self._options.plan.seed,
            target=self._target.title,
            seconds=course.seconds,
            expected=len(wanted),
            records=len(records),
            starts=len(crawl.pids),
            refused_starts=course.refused,
            faults=[],
            usage=usages(course.samples, course.seconds),
            pairs=None,
            least_gap_s=None,
            most_at_once=None,
            findings=findings,
            notes=self._notes,
        )
        if isinstance(self._target, SimTarget):
            report = self._hear_origin(self._target, course, report)
        else:
            waits_s = recoveries(sent_times(crawl), course.faults)
            report.findings.extend(late(course.faults, waits_s))
            report = replace(report, faults=fault_rows(course.faults, waits_s, None))
        report.findings.extend(_growth(report))
        return report

    def _hear_origin(self, target: SimTarget, course: Course, report: Report) -> Report:
        accesses = target.accesses()
        manners = check_manners(
            accesses,
            delay_s=self._options.crawl.delay_s,
            tolerance_s=self._options.tolerance_s,
        )
        truths = target.truths()
        again = repetitions(accesses, truths, course.faults)
        stale = unfenced(accesses, truths, course.faults)
        found = (*manners.problems, *again.problems, *stale)
        if again.problems and self._pressure.is_high:
            self._notes.append(
                f"somebody waited for a processor {self._pressure.share:.0%} of the time: a worker"
                " that gets none in time loses its leases; try a longer --lease"
            )
        sent_s = [access.start_monotonic_s for access in accesses if is_page(access)]
        waits_s = recoveries(sent_s, course.faults)
        problems = [f"origin: {what}" for what in found]
        report.findings.extend(Finding(blame=Blame.VIOLATION, what=what) for what in problems)
        report.findings.extend(late(course.faults, waits_s))
        return replace(
            report,
            faults=fault_rows(course.faults, waits_s, again.by_fault),
            pairs=manners.pairs,
            least_gap_s=manners.least_gap_s,
            most_at_once=manners.most_at_once,
        )


def _growth(report: Report) -> Iterator[Finding]:
    for usage in report.usage:
        if not usage.is_flat:
            what = (
                f"{usage.role}: {usage.early_bytes / 1e6:.0f} MB and {usage.early_descriptors}"
                f" descriptors became {usage.late_bytes / 1e6:.0f} MB and"
                f" {usage.late_descriptors}"
            )
            yield Finding(blame=Blame.VIOLATION, what=what)
