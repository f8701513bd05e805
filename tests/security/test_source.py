"""What comes from outside is data: nothing in the source can make it run."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import skitter

SOURCE = sorted(Path(skitter.__file__).parent.rglob("*.py"))

#: Modules that run what they read, or follow what it refers to.
MODULES = frozenset(
    (
        *("pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"),
        *("xml.etree", "xml.dom", "xml.sax", "xmlrpc", "code", "codeop"),
    )
)
#: Calls by name: `eval(…)`, `yaml.load(…)`.
CALLS = frozenset(
    (
        *("eval", "exec", "compile", "__import__", "breakpoint"),
        *("yaml.load", "yaml.unsafe_load", "yaml.full_load", "os.system", "os.popen"),
        *("subprocess.getoutput", "subprocess.getstatusoutput", "tempfile.mktemp"),
    )
)
#: Options of libcurl that take its checks away when they are set.
OPTIONS = frozenset(("SSL_VERIFYPEER", "SSL_VERIFYHOST", "UNRESTRICTED_AUTH", "NETRC"))


def offences(text: str) -> Iterator[str]:
    """What a source does that none of ours may."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_module(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
            yield from filter(_is_module, names)
        elif isinstance(node, ast.Call):
            if ast.unparse(node.func) in CALLS:
                yield ast.unparse(node.func)
            yield from ("shell=True" for word in node.keywords if _is_shell(word))
        elif isinstance(node, ast.Attribute) and node.attr in OPTIONS:
            yield node.attr


def _is_module(name: str) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in MODULES)


def _is_shell(word: ast.keyword) -> bool:
    return word.arg == "shell" and ast.unparse(word.value) != "False"


@pytest.mark.parametrize("path", SOURCE, ids=lambda path: path.stem)
def test_nothing_executes_what_it_reads(path: Path) -> None:
    assert list(offences(path.read_text())) == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from xml.etree import ElementTree",
        "from xml import etree",
        "def f(x):\n    import marshal",
        "eval(x)",
        "yaml.load(x)",
        "subprocess.run(x, shell=True)",
        "curl.setopt(pycurl.SSL_VERIFYPEER, 0)",
    ],
)
def test_an_offence_would_be_found(text: str) -> None:
    assert list(offences(text)) != []
