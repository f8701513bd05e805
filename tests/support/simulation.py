"""The simulated web as a process: started for a test, its log and manifest read back."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct
from support.crawls import SKITTER, environment

from skitter.sim.accesslog import Access
from skitter.sim.truth import Truth


class Simulation(Struct, frozen=True, kw_only=True):
    """A running simulated web and where it writes."""

    resolve: str
    seeds: list[str]
    log_path: Path
    manifest_path: Path
    process: subprocess.Popen[str]

    @property
    def crawl_arguments(self) -> tuple[str, ...]:
        """What a crawl of all hosts is called with; the seeds go to its standard input."""
        return ("-", "--resolve", self.resolve)

    @property
    def stdin(self) -> str:
        """The seeds, one a line."""
        return "\n".join(self.seeds)

    def truth(self) -> list[Truth]:
        """The manifest."""
        lines = self.manifest_path.read_bytes().splitlines()
        return [msgspec.json.decode(line, type=Truth) for line in lines]

    def asked(self) -> int:
        """How many requests are in the log, which is a moment behind."""
        return self.log_path.read_bytes().count(b"\n")

    def stop(self) -> None:
        """End the server, which then writes the rest of its log; safe to call twice."""
        if self.process.returncode is None:
            self.process.terminate()
            self.process.communicate()

    def log(self) -> list[Access]:
        """Every request so far; ends the server, since only then all are written."""
        self.stop()
        lines = self.log_path.read_bytes().splitlines()
        return [msgspec.json.decode(line, type=Access) for line in lines]

    def pages_asked(self) -> list[tuple[str, str]]:
        """Host and path of every request but those for robots.txt; ends the server."""
        return [(a.host, a.path) for a in self.log() if a.path != "/robots.txt"]


@contextmanager
def simulated_web(folder: Path, *options: str, manifest: bool = True) -> Iterator[Simulation]:
    """A simulated web on a port of its own until the block ends.

    `manifest`: whether the truth is written down, which of a very large one takes minutes.
    """
    log, truth = folder / "access.jsonl", folder / "manifest.jsonl"
    written = ("--manifest", str(truth)) if manifest else ()
    command = [SKITTER, "sim", "--json", "--log", str(log), *written, *options]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    where = json.loads(process.stdout.readline())
    sim = Simulation(
        resolve=where["resolve"],
        seeds=where["seeds"],
        log_path=log,
        manifest_path=truth,
        process=process,
    )
    try:
        yield sim
    finally:
        sim.stop()
