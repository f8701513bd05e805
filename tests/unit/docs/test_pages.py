"""The pages agree with the project: links, tests, flags, settings, dependencies, reference."""

import re
import tomllib
from pathlib import Path

import pytest

from skitter.cli.main import main
from skitter.cli.record_page import record_page
from skitter.cli.reference import NOTICE, pages
from skitter.cli.tree import walk
from skitter.config.catalogue import sections

from .documents import DOCUMENTS, PROJECT, anchors, blocks, code_words, links, name_of

DEPENDENCIES = PROJECT / "docs" / "explain" / "dependencies.md"
DECISIONS = PROJECT / "docs" / "explain" / "decisions"
REFERENCE = PROJECT / "docs" / "reference"

every_page = pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert target.is_relative_to(PROJECT), link
        assert not anchor or anchor in anchors(target), link


@every_page
def test_files_that_are_named_exist(page: Path) -> None:
    for word in code_words(page):
        if re.fullmatch(r"(?:src|tests|docs|tools|bench)/[\w./-]+", word):
            assert (PROJECT / word).exists(), word


@every_page
def test_flags_that_are_named_exist(page: Path) -> None:
    known = {
        flag for command in walk(main) for row in command.options for flag in _flags(row.names)
    }
    known |= {"--help"}
    for text in (*code_words(page), *blocks(page, "console")):
        assert set(_flags(text)) <= known, text


@every_page
def test_settings_that_are_named_exist(page: Path) -> None:
    names = {setting.name for section in sections() for setting in section.settings}
    tables = {section.name for section in sections()}
    for word in code_words(page):
        table, _, key = word.partition(".")
        if (
            table in tables
            and key not in {"py", "sqlite", "md"}
            and re.fullmatch(r"[a-z_0-9]+", key)
        ):
            assert word in names, word


def test_every_page_can_be_found() -> None:
    found = {PROJECT / "README.md"}
    waiting = list(found)
    while waiting:
        page = waiting.pop()
        targets = {(page.parent / link.partition("#")[0]).resolve() for link in links(page)}
        new = {target for target in targets if target.suffix == ".md"} - found
        found |= new
        waiting += new
    assert set(DOCUMENTS) <= found


def test_every_dependency_has_its_row_and_every_row_its_dependency() -> None:
    stated = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    project = stated["project"]
    lines = [*stated["build-system"]["requires"], *project["dependencies"]]
    lines += [line for extra in project["optional-dependencies"].values() for line in extra]
    names = {re.split(r"[<>=~!\[ ]", line)[0] for line in lines}
    rows = re.findall(r"^\| `([\w.-]+)` \|(.+)\|$", DEPENDENCIES.read_text(), re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(names)
    for name, cells in rows:
        assert len([cell for cell in cells.split("|") if cell.strip()]) == 3, name


def test_every_decision_is_listed() -> None:
    listed = set(links(DECISIONS / "README.md"))
    assert listed == {path.name for path in DECISIONS.glob("*.md")} - {"README.md"}


def test_the_reference_of_records_is_fresh() -> None:
    assert pages(main)["records.md"] == record_page(NOTICE)
    assert (REFERENCE / "records.md").read_text() == record_page(NOTICE), "run `make docs`"


def _flags(text: str) -> list[str]:
    return re.findall(r"(?<![\w-])--[a-z][\w-]*", text)
