"""The crawl under test: one command, run again whenever it was killed."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from signal import Signals

from msgspec import Struct

from skitter.chaos.target import SKITTER, Target
from skitter.chaos.wallclock import WallClock

__all__ = ["Crawl", "CrawlOptions", "environment"]

#: Settings of whoever runs this are not for the crawl under test.
_FOREIGN = ("SKITTER_", "AWS_", "REDIS_URL", "DATABASE_URL", "KAFKA_", "FAKETIME", "LD_PRELOAD")

#: Heartbeats per lease.
_BEATS = 6


class CrawlOptions(Struct, frozen=True, kw_only=True):
    """How the crawl is run; timers shorter than in earnest, so that faults meet all of them."""

    workers: int
    delay_s: float
    lease_s: float


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, without what would configure a crawl."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return kept | {"NO_COLOR": "1"} | dict(extra or {})


class Crawl:
    """`skitter crawl` in a folder. `start` it again after each end that was not its own."""

    def __init__(
        self,
        target: Target,
        options: CrawlOptions,
        folder: Path,
        wall: WallClock | None = None,
    ) -> None:
        folder.mkdir()
        self.folder = folder
        self.data = folder / "data"
        self.output = folder / "records.jsonl"
        self.workers = options.workers
        #: Main processes so far, one for each start.
        self.pids: list[int] = []
        self._arguments = (
            *("crawl", *target.crawl_arguments, "--delay", f"{options.delay_s:g}", "--json"),
            *("--data", str(self.data), "-o", str(self.output)),
        )
        self._environment = environment(
            {
                "SKITTER_FRONTIER__LEASE_S": f"{options.lease_s:g}",
                "SKITTER_FRONTIER__HEARTBEAT_S": f"{options.lease_s / _BEATS:g}",
                "SKITTER_RETRY__DELAYS_S": "[0.2, 0.5, 1.0]",
                "SKITTER_FETCH__CONTACT": "chaos@example.com",
                **(wall.environment if wall else {}),
            }
        )
        self._command = (*(wall.command if wall else ()), SKITTER)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the main process, running or not."""
        return self._process.pid if self._process else 0

    def poll(self) -> int | None:
        """Its exit code. None while it runs; negative: the signal that killed it."""
        return self._process.poll() if self._process else None

    def start(self) -> None:
        """Run the command, which resumes what was begun; the run before must have ended."""
        with (self.folder / "stdout").open("ab") as out, (self.folder / "stderr").open("ab") as err:
            self._process = subprocess.Popen(  # noqa: S603  (our own command)
                [*self._command, *self._arguments, "--workers", str(self.workers)],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                # Ctrl+C is for us; what becomes of the crawl then is ours to decide.
                start_new_session=True,
            )
        self.pids.append(self._process.pid)

    def signal(self, number: Signals) -> None:
        """Signal the main process."""
        if self._process is not None:
            self._process.send_signal(number)

    def wait(self, seconds: float) -> bool:
        """Give the crawl some time; True: it has ended."""
        if self._process is None:
            return True
        try:
            self._process.wait(timeout=max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return False
        return True

    def last_words(self) -> str:
        """What the command said last."""
        lines = (self.folder / "stderr").read_text(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else "it said nothing"

    def close(self) -> None:
        """End it, if it still runs."""
        if self.poll() is None and self._process is not None:
            self._process.kill()
            self._process.wait()
