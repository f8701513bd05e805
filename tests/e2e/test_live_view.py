"""What somebody at a terminal sees."""

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
from support.crawls import SKITTER, environment, run_crawl
from support.origin import origin, page
from support.simulation import simulated_web

pytestmark = pytest.mark.e2e

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_a_terminal(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output, and what the terminal on standard error received."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [SKITTER, "crawl", *arguments],
        cwd=folder,
        env=environment({"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    shown = []
    try:
        while chunk := os.read(ours, 65536):
            shown.append(chunk)
    except OSError:
        pass  # how Linux says that the other side of a terminal is gone
    os.close(ours)
    out, _ = process.communicate()
    return process.returncode, out, b"".join(shown).decode()


def test_a_terminal_gets_a_panel_that_repaints_itself(tmp_path: Path) -> None:
    with simulated_web(tmp_path, "--hosts", "1", "--pages", "60", "--latency-ms", "25") as sim:
        (seed,) = sim.seeds
        code, out, shown = on_a_terminal(
            tmp_path, seed, "--resolve", sim.resolve, "--delay", "0", "--job", "my-job"
        )
    assert code == 0, shown
    assert "60 pages" in out
    assert "\x1b[1A" in shown or "\x1b[2K" in shown, "nothing was repainted"
    text = ESCAPES.sub("", shown)
    for word in ("my-job", "pages/s", "queued", "in flight", "failed", "known", "site0001.test"):
        assert word in text
    assert "limited by politeness: 1 at a time for site0001.test" in text


def test_no_terminal_gets_plain_lines_and_a_summary(tmp_path: Path) -> None:
    with origin({"/": page("/a")}) as server:
        done = run_crawl(tmp_path, server.url, "--delay", "0", "-o", "out.jsonl")
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert done.out.startswith("2 pages, ")
    assert "0 failed (100.0% success)" in done.out
    assert "out.jsonl" in done.out
    assert "skitter-data" in done.out
