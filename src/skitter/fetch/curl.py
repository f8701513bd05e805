"""Fetching on libcurl's multi interface, driven in batches from the event loop.

libcurl's sockets live in a poll object of our own, and the event loop watches only that one
descriptor: one wake-up serves every socket that is ready. A callback of the event loop per
socket would cost more than twice the CPU per request.
"""

import asyncio
from collections.abc import Callable
from functools import partial

import pycurl

from skitter.clock import Clock
from skitter.fetch.base import Fetch, FetchResult, Sent
from skitter.fetch.dns import Resolver
from skitter.fetch.exits import Exit, Exits
from skitter.fetch.names import Route
from skitter.fetch.poll import make_poll
from skitter.fetch.transfer import CurlOptions, Done, Transfer, problem_of
from skitter.urls.address import AddressGuard
from skitter.urls.normalize import port_of

__all__ = ["CurlFetcher", "CurlOptions"]


class CurlFetcher:
    """See `skitter.fetch.base.Fetcher`."""

    def __init__(
        self,
        guard: AddressGuard,
        resolver: Resolver,
        options: CurlOptions,
        clock: Clock,
        *,
        exits: Exits | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._guard = guard
        self._resolver = resolver
        self._options = options
        self._clock = clock
        #: None: straight to the sites; else never.
        self._exits = exits
        self.may_send: Callable[[], bool] = lambda: True
        self._free: list[Transfer] = []
        #: Ends of fetches that could not begin, not told yet.
        self._refusals: set[asyncio.Handle] = set()
        self._active: dict[pycurl.Curl, Transfer] = {}
        #: Sent by libcurl since it was last called.
        self._left: list[Transfer] = []
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._poll = make_poll()
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._kicked = False
        self._loop.add_reader(self._poll.fileno(), self._pump)

    def start(self, fetch: Fetch, done: Done, sent: Sent) -> None:
        port = port_of(fetch.url)
        route = self._resolver.route(fetch.host, port)
        if route is not None:
            self._launch(fetch, port, done, sent, route)
        else:
            self._resolver.find(fetch.host, partial(self._launch, fetch, port, done, sent))

    def prepare(self, fetch: Fetch, ready: Callable[[], None]) -> bool:
        if self._resolver.route(fetch.host, port_of(fetch.url)) is not None:
            return True
        self._resolver.find(fetch.host, lambda _route: ready())
        return False

    def server_ip(self, fetch: Fetch) -> str | None:
        route = self._resolver.route(fetch.host, port_of(fetch.url))
        return route.addresses[0] if route is not None and route.addresses else None

    def abort(self) -> None:
        self._resolver.abort()
        if self._exits is not None:
            self._exits.abort()
        for refusal in self._refusals:
            refusal.cancel()
        self._refusals.clear()
        for curl in self._active:
            self._multi.remove_handle(curl)
        self._active.clear()

    async def aclose(self) -> None:
        self._closed = True
        self.abort()
        self._resolver.close()
        if self._exits is not None:
            self._exits.close()
        self._loop.remove_reader(self._poll.fileno())
        if self._timer is not None:
            self._timer.cancel()
        for transfer in self._free:
            transfer.curl.close()
        self._multi.close()
        self._poll.close()

    def _launch(self, fetch: Fetch, port: int, done: Done, sent: Sent, route: Route) -> None:
        exits = self._exits
        needs_address = exits is None or not exits.resolves_names
        problem = problem_of(fetch, route, needs_address=needs_address)
        if problem is not None:
            self._refuse(problem, done)
        elif exits is None:
            self._begin(fetch, port, route, done, sent)
        else:

            def found(via: Exit | FetchResult) -> None:
                if isinstance(via, FetchResult):
                    self._refuse(via, done)
                else:
                    self._begin(fetch, port, route, done, sent, via=via)

            exits.find(fetch, found)

    def _begin(
        self,
        fetch: Fetch,
        port: int,
        route: Route,
        done: Done,
        sent: Sent,
        *,
        via: Exit | None = None,
    ) -> None:
        transfer = self._free.pop() if self._free else self._new_transfer()
        transfer.begin(fetch, port, route, done, sent, via=via)
        self._active[transfer.curl] = transfer
        self._multi.add_handle(transfer.curl)
        self._kick()

    def _refuse(self, problem: FetchResult, done: Done) -> None:
        """Later, as every other end: whoever starts a fetch need not expect one at once."""

        def tell() -> None:
            self._refusals.discard(handle)
            done(problem)

        handle = self._loop.call_soon(tell)
        self._refusals.add(handle)

    def _new_transfer(self) -> Transfer:
        return Transfer(self._guard, self._options, self._leave)

    def _leave(self, transfer: Transfer) -> bool:
        may_send = self.may_send()
        if may_send:
            self._left.append(transfer)
        return may_send

    def _note_sent(self) -> None:
        """Stamp what left, by now: an earlier time would let the next request come too near."""
        left, self._left = self._left, []
        for transfer in left:
            transfer.left(self._clock.monotonic())

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
            self._note_sent()
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
            if self._left:
                self._note_sent()
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
        via, blame = transfer.via, transfer.blame(code, message)
        result, done = transfer.end(code, message)
        server_ip = result.server_ip
        if result.status_code and server_ip and server_ip != transfer.route.addresses[0]:
            self._resolver.prefer(transfer.fetch.host, server_ip)
        self._free.append(transfer)
        if via is not None and self._exits is not None:
            result = self._exits.judged(via, result, blame)
        done(result)
