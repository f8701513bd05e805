"""`skitter show`: what became of one URL."""

import asyncio
import sys
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import replace

from skitter.catalog.base import Catalog, Page
from skitter.cli.invocation import Invocation
from skitter.cli.options import examples
from skitter.cli.reading import choose_job, data_option, job_option, printable, printable_json
from skitter.errors import SkitterError
from skitter.frontier.base import JobInfo
from skitter.models import Headers, Record
from skitter.outputs.jsonl import JsonLines
from skitter.store.base import StoredPage
from skitter.urls.fingerprint import fingerprint, record_id, session_fingerprint
from skitter.urls.normalize import operator_url
from skitter.urls.traps import without_session
from skitter.wiring import Backends, open_backends

__all__ = ["show"]

#: Links and header fields have lines of their own below the table.
_NOT_IN_TABLE = frozenset({"links", "request_headers", "response_headers"})


class _Wanted(Struct, frozen=True, kw_only=True):
    """What to print."""

    as_json: bool
    body: bool
    headers: bool


@click.command(
    epilog=examples(
        "skitter show https://example.com/",
        "skitter show example.com/logo.png --body > logo.png",
        "skitter show example.com --headers",
        "skitter show example.com --json --body | jq -r .body",
    )
)
@click.argument("url")
@data_option
@job_option
@click.option("--body", is_flag=True, help="Write the body, byte for byte as it was decoded.")
@click.option("--headers", is_flag=True, help="Write the response's head; before the body if both.")
@click.option("--json", "as_json", is_flag=True, help="Print the record; with --body in it.")
@click.pass_obj
def show(
    invocation: Invocation,
    url: str,
    data: Path,
    job_name: str | None,
    body: bool,
    headers: bool,
    as_json: bool,
) -> None:
    """Show the record of a URL.

    A table on a terminal, one line of JSON otherwise. Works while the crawl runs. Exit code 1:
    there is no record of it, or no body where one was asked for.
    """
    normal = operator_url(url)
    wanted = _Wanted(as_json=as_json, body=body, headers=headers)
    asyncio.run(_show(invocation, normal, data, job_name, wanted))


async def _show(
    invocation: Invocation, url: str, data: Path, job_name: str | None, wanted: _Wanted
) -> None:
    async with open_backends(data, invocation.load().settings) as backends:
        job = await choose_job(backends.frontier, job_name, data)
        page = await _find_page(backends.catalog, job, url)
        if page is None:
            message = f"no record of {url} in job {job.name}: not fetched yet, or not part of it"
            raise SkitterError(message)
        if wanted.as_json and wanted.body:
            _write_json(JsonLines(include_body=True).encode([await _with_body(backends, page)]))
        elif wanted.as_json:
            _write_json(page.line + b"\n")
        elif wanted.body or wanted.headers:
            _write_response(await _response(backends, page), wanted)
        elif sys.stdout.isatty():
            _print_table(page.record)
        else:
            _write(page.line + b"\n")


async def _find_page(catalog: Catalog, job: JobInfo, url: str) -> Page | None:
    """The page of a URL; of a link with a session id the one that was fetched, in any session."""
    keys = [fingerprint(url)]
    if free := without_session(url):
        keys.append(session_fingerprint(free))
    pages = [await catalog.get(job.name, record_id(job.job_id, key, 0)) for key in keys]
    return next((page for page in pages if page), None)


async def _with_body(backends: Backends, page: Page) -> Page:
    if page.location is None:
        return page
    return replace(page, body=(await backends.store.read(page.location)).body)


async def _response(backends: Backends, page: Page) -> StoredPage:
    stored = await backends.store.read(page.location) if page.location else None
    if stored is None or not stored.head:
        record = page.head
        reason = f" ({record.error})" if record.error else ""
        message = f"no response was stored for {record.url}: it is {record.outcome}{reason}"
        raise SkitterError(message)
    return stored


def _write_response(stored: StoredPage, wanted: _Wanted) -> None:
    if wanted.headers:
        for line in stored.head:
            text = line.decode("utf-8", "replace")
            click.echo(printable(text) if sys.stdout.isatty() else text)
        if wanted.body:
            click.echo()
    if wanted.body:
        _write(stored.body)


def _write_json(line: bytes) -> None:
    _write(printable_json(line) if sys.stdout.isatty() else line)


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _print_table(record: Record) -> None:
    from rich.console import Console  # noqa: PLC0415  (only where there is a terminal)
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(record):
        table.add_row(name, Text(printable(value)))
    Console().print(table)


def _rows(record: Record) -> list[tuple[str, str]]:
    rows = [
        (name, str(value))
        for name in Record.__struct_fields__
        if name not in _NOT_IN_TABLE and (value := getattr(record, name)) is not None
    ]
    rows += _header_rows("sent", record.request_headers)
    rows += _header_rows("received", record.response_headers)
    rows.append(("links", str(len(record.links))))
    rows += [("", f"{link.url}  {link.text}".rstrip()) for link in record.links]
    return rows


def _header_rows(label: str, headers: Headers) -> list[tuple[str, str]]:
    lines = [f"{name}: {value}" for name, values in headers.items() for value in values]
    return [(label if number == 0 else "", line) for number, line in enumerate(lines)]
