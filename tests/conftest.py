"""What every test may ask for.

`needs`, so that a missing server is a reason and not a riddle; `alone`, for a proof about time
that other tests on the machine would spoil; and `support`, the modules that tests share.
"""

import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "alone: no other test runs at the same time")


@pytest.fixture(autouse=True)
def _company(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Tests share the machine, unless one is marked `alone`."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    alone = request.node.get_closest_marker("alone") is not None
    # The workers' base folders lie side by side; the lock is beside them.
    with (tmp_path_factory.getbasetemp().parent / "company.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    """`@pytest.mark.needs("nginx", package="nginx-light")`: programs, or paths with a slash."""
    for mark in item.iter_markers("needs"):
        missing = [thing for thing in mark.args if not _exists(thing)]
        if missing:
            package = mark.kwargs.get("package", " ".join(missing))
            _refuse(f"{', '.join(missing)} not found; apt install {package}")


def _exists(thing: str) -> bool:
    if "/" in thing:
        return Path(thing).exists()
    # Servers live in /usr/sbin, which is not on everybody's path.
    return shutil.which(thing, path=f"{os.environ.get('PATH', '')}:/usr/sbin") is not None


def _refuse(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
