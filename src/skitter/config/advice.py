"""What to tell somebody whose configuration is wrong: in their words, with the nearest name."""

import difflib
import re
from typing import Literal, get_args, get_origin

from skitter.config.catalogue import sections, settings_by_name
from skitter.config.sources import Raw

__all__ = ["explain", "unknown"]

#: The validator's type names, in words.
WORDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "a table",
    "str": "text",
}

QUOTED_TYPE = re.compile(r"`(\w+)(?: \| null)?`(?= (?:[<>]|of )|,|$| - )")


def explain(complaint: str, annotation: object) -> str:
    """The validator's complaint as one phrase."""
    choices = _choices(annotation)
    if choices:
        return f"expected one of {', '.join(choices)}"
    text = re.sub(r"matching regex .*", "of printable ASCII without line breaks", complaint)
    text = QUOTED_TYPE.sub(lambda match: WORDS.get(match[1], match[1]), text)
    text = re.sub(r" - at `\$\[(\d+)\]`", lambda match: f" in place {int(match[1]) + 1}", text)
    text = re.sub(r" - at `\$\.(\w+)`", lambda match: f" for {match[1]}", text)
    text = re.sub(r"Object contains unknown field `?(\w+)`?", r"no such setting: \1", text)
    text = re.sub(r"\.0\b", "", text)
    return text.replace("`", "").replace("Expected", "expected")


def unknown(raw: Raw) -> str:
    """Names the place, the name, and what was probably meant."""
    tables = [section.name for section in sections()]
    if raw.is_text:
        near = _nearest_setting(raw.name)
        variable = settings_by_name()[near].variable if near else None
        return f"{raw.source}: no such setting{_hint(variable)}"
    if raw.name in tables:
        return f"{raw.source}: {raw.name} must be a table with settings: [{raw.name}]"
    table, dot, _ = raw.name.partition(".")
    if table in tables or (dot and _nearest_setting(raw.name)):
        return f"{raw.source}: no such setting: {raw.name}{_hint(_nearest_setting(raw.name))}"
    near_table = next(iter(difflib.get_close_matches(table, tables, n=1)), None)
    return f"{raw.source}: no such table: [{table}]{_hint(near_table and f'[{near_table}]')}"


def _choices(annotation: object) -> tuple[str, ...]:
    for part in get_args(annotation)[:1]:
        if get_origin(part) is Literal:
            return get_args(part)
    return ()


def _hint(name: str | None) -> str:
    return f"; did you mean {name}?" if name else ""


def _nearest_setting(name: str) -> str | None:
    """`fetch_timeout_s`, `fecth.timeout_s` and `web.timeout_s` all mean `fetch.timeout_s`."""
    flat = {known.replace(".", "_"): known for known in settings_by_name()}
    near = difflib.get_close_matches(name.replace(".", "_"), flat, n=1, cutoff=0.75)
    if near:
        return flat[near[0]]
    keys = {known.partition(".")[2]: known for known in reversed(settings_by_name())}
    near = difflib.get_close_matches(name.rpartition(".")[2], keys, n=1, cutoff=0.75)
    return keys[near[0]] if near else None
