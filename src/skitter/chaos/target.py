"""What is crawled: a simulated web with a witness of its own, or a site of the operator's."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from skitter.errors import BackendError
from skitter.sim.accesslog import Access
from skitter.sim.truth import Truth

__all__ = ["SKITTER", "SimTarget", "Target", "simulated", "url_target"]

#: The command that belongs to this Python.
SKITTER = str(Path(sys.executable).with_name("skitter"))

#: Enough of what a crawl meets. No resets: how often libcurl repeats a request by itself after
#: one is not what is tried here.
_WEB = (
    *("--redirect-rate", "0.1", "--gone-rate", "0.05", "--robots-rate", "0.05"),
    *("--error-rate", "0.01", "--gzip-rate", "0.2"),
)

#: Shares of the delay that an answer takes: so much at least, and up to so much more. A victim
#: should have something in hand.
_LATENCY, _JITTER = 0.2, 0.5


class Target(Struct, frozen=True, kw_only=True):
    """What a crawl is given to find its pages."""

    title: str
    crawl_arguments: tuple[str, ...]


class SimTarget(Target, frozen=True, kw_only=True):
    """A simulated web in a process of its own."""

    log_path: Path
    manifest_path: Path
    process: subprocess.Popen[str]

    def truths(self) -> list[Truth]:
        """What a correct crawl records."""
        decode = msgspec.json.Decoder(Truth).decode
        return [decode(line) for line in self.manifest_path.read_bytes().splitlines()]

    def accesses(self) -> list[Access]:
        """Every request, oldest first; ends the server, since only then all are written."""
        _end(self.process)
        decode = msgspec.json.Decoder(Access).decode
        found = [decode(line) for line in self.log_path.read_bytes().splitlines()]
        return sorted(found, key=lambda access: access.start_monotonic_s)


class _Announcement(Struct, frozen=True):
    resolve: str


def url_target(urls: tuple[str, ...]) -> Target:
    """Sites that are there already."""
    return Target(title=", ".join(urls), crawl_arguments=urls)


@contextmanager
def simulated(
    folder: Path, *, seed: int, hosts: int, pages: int, delay_s: float
) -> Iterator[SimTarget]:
    """A simulated web until the block ends."""
    log, manifest, seeds = (folder / n for n in ("access.jsonl", "manifest.jsonl", "seeds.txt"))
    files = ("--log", str(log), "--manifest", str(manifest), "--seeds", str(seeds))
    size = ("--seed", str(seed), "--hosts", str(hosts), "--pages", str(pages))
    latency = ("--latency-ms", f"{delay_s * _LATENCY * 1000:g}")
    jitter = ("--jitter-ms", f"{delay_s * _JITTER * 1000:g}")
    process = subprocess.Popen(  # noqa: S603  (our own command)
        [SKITTER, "sim", "--json", *files, *size, *latency, *jitter, *_WEB],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        line = process.stdout.readline() if process.stdout else ""
        if not line:
            message = "the simulated web did not start"
            raise BackendError(message)
        where = msgspec.json.decode(line, type=_Announcement)
        yield SimTarget(
            title=f"a simulated web of {hosts} hosts with {pages} pages each",
            crawl_arguments=(f"@{seeds}", "--resolve", where.resolve),
            log_path=log,
            manifest_path=manifest,
            process=process,
        )
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    if process.returncode is None:
        process.terminate()
        process.communicate()
