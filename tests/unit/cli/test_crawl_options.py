"""From flags to options: what is shown again of what was typed."""

import sys

import pytest

from skitter.cli.crawl_options import _command


@pytest.mark.parametrize("glue", [" ", "="])
def test_the_command_to_go_on_with_has_no_passwords(
    monkeypatch: pytest.MonkeyPatch, glue: str
) -> None:
    proxies = ("http://me:sesame@p.test:1", "socks5://q.test:2")
    words = [word for url in proxies for word in f"--proxy{glue}{url}".split()]
    monkeypatch.setattr(sys, "argv", ["skitter", "crawl", "http://a.test/", *words])
    command = _command(proxies)
    assert "sesame" not in command
    assert command.startswith("skitter crawl http://a.test/ ")
    assert "***@p.test:1" in command
    assert "socks5://q.test:2" in command
