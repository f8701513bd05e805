import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.config.settings import Settings
from skitter.engine.pulse import Pulse
from skitter.errors import UsageError

SECONDS = st.floats(0.001, 1e6)


@given(SECONDS, SECONDS)
def test_a_worker_lets_go_after_a_heartbeat_was_due_and_before_others_may_take_over(
    one: float, other: float
) -> None:
    heartbeat_s, timeout_s = sorted((one, one + other))
    pulse = Pulse(heartbeat_s=heartbeat_s, timeout_s=timeout_s)
    if heartbeat_s < timeout_s:
        assert pulse.checked() is pulse
        assert heartbeat_s <= pulse.max_silence_s <= timeout_s


@pytest.mark.parametrize(("heartbeat_s", "timeout_s"), [(5, 5), (6, 5), (0, 5), (-1, 5)])
def test_one_that_no_worker_can_keep_is_refused(heartbeat_s: float, timeout_s: float) -> None:
    with pytest.raises(UsageError, match="less than the time-out"):
        Pulse(heartbeat_s=heartbeat_s, timeout_s=timeout_s).checked()


def test_the_settings_make_one() -> None:
    assert Pulse.of(Settings()) == Pulse(heartbeat_s=10, timeout_s=30)
    assert Pulse.of(Settings()).max_silence_s == 20
