"""What every test may ask for: `needs`, so that a missing server is a reason and not a riddle."""

import os
import shutil
from pathlib import Path

import pytest


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
