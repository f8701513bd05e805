"""One transfer on a reusable easy handle of libcurl: its options, its limits, what came of it."""

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from io import BytesIO

import pycurl
from msgspec import Struct

from skitter.fetch.base import Fetch, FetchResult, Sent
from skitter.fetch.curl_errors import error_of
from skitter.fetch.curl_proxy import blame_of, set_proxy
from skitter.fetch.exits import Exit
from skitter.fetch.names import Route
from skitter.fetch.proxies import Proxy
from skitter.models import ErrorCode
from skitter.urls.address import AddressGuard

__all__ = ["CurlOptions", "Done", "Transfer", "problem_of"]

Done = Callable[[FetchResult], None]

#: Bytes libcurl reads at once; larger reads mean fewer callbacks into Python.
_READ_BYTES = 256 * 1024
#: Pages have a few dozen; libcurl itself stops at 5,000.
_MAX_HEADER_LINES = 1_000
#: A body in single bytes costs half a second of CPU per megabyte; beyond this it is cut.
_MAX_PIECES = 200_000
#: What would end a header line, or the text as C sees it.
_BREAKS = re.compile(r"[\r\n\0]")


class CurlOptions(Struct, frozen=True, kw_only=True):
    """What is the same for every transfer."""

    connect_timeout_s: float = 10.0
    max_header_bytes: int = 256 * 1024
    min_rate_bytes_s: int = 10
    min_rate_window_s: int = 20
    http2: bool = True
    #: Certificate authorities in a PEM file; None: the system's.
    ca_file: str | None = None


def problem_of(fetch: Fetch, route: Route, *, needs_address: bool = True) -> FetchResult | None:
    """Why a fetch cannot even begin; None: it can. An address that is off limits never will do."""
    if not route.addresses and (needs_address or route.forbidden):
        if route.forbidden:
            detail = f"{fetch.host} is off limits ({route.detail})"
            return FetchResult(error=ErrorCode.CONNECT, detail=detail, forbidden=True)
        return FetchResult(
            error=ErrorCode.DNS,
            detail=f"cannot resolve {fetch.host}: {route.detail}",
            retry_after_s=route.retry_after_s,
        )
    # A normalised URL is printable ASCII; anything else was not made by us.
    if not (fetch.url.isascii() and fetch.url.isprintable()):
        return FetchResult(error=ErrorCode.PROTOCOL, detail="control characters in the URL")
    return None


class Transfer:
    """The easy handle and the buffers of what it is running.

    The buffers belong to it until `end`, which hands them over and forgets them.
    """

    def __init__(
        self,
        guard: AddressGuard,
        options: CurlOptions,
        leave: Callable[["Transfer"], bool],
    ) -> None:
        self.curl = pycurl.Curl()
        self._guard = guard
        self._leave = leave
        self._max_header_bytes = options.max_header_bytes
        self._headers: tuple[str, ...] | None = None
        self._timeout_s = 0.0
        self._ca_file = options.ca_file
        self._proxy: Proxy | None = None
        self._reset()
        self._set_options(options)
        set_ = self.curl.setopt
        set_(pycurl.WRITEFUNCTION, self._on_body)
        set_(pycurl.HEADERFUNCTION, self._on_header)
        set_(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        set_(pycurl.PREREQFUNCTION, self._on_send)

    def _set_options(self, options: CurlOptions) -> None:
        set_ = self.curl.setopt
        set_(pycurl.NOSIGNAL, 1)
        set_(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        set_(pycurl.FOLLOWLOCATION, 0)
        set_(pycurl.PATH_AS_IS, 1)
        set_(pycurl.ACCEPT_ENCODING, "")
        # An empty proxy makes libcurl ignore those of the environment.
        set_(pycurl.PROXY, "")
        set_(pycurl.BUFFERSIZE, _READ_BYTES)
        set_(pycurl.CONNECTTIMEOUT_MS, int(options.connect_timeout_s * 1000))
        set_(pycurl.LOW_SPEED_LIMIT, options.min_rate_bytes_s)
        set_(pycurl.LOW_SPEED_TIME, options.min_rate_window_s)
        version = pycurl.CURL_HTTP_VERSION_2TLS if options.http2 else pycurl.CURL_HTTP_VERSION_1_1
        set_(pycurl.HTTP_VERSION, version)
        if options.ca_file is not None:
            set_(pycurl.CAINFO, options.ca_file)

    def begin(
        self,
        fetch: Fetch,
        port: int,
        route: Route,
        done: Done,
        sent: Sent,
        *,
        via: Exit | None = None,
    ) -> None:
        """Set the handle up for a fetch that has no problem."""
        self.fetch = fetch
        self.route = route
        self.via = via
        self._done = done
        self._sent = sent
        self._reset()
        set_ = self.curl.setopt
        set_(pycurl.URL, fetch.url)
        pins = _pins(fetch.host, port, route.addresses)
        if via is not None:
            pins += _pins(via.proxy.host, via.proxy.port, via.addresses)
            if via.proxy is not self._proxy:
                set_proxy(self.curl, via.proxy, self._ca_file)
                self._proxy = via.proxy
        if pins:
            set_(pycurl.RESOLVE, pins)
        if fetch.headers is not self._headers:
            set_(pycurl.HTTPHEADER, [_line(text) for text in fetch.headers])
            self._headers = fetch.headers
        if fetch.timeout_s != self._timeout_s:
            set_(pycurl.TIMEOUT_MS, int(fetch.timeout_s * 1000))
            self._timeout_s = fetch.timeout_s

    def blame(self, code: int, message: str) -> str | None:
        """Why its end is the fault of the proxy it went through; None: it is not."""
        if self.via is None or self._forbidden:
            return None
        sent = self._sent_at is not None
        return blame_of(self.curl, self.via.proxy, code, sent=sent, message=message)

    def end(self, code: int, message: str) -> tuple[FetchResult, Done]:
        """What came of it, and who wants to know."""
        info = self.curl.getinfo
        status = info(pycurl.RESPONSE_CODE) or None
        error = None if code == 0 or self._truncated else self._error(code, status)
        if code == 0 and not self._head_is_whole:
            error = ErrorCode.RESET  # libcurl takes a head that breaks off for one without a body
        result = FetchResult(
            status_code=status,
            head=tuple(self._head),
            body=self._body.getvalue(),
            truncated="length" if self._truncated else None,
            error=error,
            detail="" if error is None else self._detail(message),
            forbidden=self._forbidden,
            sent_at=self._sent_at,
            elapsed_s=info(pycurl.TOTAL_TIME),
            # Behind a proxy it is the proxy's, and only that one knows the site's.
            server_ip=(info(pycurl.PRIMARY_IP) or None) if self.via is None else None,
            request_headers=self.fetch.headers,
        )
        done = self._done
        self._reset()
        return result, done

    def _reset(self) -> None:
        self._head: list[bytes] = []
        self._head_is_whole = False
        self._head_bytes = 0
        self._head_lines = 0
        # Not a list of chunks: a server that sends single bytes would fill memory with objects.
        self._body = BytesIO()
        self._pieces = 0
        self._truncated = False
        self._forbidden = False
        self._leaves = 0
        self._sent_at: float | None = None

    def left(self, at: float) -> None:
        """The request was sent, just now."""
        self._sent_at = at
        self._sent(at)

    def _error(self, code: int, status: int | None) -> ErrorCode:
        if self._is_head_too_large:
            return ErrorCode.HEADERS_TOO_LARGE
        return error_of(code, started=status is not None)

    def _detail(self, message: str) -> str:
        if self._leaves > 1:
            return "the server closed a connection that was to be used again"
        # libcurl quotes the server, which may have sent what is no text.
        text = message or str(self.curl.errstr())
        return text.encode("utf-8", "backslashreplace").decode()

    @property
    def _is_head_too_large(self) -> bool:
        too_long = self._head_bytes > self._max_header_bytes
        return too_long or self._head_lines > _MAX_HEADER_LINES

    def _on_header(self, line: bytes) -> int | None:
        self._head_bytes += len(line)
        self._head_lines += 1
        if self._head_bytes > self._max_header_bytes or self._head_lines > _MAX_HEADER_LINES:
            return -1
        line = line.rstrip(b"\r\n")
        if line.startswith(b"HTTP/"):
            self._head = [line]  # an interim response (1xx) came before
            self._head_is_whole = False
        elif line:
            self._head.append(line)
        else:
            self._head_is_whole = True
        return None

    def _on_body(self, chunk: bytes) -> int | None:
        room = self.fetch.max_body_bytes - self._body.tell()
        self._pieces += 1
        if len(chunk) > room or self._pieces > _MAX_PIECES:
            self._body.write(chunk[:room])
            self._truncated = True
            return -1
        self._body.write(chunk)
        return None

    def _on_send(self, *_connection: object) -> int:
        # libcurl sends again on its own when a connection it wanted to use once more was reset.
        # That would be a request nobody paced or counted: the caller has a ladder for that.
        self._leaves += 1
        may_leave = self._leaves == 1 and self._leave(self)
        return 0 if may_leave else 1  # PREREQFUNC_OK, PREREQFUNC_ABORT

    def _open_socket(
        self, _purpose: int, target: tuple[int, int, int, Sequence[object]]
    ) -> socket.socket | int:
        family, kind, protocol, place = target
        address = str(place[0])
        plain = str(ipaddress.ip_address(address))
        if self.via is not None:
            permitted = plain in self.via.addresses
        else:
            is_checked = plain in self.route.addresses
            permitted = is_checked and self._guard.permits(self.fetch.host, address)
        if not permitted:
            self._forbidden = True
            return -1  # SOCKET_BAD
        return _Socket(family, kind, protocol)


def _line(text: str) -> bytes:
    """One header line, whatever the text; bytes, since the binding takes only ASCII for text."""
    return _BREAKS.sub(" ", text).encode("latin-1", "replace")


def _pins(host: str, port: int, addresses: tuple[str, ...]) -> list[str]:
    """What tells libcurl where a name is; an address needs nothing.

    For every transfer anew, and with a plus: such an entry replaces the one before and leaves
    libcurl's cache by itself, so neither an old address nor a pile of them stays.
    """
    if not addresses or host in addresses or host[0] == "[":
        return []
    return [f"+{host}:{port}:{','.join(addresses)}"]


class _Socket(socket.socket):
    """What libcurl dials with is a duplicate; this one closes when it is let go of."""

    def __del__(self) -> None:
        self.close()
