"""Output files against the catalog: each record that has a line has it once."""

from collections.abc import Iterable

from skitter.engine.audit import Ids, Tally

__all__ = ["audit_output"]


def audit_output(
    tally: Tally, path: str, lines: Iterable[tuple[int, str | None]], wanted: Ids, *, settled: bool
) -> None:
    """Compare a file's lines with the ids it should hold.

    `settled`: nothing was committed since its length was noted, so a line that is missing is
    missing for good.
    """
    ids = Ids()
    for number, record in lines:
        tally.checked += 1
        if record is None or not _is_id(record):
            tally.find(f"{path}:{number}", "the line is not a record")
        else:
            ids.add(record)
    there, expected = ids.sorted(), wanted.sorted()
    at = 0
    missing = 0
    for position, half in enumerate(there):
        if position and there[position - 1] == half:
            tally.find(path, f"record {half:016x}…: twice in the file")
            continue
        while at < len(expected) and expected[at] < half:
            missing += 1
            at += 1
        if at < len(expected) and expected[at] == half:
            at += 1
        else:
            tally.find(path, f"record {half:016x}…: not in the catalog")
    missing += len(expected) - at
    if missing and settled:
        tally.find(path, f"{missing} records of the catalog have no line")


def _is_id(text: str) -> bool:
    try:
        return len(text) == 32 and len(bytes.fromhex(text)) == 16
    except ValueError:
        return False
