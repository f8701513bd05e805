"""URLs that sites make up without end, told by how they are written.

Rules of thumb, each with a number that ordinary sites stay well below: documentation, archives
by date and shops with a few facets pass. What the rules let through is kept in check by the
budgets of the frontier, which look at what such pages bring.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

__all__ = ["Trap", "TrapRules", "find_trap", "pattern_of", "without_session"]


class Trap(StrEnum):
    """The rule that a URL breaks."""

    PATH_DEPTH = "path_depth"
    REPEATED_PATH = "repeated_path"
    LONG_SEGMENT = "long_segment"
    MANY_PARAMETERS = "many_parameters"
    CALENDAR = "calendar"


class TrapRules(Struct, frozen=True, kw_only=True):
    """The numbers; a URL may reach each of them, not exceed it."""

    #: Segments of the path.
    max_path_depth: int = 24
    #: The same few segments this often in a row: `/a/b/a/b/a/b` is three times.
    max_repeats: int = 2
    #: Bytes of one segment once its percent signs are decoded.
    max_segment_bytes: int = 512
    #: Parts of the query, a key that comes twice counted twice.
    max_parameters: int = 20
    #: A link from one page of a calendar to another may lead so many years ahead of today …
    max_years_ahead: int = 5
    #: … or back.
    max_years_back: int = 200


#: Runs of segments up to this long are looked for.
_LONGEST_RUN = 4
#: A year and its month: `/2031/04`, `2031-04-30`, `20310430`. Begins with a class of characters,
#: which is what the regular expressions' engine finds fastest.
_DATE = re.compile(
    r"[1-9](?<![0-9].)[0-9]{3}"
    r"(?:[/-](?:0?[1-9]|1[0-2])|(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01]))(?![0-9])"
)
_YEAR_KEY = re.compile(r"[?&;](?:y|yr|year|jahr|annee|anno)=([0-9]{4,6})(?![0-9])", re.IGNORECASE)

#: What tells one of many pages from its siblings: a word with a digit in it.
_VARIABLE = re.compile(r"(?<![A-Za-z0-9%])[A-Za-z%]*+[0-9][A-Za-z0-9%]*+")
_DIGIT = re.compile(r"[0-9]")
_VARIABLES = re.compile(r"#(?:[-_.,:~+]?#)+")

# Names that mean a session wherever they are met, and values that look like one.
_SESSION = re.compile(
    r"""
    ;jsessionid=[\w.!~-]+
    | /\([A-Z]\([0-9a-z]{24}\)\)(?=/)
    | (?<=[?&;]) (?:
        jsessionid=[\w.!~-]{16,}
        | phpsessid=[\w,-]{16,}
        | aspsessionid[a-z]{4,}=[a-z]{16,}
        | (?:oscsid|zenid|xtcsid)=\w{16,}
        | cfid=[\w-]+ (?=&cftoken=) | cftoken=[\w-]{6,}
        | (?:sid|sessid|sessionid|session_id)=(?:[0-9a-f]{32}|[0-9a-f]{40})
      ) (?=[&;]|$) [&;]?
    """,
    re.IGNORECASE | re.VERBOSE,
)
#: Marks without which no session id can be in a URL.
_SESSION_HINT = re.compile(r"sess|sid=|zenid=|cftoken=|/\([A-Za-z]\(", re.IGNORECASE)


def find_trap(url: str, parent: str | None, rules: TrapRules, year: int) -> Trap | None:
    """The rule that a normalised URL breaks, if any.

    `parent` is the page it was found on and `year` the present one: dates alone are no trap, but
    a calendar that leads from date to date is.
    """
    path, mark, query = url.partition("?")
    # Two of the slashes are the scheme's.
    if path.count("/") - 2 > min(rules.max_repeats, rules.max_path_depth):
        trap = _crooked_path(path.split("/")[3:], rules)
        if trap is not None:
            return trap
    if len(path) > rules.max_segment_bytes and any(
        len(segment) - 2 * segment.count("%") > rules.max_segment_bytes
        for segment in path.split("/")[3:]
    ):
        return Trap.LONG_SEGMENT
    if mark and query.count("&") + query.count(";") >= rules.max_parameters:
        return Trap.MANY_PARAMETERS
    if parent is not None and _is_far(url, rules, year) and pattern_of(url) == pattern_of(parent):
        return Trap.CALENDAR
    return None


def pattern_of(url: str) -> str:
    """What a normalised URL has in common with its siblings.

    Numbers, dates and ids become `#`; of the query the names stay, sorted, each once.
    """
    path, mark, query = url[url.index("/", 8) :].partition("?")
    if _DIGIT.search(path):
        path = _VARIABLES.sub("#", _VARIABLE.sub("#", path))
    if not mark:
        return path
    names = "&".join(sorted({part.partition("=")[0] for part in query.split("&")}))
    return f"{path}?{_VARIABLE.sub('#', names)}"


def without_session(url: str) -> str | None:
    """The URL without the session id in it; None: there is none that is surely one."""
    if ("=" not in url and "/(" not in url) or _SESSION_HINT.search(url) is None:
        return None
    free = _SESSION.sub("", url)
    return free.rstrip("?&;") if free != url else None


def _crooked_path(segments: Sequence[str], rules: TrapRules) -> Trap | None:
    if not segments[-1]:
        segments = segments[:-1]
    if len(segments) > rules.max_path_depth:
        return Trap.PATH_DEPTH
    times = rules.max_repeats + 1
    # Distinct segments cannot repeat; most paths end here.
    if len(set(segments)) + times - 1 > len(segments):
        return None
    for length in range(1, min(_LONGEST_RUN, len(segments) // times) + 1):
        if _repeats(segments, length, times):
            return Trap.REPEATED_PATH
    return None


def _repeats(segments: Sequence[str], length: int, times: int) -> bool:
    """Whether a run of `length` segments stands so many times in a row. Numbers do not count.

    Tiles of maps and dates have equal numbers side by side.
    """
    equal = 0
    for at in range(len(segments) - length):
        equal = equal + 1 if segments[at] == segments[at + length] else 0
        if equal >= length * (times - 1):
            run = segments[at + 1 - equal : at + 1 - equal + length]
            if not all(segment.isdigit() for segment in run):
                return True
    return False


def _is_far(url: str, rules: TrapRules, year: int) -> bool:
    found = _DATE.search(url, url.index("/", 8))
    if found is not None:
        written = int(found[0][:4])
    elif "=" in url and (found := _YEAR_KEY.search(url)):
        written = int(found[1])
    else:
        return False
    return not year - rules.max_years_back <= written <= year + rules.max_years_ahead
