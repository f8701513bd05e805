"""Hosts that misbehave to order."""

import pytest

from skitter.errors import UsageError
from skitter.sim.options import SICKNESSES, SimOptions
from skitter.sim.sickness import Infirmary, Sickness

HOSTS = ["a.test", "b.test", "c.test"]


def statuses(infirmary: Infirmary, host: str, times: int = 1) -> list[int | None]:
    replies = [infirmary.reply(host, "/x") for _ in range(times)]
    return [None if reply is None else reply.status for reply in replies]


def test_the_last_hosts_are_sick_in_turn() -> None:
    infirmary = Infirmary(HOSTS, SimOptions(sick_hosts=2, sickness="error,limit"))
    assert [statuses(infirmary, host) for host in HOSTS] == [[None], [500], [429]]


def test_a_host_gets_well_again() -> None:
    infirmary = Infirmary(HOSTS, SimOptions(sick_hosts=1, sick_requests=2))
    assert statuses(infirmary, "c.test", 3) == [500, 500, None]


def test_robots_txt_is_always_well() -> None:
    infirmary = Infirmary(HOSTS, SimOptions(sick_hosts=1, sickness="mute"))
    assert infirmary.reply("c.test", "/robots.txt") is None


def test_all_names_are_known_and_others_refused() -> None:
    assert set(SICKNESSES) == {kind.value for kind in Sickness}
    with pytest.raises(UsageError, match="sickness must be any of"):
        SimOptions(sickness="error,flu")
