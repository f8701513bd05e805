"""A name that changes its mind between check and connect leads nowhere."""

import asyncio
import json
import socket
from pathlib import Path

import pytest
from support.crawls import run_crawl
from support.doors import ANYWHERE, networks
from support.fetching import ALLOWED, FORBIDDEN, SITE
from support.nameserver import name_server
from support.origin import Asked, Origin, origin, page, reply

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("allowed", [False, True])
def test_a_name_that_turns_while_it_is_crawled(tmp_path: Path, allowed: bool) -> None:
    with (
        name_server({"site.test": [SITE], "turns.test": [SITE]}) as names,
        origin({}, SITE) as server,
        Origin({"/2": page()}, FORBIDDEN, listener=_same_port(server)) as door,
    ):

        async def turn(_asked: Asked, writer: asyncio.StreamWriter) -> None:
            names.zone["turns.test"] = [FORBIDDEN]
            # Closed, or the next request would go to where this connection leads.
            writer.write(reply('<a href="/2">', Connection="close"))
            writer.close()

        server.routes["site.test/"] = page(f"http://turns.test:{server.port}/")
        server.routes["turns.test/"] = turn
        env = networks(ALLOWED, *([f"{FORBIDDEN}/32"] if allowed else []))
        env["SKITTER_DNS__SERVERS"] = json.dumps([names.place])
        # Longer than an answer is kept at least.
        arguments = (*ANYWHERE, "--delay", "1.5")
        done = run_crawl(tmp_path, f"http://site.test:{server.port}/", *arguments, env=env)
        assert done.code == 0, done.err
        assert door.paths() == (["/2"] if allowed else [])
    assert names.asked["turns.test"] >= 2
    assert done.summary["dropped"] == ({} if allowed else {"forbidden_address": 1})


def _same_port(server: Origin) -> socket.socket:
    return socket.create_server((FORBIDDEN, server.port))
