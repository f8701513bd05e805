"""The page about the library: its signatures are those of the code, its examples work."""

import doctest
import importlib
import inspect
import re

import pytest

from .documents import PROJECT

PAGE = PROJECT / "docs" / "reference" / "library.md"
SIGNATURES = re.findall(r"^### `([\w.]+)(\(.*)`$", PAGE.read_text(), re.MULTILINE)

#: What other programs may build on; each must be on the page.
PUBLIC = {
    *("skitter.extract.charset", "skitter.extract.content", "skitter.extract.html"),
    *("skitter.extract.links", "skitter.extract.sitemap", "skitter.politeness.robots"),
    *("skitter.urls.fingerprint", "skitter.urls.normalize"),
}


def look_up(name: str) -> object:
    """The function or method of a dotted name."""
    module, _, rest = name.rpartition(".")
    try:
        found: object = importlib.import_module(module)
    except ModuleNotFoundError:
        module, _, kind = module.rpartition(".")
        found = getattr(importlib.import_module(module), kind)
    return getattr(found, rest)


def written(thing: object) -> str:
    """The signature as a reader writes it: names of types without their modules."""
    assert callable(thing)
    text = str(inspect.signature(thing))
    text = re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])", "", text)
    return text.replace("tuple[str, str]", "Anchor").replace("'Decision'", "Decision")


@pytest.mark.parametrize(("name", "signature"), SIGNATURES, ids=[name for name, _ in SIGNATURES])
def test_signatures_are_those_of_the_code(name: str, signature: str) -> None:
    assert signature == written(look_up(name))


def test_every_public_part_is_on_the_page() -> None:
    described = {name for name, _ in SIGNATURES}
    assert {
        part for part in PUBLIC if not any(name.startswith(part) for name in described)
    } == set()


def test_its_examples_work() -> None:
    parser = doctest.DocTestParser()
    # The fences end what an example prints.
    text = PAGE.read_text().replace("```", "")
    example = parser.get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    assert len(example.examples) > 20
    runner = doctest.DocTestRunner(verbose=False)
    reports: list[str] = []
    runner.run(example, out=reports.append)
    assert runner.failures == 0, "".join(reports)
