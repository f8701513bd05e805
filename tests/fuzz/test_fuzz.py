"""Whatever the web sends, nothing breaks.

The everyday run repeats the same inputs. `pytest -m slow tests/fuzz` looks for new ones for ten
minutes (`SKITTER_FUZZ_S`). What it finds becomes a case of `tests/corpus`, or an `@example` of the
unit's own tests, before it is mended.
"""

import os
import time
from collections.abc import Callable

import pytest
from fuzz import checks, inputs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

#: All targets together.
BUDGET_S = float(os.environ.get("SKITTER_FUZZ_S") or 600)

TARGETS = {
    "robots": (checks.robots, inputs.ROBOTS),
    "sitemaps": (checks.sitemaps, inputs.SITEMAPS),
    "pages": (checks.pages, inputs.HTML),
    "urls": (checks.urls, inputs.URLS),
    "charsets": (checks.charsets, inputs.CHARSETS),
    "responses": (checks.responses, inputs.RESPONSES),
}
#: A fetch costs more than reading.
EXAMPLES = {"responses": 25}

Check = Callable[[bytes], None]
# libcurl works on a copy of the descriptor it is given; the original is closed when it is freed.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.mark.parametrize("name", TARGETS)
def test_any_input_is_survived(name: str) -> None:
    check, strategy = TARGETS[name]
    _fuzz(check, strategy, examples=EXAMPLES.get(name, 150), repeatable=True)


@pytest.mark.slow
@pytest.mark.timeout(BUDGET_S + 600)
@pytest.mark.parametrize("name", TARGETS)
def test_new_inputs_are_survived(name: str) -> None:
    check, strategy = TARGETS[name]
    until = time.monotonic() + BUDGET_S / len(TARGETS)
    while time.monotonic() < until:
        _fuzz(check, strategy, examples=EXAMPLES.get(name, 150) * 4, repeatable=False)


def _fuzz(
    check: Check, strategy: st.SearchStrategy[bytes], *, examples: int, repeatable: bool
) -> None:
    @settings(
        max_examples=examples,
        derandomize=repeatable,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def run(data: bytes) -> None:
        check(data)

    run()
