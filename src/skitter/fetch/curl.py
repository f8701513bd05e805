"""Fetching on libcurl's multi interface, driven in batches from the event loop.

libcurl's sockets live in a poll object of our own, and the event loop watches only that one
descriptor: one wake-up serves every socket that is ready. A callback of the event loop per
socket would cost more than twice the CPU per request.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence

import pycurl
from msgspec import Struct

from skitter.clock import Clock
from skitter.fetch.base import Fetch, FetchResult, Sent
from skitter.fetch.curl_errors import error_of
from skitter.fetch.poll import make_poll
from skitter.models import ErrorCode
from skitter.urls.address import AddressGuard

__all__ = ["CurlFetcher", "CurlOptions"]

#: Bytes libcurl reads at once; larger reads mean fewer callbacks into Python.
_READ_BYTES = 256 * 1024


class CurlOptions(Struct, frozen=True, kw_only=True):
    """What is the same for every transfer."""

    connect_timeout_s: float = 10.0
    max_header_bytes: int = 256 * 1024
    min_rate_bytes_s: int = 10
    min_rate_window_s: int = 20
    http2: bool = True
    #: `HOST:PORT:ADDRESS` entries, as curl's --resolve.
    resolve: tuple[str, ...] = ()


class CurlFetcher:
    """See `skitter.fetch.base.Fetcher`."""

    def __init__(self, guard: AddressGuard, options: CurlOptions, clock: Clock) -> None:
        self._loop = asyncio.get_running_loop()
        self._guard = guard
        self._options = options
        self._clock = clock
        self._free: list[_Transfer] = []
        self._active: dict[pycurl.Curl, _Transfer] = {}
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._poll = make_poll()
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._kicked = False
        self._loop.add_reader(self._poll.fileno(), self._pump)

    def start(self, fetch: Fetch, done: Callable[[FetchResult], None], sent: Sent) -> None:
        transfer = self._free.pop() if self._free else self._new_transfer()
        transfer.begin(fetch, done, sent)
        self._active[transfer.curl] = transfer
        self._multi.add_handle(transfer.curl)
        self._kick()

    def abort(self) -> None:
        for curl in self._active:
            self._multi.remove_handle(curl)
        self._active.clear()

    async def aclose(self) -> None:
        self._closed = True
        self.abort()
        self._loop.remove_reader(self._poll.fileno())
        if self._timer is not None:
            self._timer.cancel()
        for transfer in self._free:
            transfer.curl.close()
        self._multi.close()
        self._poll.close()

    def _new_transfer(self) -> "_Transfer":
        return _Transfer(self._guard, self._options, self._clock)

    def _kick(self) -> None:
        """Run libcurl's timers once, soon, however many transfers were just started."""
        if not self._kicked:
            self._kicked = True
            self._loop.call_soon(self._run_timers)

    def _run_timers(self) -> None:
        self._kicked = False
        self._timer = None
        if not self._closed:
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
            self._collect()

    def _set_timer(self, timeout_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if timeout_ms == 0:
            self._kick()
        elif timeout_ms > 0:
            self._timer = self._loop.call_later(timeout_ms / 1000, self._run_timers)

    def _watch(self, what: int, fd: int, _multi: object, _data: object) -> None:
        if what == pycurl.POLL_REMOVE:
            self._poll.unwatch(fd)
        else:
            self._poll.watch(fd, what)

    def _pump(self) -> None:
        action = self._multi.socket_action
        for fd, events in self._poll.ready():
            action(fd, events)
        self._collect()

    def _collect(self) -> None:
        """Hand out what has finished."""
        while True:
            queued, done, failed = self._multi.info_read()
            for curl in done:
                self._finish(curl, 0, "")
            for curl, code, message in failed:
                self._finish(curl, code, message)
            if not queued:
                return

    def _finish(self, curl: pycurl.Curl, code: int, message: str) -> None:
        transfer = self._active.pop(curl)
        self._multi.remove_handle(curl)
        result, done = transfer.end(code, message)
        self._free.append(transfer)
        done(result)


class _Transfer:
    """A reusable easy handle and the buffers of the transfer it is running.

    The buffers belong to the transfer until `end`, which hands them over and forgets them.
    """

    def __init__(self, guard: AddressGuard, options: CurlOptions, clock: Clock) -> None:
        self.curl = curl = pycurl.Curl()
        self._guard = guard
        self._monotonic = clock.monotonic
        self._max_header_bytes = options.max_header_bytes
        self._headers: tuple[str, ...] | None = None
        self._timeout_s = 0.0
        self._reset()
        set_ = curl.setopt
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
        if options.resolve:
            set_(pycurl.RESOLVE, list(options.resolve))
        set_(pycurl.WRITEFUNCTION, self._on_body)
        set_(pycurl.HEADERFUNCTION, self._on_header)
        set_(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        set_(pycurl.PREREQFUNCTION, self._on_send)

    def begin(self, fetch: Fetch, done: Callable[[FetchResult], None], sent: Sent) -> None:
        self._fetch = fetch
        self._done = done
        self._sent = sent
        self._reset()
        self.curl.setopt(pycurl.URL, fetch.url)
        if fetch.headers is not self._headers:
            self.curl.setopt(pycurl.HTTPHEADER, list(fetch.headers))
            self._headers = fetch.headers
        if fetch.timeout_s != self._timeout_s:
            self.curl.setopt(pycurl.TIMEOUT_MS, int(fetch.timeout_s * 1000))
            self._timeout_s = fetch.timeout_s

    def end(self, code: int, message: str) -> tuple[FetchResult, Callable[[FetchResult], None]]:
        curl, info = self.curl, self.curl.getinfo
        status = info(pycurl.RESPONSE_CODE) or None
        error = None if code == 0 or self._truncated else self._error(code, status)
        result = FetchResult(
            status_code=status,
            head=tuple(self._head),
            body=b"".join(self._chunks),
            truncated="length" if self._truncated else None,
            error=error,
            detail="" if error is None else message or curl.errstr(),
            forbidden=self._forbidden,
            sent_at=self._sent_at,
            elapsed_s=info(pycurl.TOTAL_TIME),
            server_ip=info(pycurl.PRIMARY_IP) or None,
        )
        done = self._done
        self._reset()
        return result, done

    def _reset(self) -> None:
        self._head: list[bytes] = []
        self._head_bytes = 0
        self._chunks: list[bytes] = []
        self._body_bytes = 0
        self._truncated = False
        self._forbidden = False
        self._sent_at: float | None = None

    def _error(self, code: int, status: int | None) -> ErrorCode:
        if self._head_bytes > self._max_header_bytes:
            return ErrorCode.HEADERS_TOO_LARGE
        return error_of(code, started=status is not None)

    def _on_header(self, line: bytes) -> int | None:
        self._head_bytes += len(line)
        if self._head_bytes > self._max_header_bytes:
            return -1
        line = line.rstrip(b"\r\n")
        if line.startswith(b"HTTP/"):
            self._head = [line]  # an interim response (1xx) came before
        elif line:
            self._head.append(line)
        return None

    def _on_body(self, chunk: bytes) -> int | None:
        room = self._fetch.max_body_bytes - self._body_bytes
        if len(chunk) > room:
            self._chunks.append(chunk[:room])
            self._truncated = True
            return -1
        self._body_bytes += len(chunk)
        self._chunks.append(chunk)
        return None

    def _on_send(self, *_connection: object) -> int:
        self._sent_at = self._monotonic()
        self._sent(self._sent_at)
        return 0  # PREREQFUNC_OK

    def _open_socket(
        self, _purpose: int, target: tuple[int, int, int, Sequence[object]]
    ) -> socket.socket | int:
        family, kind, protocol, address = target
        if not self._guard.permits(self._fetch.host, str(address[0])):
            self._forbidden = True
            return -1  # SOCKET_BAD
        return socket.socket(family, kind, protocol)
