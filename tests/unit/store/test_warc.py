"""The WARC format: what other tools read, and what a hostile server cannot do to it."""

import gzip
import hashlib
import random
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

from skitter.errors import DataFolderDamagedError
from skitter.store.base import StoredPage
from skitter.store.warc import decode_page, encode_info, encode_page

OK = b"HTTP/1.1 200 OK"


def page(*head: bytes, body: bytes = b"hello", fields: bytes = b"{}") -> StoredPage:
    return StoredPage(
        record_id="0123456789abcdef" * 2,
        url="http://site.test/",
        timestamp="2026-01-02T03:04:05.000006",
        head=head,
        body=body,
        digest=f"sha256:{hashlib.sha256(body).hexdigest()}" if head else None,
        fields=fields,
    )


def by_warcio(member: bytes) -> tuple[Any, bytes]:
    """The only record in it, its digest checked."""
    [(record, body)] = [
        (record, record.content_stream().read())
        for record in ArchiveIterator(BytesIO(member), check_digests="raise")
    ]
    return record, body


def test_the_fields_of_a_record() -> None:
    plain = page(OK, b"X: y", fields=b'{"depth":2}')
    stored = replace(plain, truncated="length", server_ip="::1")
    record, body = by_warcio(encode_page(stored))
    assert body == b"hello"
    assert record.digest_checker.passed is True
    assert dict(record.rec_headers.headers) == {
        "WARC-Type": "response",
        "WARC-Record-ID": "<urn:uuid:01234567-89ab-cdef-0123-456789abcdef>",
        "WARC-Date": "2026-01-02T03:04:05.000006Z",
        "WARC-Target-URI": "http://site.test/",
        "Content-Type": "application/http; msgtype=response",
        "Content-Length": "30",
        "WARC-IP-Address": "::1",
        "WARC-Truncated": "length",
        "Skitter-Record": '{"depth":2}',
        "WARC-Payload-Digest": stored.digest,
    }


def test_a_digest_of_other_bytes_is_noticed_by_the_checker() -> None:
    wrong = replace(page(OK), digest=f"sha256:{'0' * 64}")
    with pytest.raises(Exception, match="payload digest failed"):
        by_warcio(encode_page(wrong))


def test_no_response_is_a_metadata_record() -> None:
    record, body = by_warcio(encode_page(page(body=b"", fields=b'{"error":"dns"}')))
    assert record.rec_type == "metadata"
    assert body == b'{"error":"dns"}'


def test_info_names_the_software() -> None:
    record, body = by_warcio(encode_info("a" * 32, "2026-01-02T03:04:05.000006", "Skitter/9"))
    assert record.rec_type == "warcinfo"
    assert body == b"software: Skitter/9\r\nformat: WARC File Format 1.1\r\n"


@pytest.mark.parametrize(
    "received",
    [
        b"Content-Encoding: gzip",
        b"content-encoding:br",
        b"Content-Encoding : gzip",
        b"TRANSFER-ENCODING: chunked",
        b"Content-Length: 3",
        b"Content-Length: +5",
        b"X-Archive-Orig-Content-Length: 3",
    ],
)
def test_fields_about_the_wire_are_put_aside_and_come_back(received: bytes) -> None:
    stored = page(OK, b"A: b", received, b"C: d")
    member = encode_page(stored)
    record, body = by_warcio(member)
    assert body == b"hello"
    assert record.http_headers.get_header("Content-Length") == "5"
    names = {name.lower() for name, _ in record.http_headers.headers}
    assert not {"content-encoding", "transfer-encoding"} & names
    assert b"\r\nX-Archive-Orig-" + received in gzip.decompress(member)
    assert decode_page(member) == stored


def test_a_right_length_stays() -> None:
    member = encode_page(page(OK, b"Content-Length: 5"))
    assert b"X-Archive-Orig" not in gzip.decompress(member)


@pytest.mark.parametrize("status", [b"HTTP/2 200 ", b"HTTP/2 200", b"HTTP/3 404 ", b"HTTP/1.0 200"])
def test_every_version_of_http_is_readable_and_comes_back(status: bytes) -> None:
    stored = page(status, b"Server: x")
    member = encode_page(stored)
    record, body = by_warcio(member)
    assert record.http_headers.get_statuscode() == status.split()[1].decode()
    assert body == b"hello"
    assert decode_page(member).head == stored.head


@pytest.mark.parametrize(
    "line",
    [
        b"X: a\r\n\r\nWARC/1.1",
        b"X: a\n\nfake body",
        b"X: a\rb",
        b"",
        b"   ",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
        b"no colon",
        b"X: \0",
        b": empty name",
        b"X: caf\xc3\xa9 \xff\xfe",
    ],
)
def test_no_header_line_moves_the_body(line: bytes) -> None:
    member = encode_page(page(OK, line, b"Last: one"))
    record, body = by_warcio(member)
    assert body == b"hello"
    assert record.http_headers.get_header("Last") == "one"
    assert decode_page(member).body == b"hello"


@pytest.mark.parametrize("evil", ["\r\nWARC-Type: warcinfo", "\n\n", "\0", "\r", "\x0b", "\x7f"])
@pytest.mark.parametrize("field", ["url", "truncated", "server_ip", "digest"])
def test_no_value_makes_a_warc_field(field: str, evil: str) -> None:
    value = f"http://site.test/{evil}x"
    stored = replace(page(OK), **{field: value, "digest": value if field == "digest" else None})
    [record] = list(ArchiveIterator(BytesIO(encode_page(stored))))
    assert record.rec_type == "response"
    names = [name for name, _ in record.rec_headers.headers]
    assert len(names) == len(set(names))
    assert record.rec_headers.get_header("Content-Length") == "24"


texts = st.lists(st.sampled_from(sorted(set(range(256)) - set(b"\r\n\0")))).map(bytes)
names = st.sampled_from([b"Content-Length", b"content-encoding ", b"X-Archive-Orig-A", b" "])
fields = st.builds(lambda name, value: name + b":" + value, names | texts, texts)


@settings(deadline=None)
@given(st.lists(fields, max_size=6), st.binary(max_size=300))
def test_any_head_and_body_come_back(head: list[bytes], body: bytes) -> None:
    stored = page(OK, *head, body=body)
    member = encode_page(stored)
    assert decode_page(member) == stored
    assert by_warcio(member)[1] == body


def test_a_changed_byte_is_never_a_page() -> None:
    random_bits = random.Random(4)
    member = encode_page(page(OK, body=random_bits.randbytes(500)))
    for position in range(10, len(member)):
        changed = bytearray(member)
        changed[position] ^= 1 << random_bits.randrange(8)
        with pytest.raises(DataFolderDamagedError):
            decode_page(bytes(changed))


def test_what_is_no_page_is_damage() -> None:
    for record in (b"", b"WARC/1.1\r\n\r\n", b"WARC/1.1\r\nA\r\n\r\n", b"\xff\r\n\r\n"):
        with pytest.raises(DataFolderDamagedError):
            decode_page(gzip.compress(record))
