"""One suite, every backend."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skitter.frontier.health import Rules
from skitter.politeness.rates import Rate

from .stage import BACKENDS, Stage

#: No spacing, many at once: for tests that are not about manners.
FREE = Rate(window_s=0.0, concurrency=1_000_000)


@pytest.fixture(params=BACKENDS)
def make_stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Stage]]:
    opened: list[Stage] = []

    def make(rate: Rate | None = None, rules: Rules | None = None) -> Stage:
        stage = Stage(BACKENDS[request.param], tmp_path / f"stage-{len(opened)}", rate, rules)
        opened.append(stage)
        return stage

    yield make
    for stage in opened:
        stage.close()


@pytest.fixture
def polite(make_stage: Callable[..., Stage]) -> Stage:
    """One request a second, one connection: the default."""
    return make_stage(Rate())


@pytest.fixture
def free(make_stage: Callable[..., Stage]) -> Stage:
    return make_stage(FREE)
