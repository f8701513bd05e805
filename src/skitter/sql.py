"""Statements kept in `.sql` files, each under `-- name: …` with a sentence on what it does."""

import re
from importlib.resources import files

__all__ = ["read_schema", "read_statements"]

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def read_schema(package: str, name: str = "schema.sql") -> str:
    """The text of a schema file beside the code of `package`."""
    return files(package).joinpath(name).read_text("utf-8")


def read_statements(package: str, name: str = "statements.sql") -> dict[str, str]:
    """Statement name -> its SQL, comments removed."""
    parts = _NAME.split(read_schema(package, name))[1:]
    return {
        name: "\n".join(line for line in body.splitlines() if not line.startswith("--")).strip()
        for name, body in zip(parts[::2], parts[1::2], strict=True)
    }
