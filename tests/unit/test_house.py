"""The house keeps its shape: who may import whom, file sizes, `__all__`, the error tree."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import skitter
from skitter import errors

ROOT = Path(skitter.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

GROUND = {"errors", "models", "clock", "log"}
#: Our own layers over the standard library's database and sockets.
DATABASE = {"sql", "sqlite"}
PURE = {"urls", "politeness", "extract", "config"}
FAMILIES = {"frontier", "fetch", "bus", "store", "catalog", "cluster"}
BELOW_ENGINE = GROUND | PURE | FAMILIES | {"rpc"}

#: Part -> the parts it may import, itself always included.
ALLOWED = {
    **dict.fromkeys(GROUND, GROUND),
    **dict.fromkeys(PURE, GROUND | PURE),
    **dict.fromkeys(DATABASE, GROUND | DATABASE),
    "rpc": GROUND,
    **dict.fromkeys(FAMILIES, GROUND | PURE | DATABASE | {"rpc"}),
    "sim": GROUND | PURE,
    "bench": GROUND | PURE | {"sim", "frontier"},
    "chaos": GROUND | PURE | {"sim", "rpc", "frontier", "catalog", "engine"},
    "outputs": GROUND | PURE | {"catalog", "store"},
    "engine": BELOW_ENGINE,
    "control": BELOW_ENGINE,
    "observe": BELOW_ENGINE | {"engine", "control"},
    "sdk": BELOW_ENGINE | {"engine", "control"},
    "contrib": BELOW_ENGINE | {"engine", "control", "sdk"},
    "api": BELOW_ENGINE | {"engine", "control", "observe", "sdk"},
}
ALLOWED["wiring"] = set(ALLOWED)
ALLOWED["cli"] = set(ALLOWED)
ALLOWED["__main__"] = {"cli"}

#: These see a family through its `base` and its pure modules, never through an adapter.
WITHOUT_ADAPTERS = {"engine", "control", "api"}
ADAPTERS = {
    *("amqp", "browser", "curl", "kafka", "local", "objects", "postgres"),
    *("pycares", "redis", "remote", "sqlite", "zookeeper"),
}

#: Driver -> the only modules or packages that may import it.
DRIVERS = {
    "crawlee": {"crawlee"},
    "matplotlib": {"plot"},
    "pyarrow": {"parquet"},
    "pycares": {"pycares"},
    "pycurl": {"fetch", "bench"},
    "rich": {"cli"},
    "scrapy": {"scrapy"},
}

MAX_LINES = 400


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def imports_of(path: Path) -> Iterator[str]:
    """Every module imported anywhere in the file, functions and type checks included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def every_module() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", MODULES, ids=name_of)


@every_module()
def test_imports_point_down(path: Path) -> None:
    part = part_of(name_of(path))
    if not part:
        pytest.skip("the package's own names")
    assert part in ALLOWED, f"{part}: say in this test what it may import"
    used = {part_of(name) for name in imports_of(path) if name.startswith("skitter.")}
    assert used - {part, "", "__version__"} <= ALLOWED[part]


@every_module()
def test_no_adapter_where_only_a_border_belongs(path: Path) -> None:
    if part_of(name_of(path)) not in WITHOUT_ADAPTERS:
        return
    for name in imports_of(path):
        words = name.split(".")
        if words[0] == "skitter" and part_of(name) in FAMILIES:
            assert not ADAPTERS.intersection(words[2:]), f"imports the adapter {name}"


@every_module()
def test_a_driver_is_imported_only_at_its_home(path: Path) -> None:
    words = set(name_of(path).split("."))
    for name in imports_of(path):
        homes = DRIVERS.get(name.split(".")[0])
        assert homes is None or homes & words, f"imports {name}"


@every_module()
def test_no_file_is_too_long(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_LINES


@every_module()
def test_all_names_exist_and_are_declared(path: Path) -> None:
    if not path.read_text().strip():
        return
    module = importlib.import_module(name_of(path))
    assert hasattr(module, "__all__"), "declare what is public"
    assert len(set(module.__all__)) == len(module.__all__)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_error_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    drawn = []
    for line in (errors.__doc__ or "").splitlines():
        words = line.replace("├──", "│  ").replace("└──", "   ").replace("│", " ").split()
        if words and words[0].endswith("Error") and ("──" in line or line.startswith("Skitter")):
            depth = (len(line) - len(line.lstrip("├└│─ "))) // 4
            drawn.append((depth, words[0]))
    classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    assert sorted(drawn) == sorted((len(kind.__mro__) - 4, kind.__name__) for kind in classes)


def test_exit_codes_in_the_docstring_are_those_of_the_classes() -> None:
    for line in (errors.__doc__ or "").splitlines():
        if "(exit " in line:
            name = line.lstrip("├└│─ ").split()[0]
            stated = int(line.rpartition("(exit ")[2].rstrip(")"))
            assert getattr(errors, name).exit_code == stated
