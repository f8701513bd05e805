"""Markdown as the tests see it: code blocks, the commands in them, links and headings."""

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

PROJECT = Path(__file__).parents[3]
DOCUMENTS = [*sorted(PROJECT.glob("*.md")), *sorted((PROJECT / "docs").rglob("*.md"))]

#: Matches anything within a line of expected output; alone on a line, any number of lines.
ANYTHING = "…"

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!`)!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_CODE = re.compile(r"`([^`\n]+)`")


class Command(Struct, frozen=True, kw_only=True):
    """A command of a page and what it is said to print; no output: anything."""

    text: str
    output: tuple[str, ...] = ()


def name_of(path: Path) -> str:
    return str(path.relative_to(PROJECT))


def prose(path: Path) -> str:
    """The page without its code blocks."""
    return _FENCE.sub("", path.read_text())


def blocks(path: Path, *languages: str) -> list[str]:
    """The content of the page's code blocks in any of these languages."""
    return [
        content for language, content in _FENCE.findall(path.read_text()) if language in languages
    ]


def commands(path: Path) -> list[Command]:
    """In order: `$ …` with its output in console blocks, every line of bash blocks."""
    found: list[Command] = []
    for language, content in _FENCE.findall(path.read_text()):
        if language == "console":
            found += _session(content)
        elif language == "bash":
            lines = (line.partition("#")[0].strip() for line in content.splitlines())
            found += [Command(text=line) for line in lines if line]
    return found


def links(path: Path) -> list[str]:
    """Where the page leads within the project."""
    targets = _LINK.findall(prose(path))
    return [target for target in targets if not target.startswith(("http://", "https://"))]


def anchors(path: Path) -> set[str]:
    """The page's headings as links name them."""
    headings = _HEADING.findall(prose(path))
    return {re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") for text in headings}


def code_words(path: Path) -> Iterator[str]:
    """What stands in backticks outside of code blocks."""
    yield from _CODE.findall(prose(path))


def _session(content: str) -> list[Command]:
    found: list[Command] = []
    for part in re.split(r"^\$ ", content, flags=re.MULTILINE)[1:]:
        text, *output = part.splitlines()
        found.append(Command(text=text, output=tuple(output)))
    return found


def says(expected: tuple[str, ...], printed: str) -> bool:
    """Whether a command printed what the page shows."""
    lines = [r"(?:.*\n)*" if line == ANYTHING else _pattern(line) + r"\n" for line in expected]
    return not expected or re.fullmatch("".join(lines), printed) is not None


def _pattern(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.split(ANYTHING))
