from pathlib import Path
from urllib.request import urlopen

import pytest

from skitter.bench import sites
from skitter.bench.crawlers.floor import Floor
from skitter.bench.simulated import AddressedWeb, documentation
from skitter.bench.sites import jdk_site, sim_site
from skitter.errors import UsageError


def test_the_built_in_site_needs_no_resolver() -> None:
    web = AddressedWeb(documentation(10), port=4321)
    page = web.page("127.0.0.1", "/")
    assert page.status == 200
    assert b'href="/' in page.body
    assert b"site0001.test" not in page.body


def test_the_floor_gets_every_page_of_the_built_in_site() -> None:
    with sim_site(50) as site:
        floor = Floor(site.url, 4)
        floor.run()
    assert floor.pages == 50


def test_without_the_jdk_the_install_command_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sites, "JDK_FOLDER", tmp_path / "none")
    with (
        pytest.raises(UsageError, match="apt install nginx-light openjdk-17-doc"),
        jdk_site(tmp_path),
    ):
        pass


@pytest.mark.needs("nginx", str(sites.JDK_FOLDER), package="nginx-light openjdk-17-doc")
def test_nginx_serves_the_jdk(tmp_path: Path) -> None:
    with jdk_site(tmp_path) as site, urlopen(site.url) as answer:
        assert b"Java" in answer.read()
