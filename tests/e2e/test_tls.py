"""A site whose certificate nobody vouches for is recorded as such, not crawled."""

from pathlib import Path

import pytest
from support.certificates import certificate, server_context
from support.crawls import QUICK_RETRIES, run_crawl
from support.origin import Origin, page
from support.records import read_jsonl

pytestmark = [pytest.mark.e2e, pytest.mark.needs("openssl")]

ARGUMENTS = ("--delay", "0", "--robots", "ignore", "--workers", "1", "-o", "out.jsonl")


@pytest.mark.parametrize("trusted", [True, False])
def test_trust_decides(tmp_path: Path, trusted: bool) -> None:
    path = certificate(tmp_path, "IP:127.0.0.1")
    env = QUICK_RETRIES | ({"SKITTER_FETCH__CA_FILE": str(path)} if trusted else {})
    with Origin({"/": page()}, "127.0.0.1", tls=server_context(path)) as server:
        done = run_crawl(tmp_path, f"{server.url}/", *ARGUMENTS, env=env)
        assert done.code == 0, done.err
        assert server.paths() == (["/"] if trusted else [])
    (record,) = read_jsonl(tmp_path / "out.jsonl")
    assert record["outcome"] == ("done" if trusted else "failed")
    assert (record["error"] is None) == trusted
    assert trusted or record["error"].startswith("tls: ")
