"""The page about security: every threat has a test that exists, and every test its threat."""

import re
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "explain" / "security.md"
LATER = "comes with the API"


def rows() -> list[list[str]]:
    """The cells of every row of the table of threats."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    header, *found = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    assert header == ["threat", "what happens", "tested by"]
    return found


def files_of(cell: str) -> list[Path]:
    return [(PAGE.parent / link).resolve() for link in re.findall(r"\]\(([^)]+)\)", cell)]


def test_every_threat_has_a_test_that_exists() -> None:
    assert len(rows()) > 20
    for threat, behaviour, proof in rows():
        assert behaviour
        if proof == LATER:
            continue
        assert files_of(proof), f"{threat}: no test"
        for path in files_of(proof):
            assert path.is_relative_to(PROJECT / "tests"), path
            assert re.search(r"^(?:async )?def test_", path.read_text(), re.MULTILINE), path


def test_every_test_of_security_has_its_threat() -> None:
    named = {path for *_, proof in rows() for path in files_of(proof)}
    own = set(Path(__file__).parent.glob("test_*.py")) - {Path(__file__)}
    assert own <= named


def test_what_is_left_for_later_is_not_there_yet() -> None:
    assert any(proof == LATER for *_, proof in rows())
    assert not (PROJECT / "src" / "skitter" / "api").exists(), "name its tests in the table"
