from pathlib import Path

import pytest

from skitter.config.catalogue import settings_by_name, value_of
from skitter.config.load import DEFAULT, load
from skitter.config.settings import Fetch, Settings
from skitter.errors import ConfigError
from skitter.frontier.rules import default_rate, rules


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "skitter.toml"


def complaint(folder: Path, **variables: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(folder=folder, environment=variables)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_nothing_set_gives_the_defaults(tmp_path: Path) -> None:
    loaded = load(folder=tmp_path, environment={})
    assert loaded.settings == Settings()
    assert set(loaded.sources.values()) == {DEFAULT}
    assert set(loaded.sources) == set(settings_by_name())
    assert loaded.path is None


def test_later_sources_win_and_are_named(file: Path) -> None:
    file.write_text("[fetch]\ntimeout_s = 1\nconnect_timeout_s = 1\n\n[limits]\nmax_depth = 1\n")
    loaded = load(
        folder=file.parent,
        environment={"SKITTER_FETCH__CONNECT_TIMEOUT_S": "2", "SKITTER_LIMITS__MAX_DEPTH": "2"},
        flags={"limits.max_depth": 3, "limits.max_redirects": None},
    )
    assert loaded.settings.fetch.timeout_s == 1
    assert loaded.settings.fetch.connect_timeout_s == 2
    assert loaded.settings.limits.max_depth == 3
    assert loaded.sources["fetch.timeout_s"] == "skitter.toml:2"
    assert loaded.sources["fetch.connect_timeout_s"] == "SKITTER_FETCH__CONNECT_TIMEOUT_S"
    assert loaded.sources["limits.max_depth"] == "flag"
    assert loaded.sources["limits.max_redirects"] == DEFAULT


def test_every_setting_can_be_set_from_the_environment(tmp_path: Path) -> None:
    defaults = Settings()
    for name, setting in settings_by_name().items():
        value = value_of(defaults, name)
        written = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        written = "null" if value is None else written
        loaded = load(folder=tmp_path, environment={setting.variable: written or " "})
        if value:
            assert value_of(loaded.settings, name) == value
            assert loaded.sources[name] == setting.variable


@pytest.mark.parametrize("text", ["1, 2.5", "[1, 2.5]"])
def test_lists_in_the_environment(tmp_path: Path, text: str) -> None:
    loaded = load(folder=tmp_path, environment={"SKITTER_RETRY__DELAYS_S": text})
    assert loaded.settings.retry.delays_s == (1.0, 2.5)


def test_an_empty_variable_is_unset(tmp_path: Path) -> None:
    loaded = load(folder=tmp_path, environment={"SKITTER_FETCH__TIMEOUT_S": ""})
    assert loaded.sources["fetch.timeout_s"] == DEFAULT


@pytest.mark.parametrize(
    "variable",
    ["SKITTER_PORT", "SKITTER_SERVICE_HOST", "SKITTER_API_PORT_80_TCP_ADDR", "SKITTER_DEBUG"],
)
def test_variables_of_kubernetes_and_our_own_are_no_settings(tmp_path: Path, variable: str) -> None:
    assert load(folder=tmp_path, environment={variable: "1"}).settings == Settings()


def test_the_file_may_be_named_by_variable_or_flag(tmp_path: Path) -> None:
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_text("fetch.timeout_s = 1")
    two.write_text("fetch.timeout_s = 2")
    variables = {"SKITTER_CONFIG": str(one)}
    assert load(folder=tmp_path, environment=variables).settings.fetch.timeout_s == 1
    loaded = load(two, folder=tmp_path, environment=variables)
    assert loaded.settings.fetch.timeout_s == 2
    assert loaded.sources["fetch.timeout_s"] == f"{two}:1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[fetch]\n\ntimout_s = 3", "skitter.toml:3: no such setting: fetch.timout_s; did you"),
        ("[fetch]\n\ntimout_s = 3", "; did you mean fetch.timeout_s?"),
        ("[fecth]\ntimeout_s = 3", "did you mean fetch.timeout_s?"),
        ("[fecth]", "skitter.toml:1: no such table: [fecth]; did you mean [fetch]?"),
        ("fetch = 3", "skitter.toml:1: fetch must be a table"),
        ("[fetch]\ntimeout_s = 'a'", "fetch.timeout_s: expected a number, got text ('a')"),
        ("[fetch]\ntimeout_s = true", "expected a number, got true or false"),
        ("[fetch]\ntimeout_s = -1", "expected a number > 0 (-1)"),
        ("[fetch]\ntimeout_s = nan", "expected"),
        ("[fetch]\ntimeout_s = inf", "expected a finite number"),
        ("[retry]\ndelays_s = [1, inf]", "expected a finite number"),
        ("[retry]\ndelays_s = [1, 'a']", "expected a number, got text in place 2"),
        ("[fetch]\ntimeout_s.x = 1", "expected a number, got a table"),
        ("[fetch]\nuser_agent = 'a\\nb'\nuser_agent = 1", "not valid TOML"),
        ('[fetch]\nuser_agent = "a\\r\\nX: y"', "expected text of printable ASCII"),
        ('[fetch]\ncontact = "a\\n"', "expected text of printable ASCII"),
        ("[politeness]\nrobots = 'no'", "expected one of obey, ignore ('no')"),
        ("[fetch", "not valid TOML"),
        ("[frontier]\nlease_s = 5", "skitter.toml:2: frontier.heartbeat_s must be less than"),
        ("[backoff]\nfirst_s = 90000", "backoff.first_s must not exceed backoff.max_s"),
        ("[security]\nallow_networks = ['10.0.0.1/8']", "10.0.0.1/8 has host bits set"),
        ("[dns]\nservers = ['ns.test']", "skitter.toml:2: dns.servers: 'ns.test' is not ADDRESS"),
        ("[fetch]\nca_file = 'no.pem'", "skitter.toml:2: fetch.ca_file: no such file"),
        (
            "[domains.'a.test']\ndelay_s = -1",
            'skitter.toml:1: [domains."a.test"]: expected a number',
        ),
        ("[domains.'a.test']\ndelay = 1", 'skitter.toml:1: [domains."a.test"]: '),
        ("[domains.'a.test']\ndelay_s = nan", '[domains."a.test"]: expected a'),
        ("[domains]\na = 1", 'skitter.toml:2: a domain is a table in a file: [domains."a"]'),
    ],
)
def test_a_mistake_in_the_file_is_one_line_with_its_place(
    file: Path, text: str, expected: str
) -> None:
    file.write_text(text)
    assert expected in complaint(file.parent)


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("SKITTER_FETCH_TIMEOUT_S", "1", "did you mean SKITTER_FETCH__TIMEOUT_S?"),
        ("SKITTER_FETCH__TIMOUT_S", "1", "did you mean SKITTER_FETCH__TIMEOUT_S?"),
        ("SKITTER_FETCH__HTTP2", "perhaps", "SKITTER_FETCH__HTTP2: fetch.http2: expected true or"),
        ("SKITTER_FETCH__CONCURRENCY", "1.5", "expected a whole number"),
        ("SKITTER_RETRY__DELAYS_S", "[1", "expected a number"),
        ("SKITTER_ZZZ", "1", "SKITTER_ZZZ: no such setting"),
        ("SKITTER_CONFIG", "/does/not/exist", "/does/not/exist: cannot read"),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(
    tmp_path: Path, variable: str, value: str, expected: str
) -> None:
    assert expected in complaint(tmp_path, **{variable: value})


def test_a_file_that_is_no_configuration(file: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    assert "not UTF-8" in complaint(file.parent)
    file.write_bytes(b"#" * (1024 * 1024 + 1))
    assert "larger than" in complaint(file.parent)


def test_an_empty_table_sets_nothing(file: Path) -> None:
    file.write_text("[fetch]\n")
    assert load(folder=file.parent, environment={}).settings == Settings()


def test_the_user_agent_names_product_and_contact() -> None:
    assert Fetch().user_agent.startswith("Skitter/")
    assert Fetch(contact="me@example.com").user_agent.endswith("; me@example.com)")
    assert Fetch(contact="me@example.com", user_agent="Other/1").user_agent == "Other/1"


def test_every_setting_is_described() -> None:
    assert [name for name, setting in settings_by_name().items() if not setting.description] == []


def test_domains_have_tables_of_their_own(file: Path) -> None:
    file.write_text(
        '[domains."a.test"]\nhits = 10\nwindow_s = 60\n[domains."b.test"]\nblocked = true'
    )
    loaded = load(folder=file.parent, environment={})
    assert loaded.settings.domains["a.test"].hits == 10
    made = rules(loaded.settings)
    assert made.rates["a.test"].interval_s == 6.0
    assert made.rates["b.test"] == default_rate(loaded.settings)
    assert made.barred == {"b.test"}


@pytest.mark.parametrize(
    ("domain", "own", "advice"),
    [
        ("www.a.test", "delay_s = 1", r"skitter\.toml:1: .* use a\.test$"),
        ("A.test", "delay_s = 1", r"use a\.test$"),
        ("a test", "delay_s = 1", "'a test' is not a domain"),
        ("a.test", "delay_s = 1\nhits = 2", "delay_s and hits .* choose one"),
        ("a.test", "window_s = 5", "go with hits"),
        ("a.test", "delay = 1", "no such setting: delay$"),
        ("a.test", "delay_s = -1", "expected a number >= 0 for delay_s"),
        ("a.test", "delay_s = 'x'", "expected a number, got text for delay_s"),
    ],
)
def test_a_table_of_a_domain_is_checked(file: Path, domain: str, own: str, advice: str) -> None:
    file.write_text(f'[domains."{domain}"]\n{own}')
    with pytest.raises(ConfigError, match=advice):
        load(folder=file.parent, environment={})


def test_a_window_of_a_domain_goes_with_the_hits_of_all(file: Path) -> None:
    file.write_text('[politeness]\nhits = 2\n[domains."a.test"]\nwindow_s = 5')
    loaded = load(folder=file.parent, environment={})
    assert rules(loaded.settings).rates["a.test"].interval_s == 2.5


def test_a_server_has_room_for_what_one_domain_may_have(tmp_path: Path) -> None:
    loaded = load(flags={"politeness.concurrency": 100}, folder=tmp_path, environment={})
    assert rules(loaded.settings).server_concurrency == 100
