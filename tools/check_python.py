"""Says what is missing before a virtual environment is made. Runs on any Python 3."""

import importlib.util
import sys

if sys.version_info < (3, 11):  # noqa: UP036  (an older Python is what this looks for)
    sys.exit(
        "Python 3.11 or newer is needed, this is {}.{}. "
        "Name another one: make PYTHON=python3.12 …".format(*sys.version_info[:2])
    )
if importlib.util.find_spec("ensurepip") is None:
    sys.exit(
        "This Python cannot make virtual environments (no ensurepip). "
        "On Debian and Ubuntu: apt install python3-venv"
    )
