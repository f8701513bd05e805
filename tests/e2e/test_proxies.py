"""Crawls behind proxies: everything goes through them, and nobody learns their passwords."""

import json
import subprocess
from pathlib import Path

import pytest
from support.crawls import QUICK_RETRIES, SKITTER, Finished, environment, run_crawl
from support.fetching import ALLOWED, FORBIDDEN, SITE
from support.origin import Reply, canary, origin, page, redirect, reply
from support.proxies import HttpProxy, SocksProxy, dead_port
from support.records import read_catalog

pytestmark = pytest.mark.e2e

ARGUMENTS = ("--delay", "0", "--workers", "1", "--json", "--data", "data")
QUICK = {"SKITTER_PROXY__REST_S": "0.05", "SKITTER_PROXY__MAX_REST_S": "0.05", **QUICK_RETRIES}
SITE_MAP = "<urlset><url><loc>{}/listed</loc></url></urlset>"


def site() -> dict[str, Reply]:
    return {
        "/": page("/a", "/moved"),
        "/a": page(),
        "/moved": redirect("/target"),
        "/target": page(),
        "/listed": page(),
    }


def files_with(folder: Path, secret: bytes) -> list[str]:
    return [
        path.name for path in folder.rglob("*") if path.is_file() if secret in path.read_bytes()
    ]


@pytest.mark.parametrize(("scheme", "workers"), [("http", "2"), ("socks5", "1"), ("socks5h", "1")])
def test_everything_goes_through_the_proxy(tmp_path: Path, scheme: str, workers: str) -> None:
    login = ("someone", "sesame-open")
    kind = HttpProxy if scheme == "http" else SocksProxy
    with kind(login=login) as proxy, origin(site(), SITE) as server:
        server.routes["/sitemap.xml"] = reply(SITE_MAP.format(server.url), kind="application/xml")
        url = f"{scheme}://someone:sesame-open@{proxy.place}"
        arguments = ("--proxy", url, "--sitemaps", "-o", "out.jsonl", "-v")
        done = run_crawl(tmp_path, f"{server.url}/", *ARGUMENTS, *arguments, "--workers", workers)
        assert done.code == 0, done.err
        assert len(proxy.targets) >= 1
        assert set(server.paths()) == {"/", "/a", "/moved", "/target", "/listed", "/sitemap.xml"}
        # Nobody came straight.
        assert server.callers == proxy.dialled
    assert (done.summary["pages"], done.summary["failed"]) == (5, 0)
    assert "sesame" not in done.out + done.err
    assert files_with(tmp_path, b"sesame") == []
    assert "127.0.0.1" not in json.dumps(read_catalog(tmp_path / "data"))


def test_without_a_proxy_that_works_nothing_is_fetched(tmp_path: Path) -> None:
    with dead_port() as port, origin(site(), SITE) as server:
        proxy = f"http://someone:sesame@127.0.0.1:{port}"
        done = run_crawl(tmp_path, f"{server.url}/", *ARGUMENTS, "--proxy", proxy, env=QUICK)
        assert done.code == 0, done.err
        assert server.asked == []
    assert (done.summary["pages"], done.summary["failed"]) == (0, 1)
    (record,) = read_catalog(tmp_path / "data")
    assert record["error"].startswith("connect: no proxy is reachable")
    assert files_with(tmp_path, b"sesame") == []


@pytest.mark.parametrize("broken", ["dead", "locked"])
def test_one_bad_proxy_of_two_costs_no_page(tmp_path: Path, broken: str) -> None:
    with (
        HttpProxy() as good,
        HttpProxy(login=("nobody", "knows")) as locked,
        dead_port() as port,
        origin({}, SITE) as server,
    ):
        server.routes["/"] = page(*(f"/{number}" for number in range(20)))
        server.routes.update({f"/{number}": page() for number in range(20)})
        bad = f"http://127.0.0.1:{port}" if broken == "dead" else f"http://{locked.place}"
        # Which of the two is the domain's first is up to its name: once it is the bad one.
        for job, order in (("one", (bad, good.url)), ("two", (good.url, bad))):
            proxies = [word for url in order for word in ("--proxy", url)]
            arguments = (*ARGUMENTS, *proxies, "--job", job)
            done = run_crawl(tmp_path, f"{server.url}/", *arguments, env=QUICK)
            assert (done.summary["pages"], done.summary["failed"]) == (21, 0)


def test_proxies_come_from_settings_and_files(tmp_path: Path) -> None:
    (tmp_path / "skitter.toml").write_text('[proxy]\nfile = "proxies.txt"\n')
    with SocksProxy() as proxy, HttpProxy() as other, origin(site(), SITE) as server:
        (tmp_path / "proxies.txt").write_text(f"# ours\n{proxy.url}\n")
        done = run_crawl(tmp_path, f"{server.url}/", *ARGUMENTS)
        assert done.summary["pages"] == 3
        assert proxy.targets
        before = len(proxy.targets)
        arguments = ("--job", "flag", "--proxy", other.url)
        assert run_crawl(tmp_path, f"{server.url}/", *ARGUMENTS, *arguments).code == 0
        assert (len(proxy.targets), bool(other.targets)) == (before, True)


def test_links_into_private_networks_are_not_named_to_a_proxy(tmp_path: Path) -> None:
    with canary(FORBIDDEN) as (port, touched), HttpProxy() as proxy, origin({}, SITE) as server:
        server.routes["/"] = page(
            f"http://{FORBIDDEN}:{port}/", f"https://{FORBIDDEN}:{port}/", f"http://{proxy.place}/"
        )
        env = {"SKITTER_SECURITY__ALLOW_NETWORKS": json.dumps([ALLOWED])}
        arguments = (*ARGUMENTS, "--scope", "any", "--proxy", proxy.url)
        done = run_crawl(tmp_path, f"{server.url}/", *arguments, env=env)
        assert not touched()
        assert set(proxy.targets) == {f"{SITE}:{server.port}"}
    assert done.summary["dropped"] == {"forbidden_address": 3}


def refused(tmp_path: Path, *arguments: str, **env: str) -> Finished:
    done = run_crawl(tmp_path, "http://127.0.0.1:1/", *ARGUMENTS, *arguments, env=env)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) == 1
    assert "sesame" not in done.err
    assert not (tmp_path / "data").exists()
    return done


def test_bad_proxies_are_one_line_that_shows_no_secret(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("http://a.test:1\nhttp://someone:sesame@b.test\n")
    assert (
        "--proxy: 'ftp://***@p.test:1'"
        in refused(tmp_path, "--proxy", "ftp://u:sesame@p.test:1").err
    )
    assert "list.txt, line 2: 'http://***@b.test'" in (
        refused(tmp_path, SKITTER_PROXY__FILE="list.txt").err
    )
    assert "cannot read none.txt" in refused(tmp_path, SKITTER_PROXY__FILE="none.txt").err
    assert "SKITTER_PROXY__URLS" in refused(tmp_path, SKITTER_PROXY__URLS="http://u:sesame@p").err
    assert "***@p:1" in refused(tmp_path, SKITTER_PROXY__URLS='[1, "http://u:sesame@p:1"]').err
    env = {"SKITTER_PROXY__RESOLVES_NAMES": "true"}
    assert "write socks5h" in refused(tmp_path, "--proxy", "socks5://p.test:1", **env).err
    (tmp_path / "skitter.toml").write_text('[proxy]\nurls = "http://u:ses/ame@p.test:1"\n')
    assert "ses/ame" not in refused(tmp_path).err


def test_config_show_and_dry_runs_show_no_secret(tmp_path: Path) -> None:
    env = {"SKITTER_PROXY__URLS": '["http://token-sesame@p.test:1", "socks5://u:ses@me@q.test:2"]'}
    for arguments in (("config", "show"), ("config", "show", "--json")):
        shown = subprocess.run(
            [SKITTER, *arguments],
            cwd=tmp_path,
            env=environment(env),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert "http://***@p.test:1" in shown
        assert "socks5://***@q.test:2" in shown
        assert "sesame" not in shown
        assert "ses@me" not in shown
    dry = ("http://127.0.0.1:1/", "--dry-run", "--proxy", "http://u:sesame@p.test:1")
    for more in ((), ("--json",)):
        done = run_crawl(tmp_path, *dry, *more)
        assert "http://p.test:1" in done.out
        assert "sesame" not in done.out + done.err
