"""A corpus: folders of inputs, each with what is expected of it. See README.md for the format."""

import os
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET, Struct, UnsetType

OWN = Path(__file__).parent
#: `SKITTER_CORPUS=DIR pytest tests/corpus` runs another one.
CORPUS = Path(os.environ.get("SKITTER_CORPUS") or OWN).resolve()


class Expected(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all kinds share. A field that is left out is not checked."""

    about: str = ""


class RobotsExpected(Expected, frozen=True, kw_only=True):
    status: int = 200
    unreachable: bool = False
    #: Agent, URL, whether it may be fetched.
    allowed: list[tuple[str, str, bool]] = []
    #: Agent, URL, number of the line that decides.
    lines: list[tuple[str, str, int | None]] = []
    crawl_delay_s: dict[str, float | None] = {}
    sitemaps: list[str] | UnsetType = UNSET


class SitemapExpected(Expected, frozen=True, kw_only=True):
    urls: list[str] | UnsetType = UNSET
    lastmods: list[str | None] | UnsetType = UNSET
    alternates: list[list[str]] | UnsetType = UNSET
    sitemaps: list[str] = []
    truncated: bool = False
    #: How many URLs there must be, where nobody wants to list them.
    at_least: int = 0


class HtmlExpected(Expected, frozen=True, kw_only=True):
    url: str = "http://h.test/dir/page.html"
    content_type: str | None = "text/html"
    links: list[str] | UnsetType = UNSET
    texts: list[str] | UnsetType = UNSET
    title: str | UnsetType | None = UNSET
    canonical: str | UnsetType | None = UNSET
    encoding: str | UnsetType = UNSET
    nofollow: bool | UnsetType = UNSET
    noindex: bool | UnsetType = UNSET


class CharsetExpected(Expected, frozen=True, kw_only=True):
    charset: str
    content_type: str | None = None
    #: What the decoded body contains.
    text: str = ""


class UrlExpected(Expected, frozen=True, kw_only=True):
    #: Normalised; None: not a URL that is crawled.
    url: str | None
    base: str | None = None
    host: str | UnsetType = UNSET
    domain: str | UnsetType = UNSET
    same_as: list[str] = []
    differs_from: list[str] = []


class ResponseExpected(Expected, frozen=True, kw_only=True):
    status_code: int | None
    #: The code, without its detail.
    error: str | None
    body: str | UnsetType = UNSET
    length: int | UnsetType = UNSET
    truncated: str | None = None
    #: What the server does after the last byte: `close`, `reset` or `hold`.
    then: str = "close"


def cases(kind: str, expected: type[Expected]) -> list[object]:
    """The parameters of a test: every `name.in` of a folder with its `name.json`."""
    decoder = msgspec.json.Decoder(expected)
    found = []
    for path in sorted((CORPUS / kind).glob("*.in")):
        try:
            wanted = decoder.decode(path.with_suffix(".json").read_bytes())
        except msgspec.ValidationError as error:
            message = f"{path.with_suffix('.json')}: {error}"
            raise ValueError(message) from None
        found.append(pytest.param(path, wanted, id=path.stem))
    return found
