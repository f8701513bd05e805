"""The commands of the pages are run as a reader would, and print what the pages say.

A page that starts a simulated web gets it, on a free port in place of the 8080 it names. On all
other pages https://example.com is such a web: its name is replaced in commands, and put back in
what they print.
"""

import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from support.crawls import SKITTER, environment
from support.simulation import simulated_web

from .documents import DOCUMENTS, PROJECT, Command, commands, name_of, says

#: Run by people, with effects beyond a folder; that they exist is checked instead.
NOT_RUN = ("make", "pip", "python3", ".")

SMALL_SITE = ("--hosts", "1", "--pages", "12")
#: Pages that set no delay are about something else.
QUICK = {"SKITTER_POLITENESS__DELAY_S": "0.01", "SKITTER_RETRY__DELAYS_S": "[0.05, 0.05, 0.05]"}

PAGES = [
    path for path in DOCUMENTS if any(c.text.split()[0] not in NOT_RUN for c in commands(path))
]


class Reader:
    """Types the commands of one page, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._typed: list[tuple[str, str]] = []
        self._shown: list[tuple[str, str]] = []
        self._environment = environment(QUICK)
        self._environment["PATH"] = f"{Path(SKITTER).parent}:{self._environment['PATH']}"

    def visit(self, origin: str, resolve: str) -> None:
        """Take the site at `origin` for https://example.com."""
        self._typed += [
            (r"(?:https://)?(?<![@.\w])example\.com", origin),
            (r"\bskitter crawl", f"skitter crawl --resolve '{resolve}'"),
        ]
        host = origin.removeprefix("http://")
        self._shown += [
            (re.escape(origin), "https://example.com"),
            (re.escape(host.partition(":")[0]), "example.com"),
        ]

    def listen(self, port: str) -> None:
        """Take this port for 8080."""
        self._typed.append((r"\b8080\b", port))
        self._shown.append((rf"\b{port}\b", "8080"))

    def type(self, text: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            ["bash", "-c", _replaced(text, self._typed)],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def read(self, printed: str) -> str:
        """What was printed, with the names of the page."""
        return _replaced(printed, self._shown)

    @contextmanager
    def serve(self, command: Command) -> Iterator[None]:
        """Run `skitter sim` until the block ends; it must announce itself as the page says."""
        text = command.text.replace("--port 8080", "--port 0")
        with subprocess.Popen(
            ["bash", "-c", f"exec {text}"],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            try:
                lines = [process.stdout.readline() for _ in range(2)]
                found = re.search(r"127\.0\.0\.1:(\d+)", lines[0])
                assert found, lines
                self.listen(found[1])
                assert says(command.output, self.read("".join(lines)))
                yield
            finally:
                process.terminate()


@pytest.mark.e2e
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_do_what_the_page_says(page: Path, tmp_path: Path) -> None:
    typed = [command for command in commands(page) if command.text.split()[0] not in NOT_RUN]
    folder = tmp_path / "reader"
    folder.mkdir()
    reader = Reader(folder)
    with ExitStack() as stack:
        if not any(_serves(command) for command in typed):
            sim = stack.enter_context(simulated_web(tmp_path, *SMALL_SITE))
            reader.visit(sim.seeds[0].rstrip("/"), sim.resolve)
        for command in typed:
            if _serves(command):
                stack.enter_context(reader.serve(command))
                continue
            done = reader.type(command.text)
            printed = reader.read(done.stdout)
            assert done.returncode == 0, f"{command.text}\n{printed}"
            assert says(command.output, printed), f"{command.text}\n{printed}"


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_what_can_be_made_is_in_the_makefile(page: Path) -> None:
    makefile = (PROJECT / "Makefile").read_text()
    for command in commands(page):
        words = command.text.split()
        if words[0] == "make":
            assert f"\n{words[1]}:" in makefile


@pytest.mark.parametrize(
    ("expected", "printed", "result"),
    [
        ((), "anything\n", True),
        (("a … c",), "a b c\n", True),
        (("a … c",), "a b d\n", False),
        (("a", "…"), "a\n", True),
        (("a", "…", "z"), "a\nb\nc\nz\n", True),
        (("a",), "a\nb\n", False),
    ],
)
def test_output_is_compared_line_by_line(
    expected: tuple[str, ...], printed: str, result: bool
) -> None:
    assert says(expected, printed) is result


def _serves(command: Command) -> bool:
    return command.text.startswith("skitter sim") and "--no-serve" not in command.text


def _replaced(text: str, pairs: list[tuple[str, str]]) -> str:
    for pattern, replacement in pairs:
        text = re.sub(pattern, replacement, text)
    return text
