"""What `make crawl` does: crawls the URL, or else a simulated web that it starts and stops."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SKITTER = str(Path(sys.executable).with_name("skitter"))
RESULTS = Path("skitter-data/results")

#: Twenty sites with some of everything that goes wrong on the web.
SIM = [
    *(SKITTER, "sim", "--json", "--port", "0", "--hosts", "20", "--pages", "50"),
    *("--gone-rate", "0.02", "--flaky-rate", "0.02", "--redirect-rate", "0.05"),
]


def main() -> int:
    """Exit code of the crawl."""
    # Ctrl+C is for the crawl, which saves and ends; we only wait for it.
    signal.signal(signal.SIGINT, lambda *_: None)
    if sys.argv[1:]:
        return crawl(sys.argv[1:], name="crawl")
    with simulated_web() as web:
        print(f"Simulated web: {len(web['seeds'])} sites on port {web['port']}.", flush=True)
        flags = ["--resolve", web["resolve"], "--delay", "0.1"]
        return crawl(["-", *flags], name="demo", stdin="\n".join(web["seeds"]))


def crawl(arguments: list[str], *, name: str, stdin: str | None = None) -> int:
    """Run the crawl in the foreground; it says itself where its results are."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    files = [RESULTS / f"{name}.jsonl", RESULTS / f"{name}.csv"]
    outputs = [word for file in files for word in ("-o", str(file))]
    with subprocess.Popen(
        [SKITTER, "crawl", *arguments, *outputs],
        stdin=subprocess.PIPE if stdin is not None else None,
        text=True,
    ) as process:
        process.communicate(stdin)
    return process.returncode


@contextmanager
def simulated_web() -> Iterator[dict[str, Any]]:
    """Where it is. It has a session of its own, so that Ctrl+C does not reach it first."""
    with subprocess.Popen(SIM, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            first_line = process.stdout.readline() if process.stdout else b""
            if not first_line:
                sys.exit("The simulated web did not start.")
            yield json.loads(first_line)
        finally:
            process.terminate()


if __name__ == "__main__":
    sys.exit(main())
