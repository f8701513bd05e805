"""Patterns of users: checked before anything is fetched, and linear whatever they meet."""

from pathlib import Path

import pytest
from support.crawls import run_crawl
from support.doors import networks
from support.fetching import SITE
from support.origin import origin, page

pytestmark = pytest.mark.e2e

#: Each needs ages on an engine that tries every way to match; with the URL's path that does it.
EVIL = {
    r"^[^?]*(a+)+$": "a" * 60 + "!",
    r"(a|aa)+$": "a" * 100 + "!",
    r"(.*a){30}b": "a" * 120,
    r"([a-z]+)*\d$": "a" * 200,
    r"(x+x+)+y": "x" * 200,
}


@pytest.mark.parametrize("pattern", EVIL)
def test_no_pattern_can_be_made_to_hang(tmp_path: Path, pattern: str) -> None:
    with origin({"/": page("/" + EVIL[pattern], "/b")}, SITE) as server:
        arguments = ("--deny", pattern, "--delay", "0", "--workers", "1", "--json")
        done = run_crawl(tmp_path, f"{server.url}/", *arguments, env=networks())
        assert done.code == 0, done.err
    # None of them matches, so both links are in.
    assert done.summary["pages"] == 3


@pytest.mark.parametrize("flag", ["--allow", "--deny"])
@pytest.mark.parametrize(
    "pattern",
    [
        r"(a)\1",  # what RE2 leaves out, because it cannot be linear
        r"a(?=b)",
        r"(?<!a)b",
        r"(?>a+)b",
        r"a{100000}",  # what would take too much memory
        r"((((a{100}){100}){100}){100})",
        r"(?:(?:(?:(?:x{900}){900})))",
        "(" * 1500 + "a" + ")" * 1500,
        "x" * 2001,
        "[",
        "*",
    ],
)
def test_what_cannot_be_linear_or_small_is_refused(tmp_path: Path, flag: str, pattern: str) -> None:
    with origin({"/": page()}, SITE) as server:
        done = run_crawl(tmp_path, f"{server.url}/", flag, pattern, env=networks())
        assert server.asked == []
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith(f"skitter: error: {flag}")
    assert not (tmp_path / "skitter-data").exists()
