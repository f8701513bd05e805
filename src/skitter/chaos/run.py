"""Runs a crawl through a schedule of faults to its end, starting it again when it was killed."""

from collections.abc import Callable, Sequence
from time import sleep

from msgspec import Struct, field

from skitter.chaos.crawl import Crawl
from skitter.chaos.damage import Done
from skitter.chaos.faults import Faults
from skitter.chaos.processes import Sample, ask_workers, children, sample
from skitter.chaos.schedule import Fault
from skitter.chaos.verdict import Blame, Finding
from skitter.clock import Clock

__all__ = ["Course", "Run"]

#: A command that says the folder is in use is run again, so often.
_MAX_REFUSALS = 60
_REFUSED_WAIT_S = 0.25
#: Another end that nobody asked for is taken down as a finding; so often it is resumed.
_MAX_FAILURES = 3
#: Of a run that was refused because another holds the folder.
_REFUSED = 2

_SAMPLE_EVERY_S = 5.0


class Course(Struct, kw_only=True):
    """What happened, as it happened."""

    faults: list[Done] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    #: Starts that found the folder still held by processes of the run before.
    refused: int = 0
    failures: int = 0
    seconds: float = 0.0


class Run:
    """One crawl and what is done to it. `limit_s`: it must have ended then."""

    def __init__(
        self,
        crawl: Crawl,
        faults: Faults,
        *,
        clock: Clock,
        limit_s: float,
        say: Callable[[str], None],
    ) -> None:
        self.course = Course()
        self._crawl = crawl
        self._faults = faults
        self._clock = clock
        self._limit_s = limit_s
        self._say = say
        self._began_s = clock.monotonic()
        self._sampled_s = self._began_s

    def run(self, schedule: Sequence[Fault]) -> Course:
        """To the crawl's end, whatever that is."""
        try:
            self._crawl.start()
            for fault in schedule:
                if not self._go_on(self._clock.monotonic() + fault.after_s):
                    break
                self._do(fault)
            self._go_on(None)
        finally:
            self._faults.thaw(everybody=True)
            self._crawl.close()
        self.course.seconds = self._clock.monotonic() - self._began_s
        return self.course

    def _do(self, fault: Fault) -> None:
        done = self._faults.do(fault)
        if done is None:
            return
        self.course.faults.append(done)
        self._say(f"{done.at_s - self._began_s:6.1f} s  {done.kind}: {done.what}")
        if self._crawl.poll() is not None:
            self._crawl.start()

    def _go_on(self, until_s: float | None) -> bool:
        """Watch the crawl until then; False: it has ended for good. None: until it has."""
        end_s = self._began_s + self._limit_s
        while True:
            now_s = self._clock.monotonic()
            if until_s is not None and now_s >= until_s:
                return True
            if now_s >= end_s:
                self._find(f"the crawl has not ended after {self._limit_s:.0f} s")
                return False
            self._faults.thaw()
            self._sample(now_s)
            moments = (until_s, self._faults.next_thaw_s, end_s, now_s + _SAMPLE_EVERY_S)
            due_s = min(moment for moment in moments if moment is not None)
            if self._crawl.wait(due_s - now_s) and not self._resume():
                return False

    def _resume(self) -> bool:
        """After an end that we did not cause; False: it was the right one, or the last."""
        code = self._crawl.poll()
        if code == 0:
            return False
        words = self._crawl.last_words()
        if code == _REFUSED and "in use" in words and self.course.refused < _MAX_REFUSALS:
            self.course.refused += 1
            sleep(_REFUSED_WAIT_S)
        else:
            self.course.failures += 1
            self._find(f"the crawl ended with exit code {code}: {words}")
            if self.course.failures > _MAX_FAILURES:
                return False
        self._crawl.start()
        return True

    def _find(self, what: str) -> None:
        self._say(what)
        self.course.findings.append(Finding(blame=Blame.VIOLATION, what=what))

    def _sample(self, now_s: float) -> None:
        if now_s < self._sampled_s + _SAMPLE_EVERY_S:
            return
        self._sampled_s = now_s
        workers = {status.pid for status in ask_workers(self._crawl.data)}
        others = [pid for pid in children(self._crawl.pid) if pid not in workers]
        roles = [(self._crawl.pid, "main"), *((pid, "worker") for pid in workers if pid)]
        if len(others) == 1:  # else one of them is a worker that started just now
            roles.append((others[0], "coordinator"))
        found = [sample(pid, role, now_s - self._began_s) for pid, role in roles]
        self.course.samples += [entry for entry in found if entry is not None]
