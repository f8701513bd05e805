"""Where values come from: `skitter.toml` and the environment, read but not yet checked."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from skitter.config.catalogue import ENV_PREFIX
from skitter.config.product import CONFIG_VARIABLE, DEBUG_VARIABLE
from skitter.errors import ConfigError

__all__ = [
    "FILE_NAME",
    "Raw",
    "find_file",
    "from_environment",
    "from_file",
]

FILE_NAME = "skitter.toml"

#: A configuration is a page or two; more is a wrong file name.
MAX_FILE_BYTES = 1024 * 1024

#: What Kubernetes sets for a service named skitter or skitter-something; none of our business.
SERVICE_LINK = re.compile(
    r"^SKITTER(_\w+)?_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)\Z"
)

TABLE = re.compile(r"^\s*\[\s*([^\[\]]+?)\s*\]")
KEY = re.compile(r"""^\s*([\w."'\s-]+?)\s*=""")


class Raw(Struct, frozen=True, kw_only=True):
    """A value as found. `name` may not exist and `value` may be of any type."""

    name: str
    value: object
    #: Shown to the user: `skitter.toml:3`, a variable's name, "flag".
    source: str
    #: True: every value is text (environment), so "10" may be a number.
    is_text: bool = False


def find_file(path: Path | None, environment: Mapping[str, str], folder: Path) -> Path | None:
    """The file to read. None: nobody named one and the folder has none."""
    if path is None and environment.get(CONFIG_VARIABLE):
        path = Path(environment[CONFIG_VARIABLE])
    if path is not None:
        return path
    default = folder / FILE_NAME
    return default if default.is_file() else None


def from_file(path: Path) -> Iterator[Raw]:
    """Each key of each table; an empty table, or a value in its place, under its own name."""
    text = _read(path)
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        message = f"{path}: not valid TOML: {error}"
        raise ConfigError(message) from error
    label = path.name if path.name == FILE_NAME else str(path)
    lines = _lines(text)
    for section, table in tables.items():
        if not isinstance(table, dict) or not table:
            yield Raw(name=section, value=table, source=_place(label, lines.get(section)))
            continue
        for key, value in table.items():
            name = f"{section}.{key}"
            line = lines.get(name) or lines.get(section)
            yield Raw(name=name, value=value, source=_place(label, line))


def from_environment(environment: Mapping[str, str]) -> Iterator[Raw]:
    """Each `SKITTER_…` variable; an empty one counts as unset, as compose files leave them."""
    for variable in sorted(environment):
        value = environment[variable]
        if not variable.startswith(ENV_PREFIX) or not value:
            continue
        if variable in {CONFIG_VARIABLE, DEBUG_VARIABLE} or SERVICE_LINK.match(variable):
            continue
        name = variable.removeprefix(ENV_PREFIX).lower().replace("__", ".", 1)
        yield Raw(name=name, value=value, source=variable, is_text=True)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        message = f"{path}: cannot read the configuration: {error.strerror}"
        raise ConfigError(message) from error
    if len(data) > MAX_FILE_BYTES:
        message = f"{path}: larger than {MAX_FILE_BYTES} bytes; is this the right file?"
        raise ConfigError(message)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"{path}: not UTF-8 text"
        raise ConfigError(message) from error


def _lines(text: str) -> dict[str, int]:
    """Dotted name -> line. A guess by the look of lines; only error messages depend on it."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := TABLE.match(line):
            table = _bare(match[1])
            found.setdefault(table, number)
        elif match := KEY.match(line):
            key = _bare(match[1])
            found.setdefault(f"{table}.{key}" if table else key, number)
    return found


def _bare(key: str) -> str:
    return re.sub(r"""["'\s]""", "", key)


def _place(label: str, line: int | None) -> str:
    return f"{label}:{line}" if line else label
