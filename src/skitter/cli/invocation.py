"""What one call of `skitter` carries from its shared options to the command that runs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skitter.config.product import DEBUG_VARIABLE

if TYPE_CHECKING:
    # Reading settings costs a third of the start-up; `--help` must not pay for it.
    from skitter.config.load import Loaded

__all__ = ["Invocation"]

#: `-v` given this often -> the least level that is logged.
LEVELS = ("warning", "info", "debug")


@dataclass
class Invocation:
    """Filled by the shared options wherever they stand; commands get it by `click.pass_obj`."""

    config_path: Path | None = None
    verbosity: int = 0
    debug: bool = False

    @property
    def shows_traceback(self) -> bool:
        """Whether an internal error is shown in full."""
        return self.debug or os.environ.get(DEBUG_VARIABLE, "") not in {"", "0"}

    def load(self, flags: Mapping[str, object] | None = None) -> "Loaded":
        """The settings; `flags` are dotted names, None for a flag that was not given."""
        from skitter.config.load import load  # noqa: PLC0415  (see above)

        return load(self.config_path, flags)

    def start_logs(self) -> None:
        """Log to standard error from here on; call it before anything that logs."""
        from skitter.observe.logs import configure  # noqa: PLC0415  (as slow again)

        configure(level=LEVELS[min(self.verbosity, len(LEVELS) - 1)])
