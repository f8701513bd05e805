"""libcurl's error numbers as our codes: the one place where they are mapped.

By number, since the Python binding names only some of them. What is not listed (file, FTP,
mail … and misuse of the library) cannot come from a web server and counts as internal.
"""

from skitter.models import ErrorCode

__all__ = ["error_of"]

_NUMBERS: dict[ErrorCode, tuple[int, ...]] = {
    ErrorCode.DNS: (5, 6),  # proxy or host not resolved
    ErrorCode.CONNECT: (7, 45, 97),  # refused or unreachable, no local port, proxy handshake
    # Handshake, engine, certificates, ciphers, revocation, pinning, status, client, ECH.
    ErrorCode.TLS: (35, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98, 101),
    ErrorCode.TIMEOUT: (28,),
    ErrorCode.RESET: (18, 42, 52, 55, 56),  # partial, aborted, nothing, send, receive
    # Unsupported or malformed, weird reply, HTTP/2, HTTP error, redirects, chunks, streams, HTTP/3.
    ErrorCode.PROTOCOL: (1, 3, 8, 16, 22, 47, 88, 92, 95, 96),
    ErrorCode.DECODE: (61,),
    ErrorCode.HEADERS_TOO_LARGE: (100,),
}

_BY_NUMBER = {number: code for code, numbers in _NUMBERS.items() for number in numbers}


def error_of(number: int, *, started: bool) -> ErrorCode:
    """Our code for libcurl's; `started`: the response had begun when it went wrong."""
    code = _BY_NUMBER.get(number, ErrorCode.INTERNAL)
    if code is ErrorCode.TIMEOUT and started:
        return ErrorCode.TOO_SLOW
    return code
