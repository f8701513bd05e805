"""The reference of records: every field, outcome, reason and code, each with its meaning.

What there is comes from `skitter.models`; only the words are here, and one that is missing or
left over fails `make docs` and the tests.
"""

import types
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, get_args, get_type_hints

from skitter.models import DropReason, ErrorCode, Outcome, Record

__all__ = ["record_page"]

INTRODUCTION = (
    "A record is what Skitter says about one request. It is a line in JSONL, a row in CSV and"
    " Parquet, and the answer of `skitter show URL --json`. The fields come in this order."
    " `redirected` and `dropped` requests have a record too, but no line in output files unless"
    " `skitter export --all` asks for them."
)

FIELDS = {
    "id": "Stable id, 32 hex digits: from the job's id, the request and its generation. The same"
    " crawl in another folder gives the same ids.",
    "appid": "Who asked for the crawl; `skitter` on the command line.",
    "crawlid": "The job's name (`--job`).",
    "job": "The job's id: a hash of the settings that define it.",
    "url": "The normalised URL that was asked for.",
    "response_url": "The URL that answered. Redirects are requests of their own, so it is `url`.",
    "redirected_from": "The URL whose redirect led here.",
    "outcome": "How the request ended; see below.",
    "status_code": "HTTP status; null only if there was no response.",
    "status_msg": "The reason phrase, or the standard one where HTTP/2 sends none.",
    "timestamp": "When the record was made, UTC, ISO 8601 with microseconds and no zone.",
    "depth": "Links from a seed; seeds are 0.",
    "parent": "The URL of the page that linked here first.",
    "spider": "What read the page; `link` on the command line.",
    "encoding": "The charset the text was read in, by its WHATWG name.",
    "content_type": "Media type of the Content-Type header, without its parameters; without a "
    "usable header that of the body's first bytes.",
    "length": "Bytes of the decoded body.",
    "digest": "`sha256:` and the hex digest of the decoded body; null without a whole response.",
    "title": "The page's title.",
    "links": "Links in scope after the filters, in document order, each once, as"
    " `{url, text}`. Empty at the last depth and on pages that did not answer 2xx.",
    "request_headers": "Headers we sent: name → list of values.",
    "response_headers": "Headers we received: name → list of values.",
    "attrs": "Whatever the submitter attached, and `robots`: which of `noindex` and `nofollow` the "
    "page asks for, by its meta or X-Robots-Tag. Null on the command line if it asks for neither.",
    "elapsed_ms": "Time of the last try's transfer, in milliseconds.",
    "truncated": "`length` if the body was cut at `fetch.max_body_bytes`; `degraded` if it was not "
    "kept for want of room.",
    "error": "`code` or `code: detail` of a failed request, the reason of a dropped one,"
    " null otherwise.",
}

OUTCOMES = {
    Outcome.DONE: "A final response came, whatever its status: a 404 is `done` too.",
    Outcome.REDIRECTED: "A 3xx; its target is a request of its own if it is in scope.",
    Outcome.FAILED: "Tried as often as the settings say, in vain.",
    Outcome.DROPPED: "Not fetched, for one of the reasons below.",
}

REASONS = {
    DropReason.ROBOTS: "robots.txt forbids it.",
    DropReason.FORBIDDEN_ADDRESS: "Its host is on a private network that was not allowed.",
    DropReason.URL_TOO_LONG: "Longer than `limits.max_url_length`.",
    DropReason.TOO_MANY_REDIRECTS: "More hops in a row than `limits.max_redirects`.",
    DropReason.DEPTH: "Reserved: deeper than the job allows. Such links are not followed now.",
    DropReason.TRAP: "Its URL is written like one of an endless set (`traps.enabled`).",
    DropReason.BUDGET: "Its domain had `traps.domain_pages`, or its kind brought nothing new.",
    DropReason.CRAWL_DELAY: "The host's crawl-delay is longer than `robots.max_crawl_delay_s`.",
    DropReason.MAX_PAGES: "In summaries only: still queued when `--max-pages` was reached.",
    DropReason.STOPPED: "Reserved: the job was stopped.",
    DropReason.EXPIRED: "Reserved: the job's time was up.",
}

CODES = {
    ErrorCode.DNS: "The host's name did not resolve.",
    ErrorCode.CONNECT: "The connection was refused or the host unreachable.",
    ErrorCode.TLS: "The handshake failed, or the certificate is not valid.",
    ErrorCode.TIMEOUT: "No response in time.",
    ErrorCode.TOO_SLOW: "A response began, and was too slow to be waited for.",
    ErrorCode.RESET: "The connection broke.",
    ErrorCode.PROTOCOL: "The answer is not HTTP as we know it.",
    ErrorCode.DECODE: "The body's Content-Encoding could not be undone.",
    ErrorCode.HEADERS_TOO_LARGE: "More header bytes than `fetch.max_header_bytes`.",
    ErrorCode.ROBOTS_UNREACHABLE: "robots.txt could not be had, so the host must be left alone"
    " (RFC 9309).",
    ErrorCode.HTTP: "Followed by the status: 408, 429 or 5xx at the last try (`http_503`).",
    ErrorCode.BLOCKED: "The site answers with a challenge instead of the page.",
    ErrorCode.UNREACHABLE: "Its site has not answered for long, so it was not asked for this one.",
    ErrorCode.INTERNAL: "A mistake of ours; please report it.",
}

WORDS = {str: "text", int: "whole number", dict: "object", list: "list"}


def record_page(notice: str) -> str:
    """The whole page, beginning with `notice`."""
    return "\n".join([notice, "", "# Records", "", INTRODUCTION, *_sections()]) + "\n"


def _sections() -> Iterator[str]:
    kinds = get_type_hints(Record)
    _check(FIELDS, kinds, "Record")
    yield from ("", "## Fields", "", "| field | type | meaning |", "|---|---|---|")
    yield from (f"| `{name}` | {_kind(kinds[name])} | {FIELDS[name]} |" for name in kinds)
    yield from ("", "With `--body` two more follow: `body`, the decoded body as text or, if its")
    yield "bytes could not be had back from a text, as base64; then `body_base64` is true."
    terminal = [outcome for outcome in Outcome if outcome is not Outcome.RETRY]
    yield from _table("Outcomes", "outcome", terminal, OUTCOMES)
    yield from _table("Reasons for dropping", "reason", list(DropReason), REASONS)
    yield from _table("Error codes", "code", list(ErrorCode), CODES)
    yield from ("", "Outcomes, reasons and codes are closed lists: new versions may add to them,")
    yield "never rename. Two crawls are equal when their sets of"
    yield "(`id`, `status_code`, error code, `digest`) are."


def _table(
    title: str, label: str, members: list[Any], meanings: Mapping[Any, str]
) -> Iterator[str]:
    _check(meanings, members, title)
    yield from ("", f"## {title}", "", f"| {label} | meaning |", "|---|---|")
    yield from (f"| `{member.value}` | {meanings[member]} |" for member in members)


def _check(meanings: Mapping[Any, str], there: Any, what: str) -> None:  # noqa: ANN401  (any iterable of names or members)
    if set(meanings) != set(there):
        message = f"{what}: explain {sorted(set(there) ^ set(meanings))} or forget it"
        raise LookupError(message)


def _kind(annotation: Any) -> str:  # noqa: ANN401  (a type form has no type of its own)
    """`text`, `whole number or null`, `list`."""
    if isinstance(annotation, types.UnionType):
        inner = next(part for part in get_args(annotation) if part is not type(None))
        return f"{_kind(inner)} or null"
    origin = getattr(annotation, "__origin__", annotation)
    return "text" if issubclass(origin, StrEnum) else WORDS[origin]
