"""Pages as WARC 1.1 records, one gzip member each, and back.

Written by hand, because this runs for every page: it is string formatting and one call of
isal, a tenth of what a general WARC writer costs. Reading is by hand too: it takes only what
this file has written, byte for byte, and a damaged member must be an error, not less text.

The body is stored decoded. Header fields that describe the encoding it had on the wire are
kept under `X-Archive-Orig-…`, so that any reader finds a body it need not decode; then the
head's last field is a Content-Length of our own. WARC tools know no status line but HTTP/1's,
so that of a later version is written as one, and `WARC-Protocol` says what it was.
"""

import re
from collections.abc import Iterable

from isal import isal_zlib

from skitter.errors import DataFolderDamagedError
from skitter.store.base import StoredPage

__all__ = ["FIELDS_HEADER", "decode_page", "encode_info", "encode_page"]

#: Extension field that carries the record's own fields.
FIELDS_HEADER = "Skitter-Record"

_GZIP_WBITS = 31
#: Level 1 of isal: as small as zlib's 4 at a sixth of the time.
_LEVEL = 1
_ASIDE = b"X-Archive-Orig-"
_WIRE_FIELDS = frozenset((b"content-encoding", b"transfer-encoding", b"content-length"))
#: How the lines begin that are worth a closer look.
_SUSPECTS = (*_WIRE_FIELDS, b"x-archive-orig-")
_PROTOCOLS = {b"HTTP/2": "h2", b"HTTP/3": "h3"}
_VERSIONS = {protocol: version for version, protocol in _PROTOCOLS.items()}
#: The stub takes it for an instance.
_BadGzip: type[Exception] = isal_zlib.error  # type: ignore[assignment]
#: What can come of reading bytes that `encode_page` did not write.
_DAMAGE = (_BadGzip, EOFError, ValueError, KeyError)
#: What would end a line of a WARC head.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
#: What would end a line of an HTTP head.
_BREAKS = re.compile(rb"[\r\n\0]+")


def encode_page(page: StoredPage) -> bytes:
    """The gzip member of a page: a `response` record, or `metadata` where there was none."""
    if page.head:
        kind, content_type, block = "response", "application/http; msgtype=response", _block(page)
    else:
        kind, content_type, block = "metadata", "application/json", page.fields
    lines = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:uuid:{_uuid(page.record_id)}>",
        f"WARC-Date: {page.timestamp}Z",
        f"WARC-Target-URI: {page.url}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(block)}",
    ]
    if page.server_ip:
        lines.append(f"WARC-IP-Address: {page.server_ip}")
    if page.truncated:
        lines.append(f"WARC-Truncated: {page.truncated}")
    if page.head:
        lines += _response_fields(page)
    lines = [line if line.isprintable() else _CONTROLS.sub(_escaped, line) for line in lines]
    head = "\r\n".join(lines).encode()
    return _member(b"".join((head, b"\r\n\r\n", block, b"\r\n\r\n")))


def encode_info(record_id: str, timestamp: str, software: str) -> bytes:
    """The `warcinfo` record every segment starts with."""
    block = f"software: {software}\r\nformat: WARC File Format 1.1\r\n".encode()
    head = (
        f"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: <urn:uuid:{_uuid(record_id)}>\r\n"
        f"WARC-Date: {timestamp}Z\r\nContent-Type: application/warc-fields\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return _member(head.encode() + block + b"\r\n\r\n")


def decode_page(member: bytes) -> StoredPage:
    """The page of a gzip member, as it was before `encode_page`."""
    try:
        record: bytes = isal_zlib.decompress(member, _GZIP_WBITS)
        warc_head, _, rest = record.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in warc_head.decode().split("\r\n")[1:])
        return _page(fields, rest[: int(fields["Content-Length"])])
    except _DAMAGE as error:
        message = f"a stored page cannot be read ({error}): its segment was changed"
        raise DataFolderDamagedError(message) from error


def _page(fields: dict[str, str], block: bytes) -> StoredPage:
    head: tuple[bytes, ...] = ()
    body, own = b"", block
    if fields["WARC-Type"] == "response":
        text, _, body = block.partition(b"\r\n\r\n")
        head = _original(text.split(b"\r\n"), fields.get("WARC-Protocol"))
        own = fields.get(FIELDS_HEADER, "{}").encode()
    return StoredPage(
        record_id=fields["WARC-Record-ID"][10:-1].replace("-", ""),
        url=fields["WARC-Target-URI"],
        timestamp=fields["WARC-Date"].removesuffix("Z"),
        head=head,
        body=body,
        digest=fields.get("WARC-Payload-Digest"),
        truncated=fields.get("WARC-Truncated"),
        server_ip=fields.get("WARC-IP-Address"),
        fields=own,
    )


def _response_fields(page: StoredPage) -> list[str]:
    lines = [f"{FIELDS_HEADER}: {page.fields.decode()}"]
    if page.digest:
        lines.append(f"WARC-Payload-Digest: {page.digest}")
    protocol = _PROTOCOLS.get(page.head[0][:6])
    if protocol:
        lines.append(f"WARC-Protocol: {protocol}")
    return lines


def _block(page: StoredPage) -> bytes:
    """Status line, fields and body, with the fields about the wire put aside."""
    lines = [_status_line(page.head[0])]
    changed = False
    for line in _fields(page.head):
        if line[:17].lower().startswith(_SUSPECTS) and _is_aside(line, page.body):
            lines.append(_ASIDE + line)
            changed = True
        else:
            lines.append(line)
    if changed:
        lines.append(b"Content-Length: %d" % len(page.body))
    return b"\r\n".join((*lines, b"", page.body))


def _fields(head: tuple[bytes, ...]) -> Iterable[bytes]:
    """Header lines that stay one line each; one of mere space would end the head."""
    if _BREAKS.search(b"".join(head)):
        head = tuple(_BREAKS.sub(b" ", line) for line in head)
    return [line for line in head[1:] if b":" in line]


def _is_aside(line: bytes, body: bytes) -> bool:
    name, _, value = line.partition(b":")
    name = name.strip().lower()
    if name == b"content-length":
        return value.strip() != b"%d" % len(body)
    # Our own prefix too, so that taking it off again always gives what was received.
    return name in _WIRE_FIELDS or name.startswith(b"x-archive-orig-")


def _original(lines: list[bytes], protocol: str | None) -> tuple[bytes, ...]:
    """The head as received."""
    if protocol in _VERSIONS:
        lines[0] = _VERSIONS[protocol] + lines[0][8:]
    if any(line.startswith(_ASIDE) for line in lines):
        lines = [line.removeprefix(_ASIDE) for line in lines[:-1]]
    return tuple(lines)


def _status_line(line: bytes) -> bytes:
    line = _BREAKS.sub(b" ", line)
    if line.startswith((b"HTTP/1.1", b"HTTP/1.0")):
        return line
    return b"HTTP/1.1 " + line.partition(b" ")[2]


def _escaped(control: re.Match[str]) -> str:
    return f"%{ord(control[0]):02X}"


def _member(record: bytes) -> bytes:
    compressed: bytes = isal_zlib.compress(record, _LEVEL, _GZIP_WBITS)
    return compressed


def _uuid(record_id: str) -> str:
    return "-".join(
        (record_id[:8], record_id[8:12], record_id[12:16], record_id[16:20], record_id[20:])
    )
