"""The set of descriptors libcurl waits for, as one descriptor the event loop can watch."""

import select
import selectors
from typing import Protocol

import pycurl

__all__ = ["Poll", "make_poll"]


class Poll(Protocol):
    """Becomes readable when any of its descriptors is ready."""

    def fileno(self) -> int:
        """The descriptor to watch."""
        ...

    def watch(self, fd: int, what: int) -> None:
        """Wait for `what` (libcurl's POLL_…) on a descriptor."""
        ...

    def unwatch(self, fd: int) -> None:
        """Forget a descriptor; unknown ones are ignored."""
        ...

    def ready(self) -> list[tuple[int, int]]:
        """Descriptors that are ready now, each with libcurl's CSELECT_… bits."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class EpollPoll:
    """Linux: straight on epoll, since `selectors` costs three times as much per change."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._events: dict[int, int] = {}

    def fileno(self) -> int:
        return self._epoll.fileno()

    def watch(self, fd: int, what: int) -> None:
        events = select.EPOLLIN if what & pycurl.POLL_IN else 0
        if what & pycurl.POLL_OUT:
            events |= select.EPOLLOUT
        known = self._events.get(fd)
        if known is None:
            self._epoll.register(fd, events)
        elif known != events:
            self._epoll.modify(fd, events)
        self._events[fd] = events

    def unwatch(self, fd: int) -> None:
        if self._events.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def ready(self) -> list[tuple[int, int]]:
        return [(fd, _CURL_BITS.get(events) or _bits(events)) for fd, events in self._epoll.poll(0)]

    def close(self) -> None:
        self._epoll.close()


class SelectorPoll:
    """Elsewhere (macOS: kqueue), on the standard library's best selector."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def fileno(self) -> int:
        return self._selector.fileno()

    def watch(self, fd: int, what: int) -> None:
        events = selectors.EVENT_READ if what & pycurl.POLL_IN else 0
        if what & pycurl.POLL_OUT:
            events |= selectors.EVENT_WRITE
        if fd in self._selector.get_map():
            self._selector.modify(fd, events)
        else:
            self._selector.register(fd, events)

    def unwatch(self, fd: int) -> None:
        if fd in self._selector.get_map():
            self._selector.unregister(fd)

    def ready(self) -> list[tuple[int, int]]:
        return [
            (
                key.fd,
                (pycurl.CSELECT_IN if events & selectors.EVENT_READ else 0)
                | (pycurl.CSELECT_OUT if events & selectors.EVENT_WRITE else 0),
            )
            for key, events in self._selector.select(0)
        ]

    def close(self) -> None:
        self._selector.close()


def make_poll() -> Poll:
    """The best one for this system."""
    return EpollPoll() if hasattr(select, "epoll") else SelectorPoll()


def _bits(events: int) -> int:
    mask: int = pycurl.CSELECT_IN if events & (select.EPOLLIN | select.EPOLLHUP) else 0
    if events & select.EPOLLOUT:
        mask |= pycurl.CSELECT_OUT
    if events & select.EPOLLERR:
        mask |= pycurl.CSELECT_ERR
    return mask


#: The common cases, without arithmetic.
_CURL_BITS = {1: 1, 4: 2, 5: 3}
