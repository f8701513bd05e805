"""What a URL of the simulated web answers."""

from enum import StrEnum

from msgspec import Struct

__all__ = ["RESET", "PageKind", "SimPage", "notice", "text"]

#: Stands for a connection reset where a status is expected.
RESET = 0


class PageKind(StrEnum):
    """What a URL of the simulated web is there for."""

    PAGE = "page"
    ORPHAN = "orphan"
    PRIVATE = "private"
    CALENDAR = "calendar"
    REDIRECT = "redirect"
    ERROR = "error"
    RESET = "reset"
    GONE = "gone"
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    MISSING = "missing"
    TRAP = "trap"


class SimPage(Struct, frozen=True, kw_only=True):
    """What a URL answers in the end, and what its first requests get instead."""

    kind: PageKind
    #: `RESET`: no answer at all.
    status: int
    content_type: str
    body: bytes
    title: str | None = None
    #: Whole URLs with sorted queries, each once: links of a page, entries of a sitemap.
    links: tuple[str, ...] = ()
    location: str | None = None
    #: Whole URL that `location` means.
    redirects_to: str | None = None
    #: Statuses (or `RESET`) of the first GETs, before the page works.
    faults: tuple[int, ...] = ()
    #: robots.txt forbids it.
    disallowed: bool = False
    gzip: bool = False


def text(kind: PageKind, status: int, line: str) -> SimPage:
    """An answer without title and links."""
    return SimPage(kind=kind, status=status, content_type="text/plain", body=line.encode())


def notice(kind: PageKind, status: int, title: str) -> SimPage:
    """A short page without links."""
    html = f"<!doctype html>\n<title>{title}</title>\n<h1>{title}</h1>\n"
    content_type = "text/html; charset=utf-8"
    return SimPage(
        kind=kind, status=status, content_type=content_type, body=html.encode(), title=title
    )
