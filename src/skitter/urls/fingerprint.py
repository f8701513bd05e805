"""What makes two requests the same: method, URL with its query sorted, body.

8 bytes. Among n requests of one job the chance of any two different ones meeting is about
n²/2⁶⁵: 3·10⁻⁸ for a million, 3·10⁻⁴ for a hundred million.
"""

from xxhash import xxh3_64_intdigest, xxh3_128_hexdigest

__all__ = ["fingerprint", "job_id", "record_id", "session_fingerprint"]


def fingerprint(url: str, method: str = "GET", body: bytes = b"") -> int:
    """Signed 64 bits (so that SQL databases hold it) of a normalised URL's request."""
    if "?" in url:
        head, _, query = url.partition("?")
        url = head + "?" + "&".join(sorted(query.split("&")))
    key = url.encode()
    if method != "GET" or body:
        key = b"\0".join((method.encode(), key, body))
    value: int = xxh3_64_intdigest(key)
    return value - (1 << 64) if value >> 63 else value


def session_fingerprint(url: str) -> int:
    """Of a link whose session id was taken out: all sessions of a page are one request.

    It differs from that of the bare URL, so that a page which redirects to itself with a session
    id, or away from it, is fetched in the end.
    """
    return fingerprint(url, "SESSION")


def record_id(job: str, request_fingerprint: int, generation: int) -> str:
    """The stable id of a record: 32 hex digits from job id, fingerprint and generation."""
    digest: str = xxh3_128_hexdigest(f"{job}/{request_fingerprint}/{generation}".encode())
    return digest


def job_id(definition: bytes) -> str:
    """The id of a job: 32 hex digits of its canonical definition."""
    digest: str = xxh3_128_hexdigest(definition)
    return digest
