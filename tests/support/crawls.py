"""`skitter crawl` as a user runs it: the installed command in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

SKITTER = str(Path(sys.executable).with_name("skitter"))

#: Backends and settings of whoever runs the tests are not for the crawls under test.
_FOREIGN = ("SKITTER_", "AWS_", "REDIS_URL", "DATABASE_URL", "KAFKA_")

#: The ladder of failed tries, short enough for a test that is not about it.
QUICK_RETRIES = {"SKITTER_RETRY__DELAYS_S": "[0.05, 0.05, 0.05]"}
#: The same for robots.txt.
QUICK_ROBOTS = {"SKITTER_ROBOTS__RETRIES": "0"}
#: As fast as the other side can.
AT_FULL_SPEED = ("--delay", "0", "--concurrency", "16")

#: Between two looks at something that another process changes.
_LOOK_EVERY_S = 0.005


class Finished(Struct, frozen=True, kw_only=True):
    """What a run left on its exit."""

    code: int
    out: str
    err: str

    @property
    def summary(self) -> dict[str, Any]:
        """The one JSON object of `--json`."""
        (line,) = self.out.splitlines()
        parsed: dict[str, Any] = json.loads(line)
        return parsed


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, without what would configure a crawl."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return kept | {"SKITTER_FETCH__CONTACT": "tests@example.com"} | dict(extra or {})


def run_crawl(
    folder: Path,
    *arguments: str,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
) -> Finished:
    """Run `skitter crawl` in `folder` to its end."""
    process = start_crawl(folder, *arguments, stdin=stdin, env=env)
    return finish(process)


def start_crawl(
    folder: Path,
    *arguments: str,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Start `skitter crawl` in `folder`; whoever asked for it waits for it."""
    process = subprocess.Popen(
        [SKITTER, "crawl", *arguments],
        cwd=folder,
        env=environment(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    try:
        process.stdin.write(stdin)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it had no use for its input, and will say why
    process.stdin = None
    return process


def finish(process: subprocess.Popen[str]) -> Finished:
    """Wait for the end of a crawl."""
    out, err = process.communicate()
    return Finished(code=process.returncode, out=out, err=err)


def kill(process: subprocess.Popen[str]) -> bool:
    """`kill -9`; False: it had ended before."""
    running = process.poll() is None
    process.kill()
    finish(process)
    return running


def wait_until(process: subprocess.Popen[str], happened: Callable[[], bool]) -> bool:
    """Wait for something while the crawl runs; False: the crawl ended first."""
    while not happened():
        if wait_s(process, _LOOK_EVERY_S):
            return False
    return True


def wait_s(process: subprocess.Popen[str], seconds: float) -> bool:
    """Give the crawl some time; True: it ended within."""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
