"""Runs the command line with a wall clock for each process: `python -m skitter.chaos.drifting …`.

libfaketime looks at a file that the environment names. Children of a crawl are forks and would all
look at the same one, so each process names its own after itself.
"""

import os
import runpy
import sys

from skitter.chaos.wallclock import FILE_VARIABLE, clock_file

__all__: list[str] = []


def _name_own_file() -> None:
    os.environ[FILE_VARIABLE] = str(clock_file(_folder, os.getpid()))


if __name__ == "__main__":
    _folder, _command = sys.argv[1:3]
    sys.argv[:] = sys.argv[2:]
    _name_own_file()
    os.register_at_fork(after_in_child=_name_own_file)
    runpy.run_path(_command, run_name="__main__")
