"""A name server that says exactly what a test tells it to, and remembers what it was asked."""

import ipaddress
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

NXDOMAIN = 3
SERVFAIL = 2
_A, _AAAA = 1, 28


class NameServer:
    """Answers from `zone`: a name's addresses, a response code, or None for silence.

    Names that are not in the zone do not exist.
    """

    def __init__(self, address: str = "127.0.0.1", *, ttl_s: int = 0) -> None:
        self.zone: dict[str, Sequence[str] | int | None] = {}
        self.ttl_s = ttl_s
        #: Silence for every name, as if nobody were there.
        self.silent = False
        self.asked: Counter[str] = Counter()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 0))
        self.place = f"{address}:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        # A datagram of no length is what ends the thread: closing would not wake it.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            question, sender = self._socket.recvfrom(4096)
            if not question:
                return
            answer = self._answer(question)
            if answer is not None:
                self._socket.sendto(answer, sender)

    def _answer(self, question: bytes) -> bytes | None:
        name, end = _name(question)
        kind = struct.unpack_from("!H", question, end)[0]
        if kind == _A:
            self.asked[name] += 1
        said = self.zone.get(name, NXDOMAIN)
        if self.silent or said is None:
            return None
        code = said if isinstance(said, int) else 0
        addresses = [] if isinstance(said, int) else [ipaddress.ip_address(text) for text in said]
        fitting = [a.packed for a in addresses if a.version == (4 if kind == _A else 6)]
        if kind not in {_A, _AAAA}:
            fitting = []
        head = question[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(fitting), 0, 0)
        records = [
            struct.pack("!HHHIH", 0xC00C, kind, 1, self.ttl_s, len(packed)) + packed
            for packed in fitting
        ]
        return head + question[12 : end + 4] + b"".join(records)


def _name(question: bytes) -> tuple[str, int]:
    """The name that is asked for, and where it ends."""
    labels, at = [], 12
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode().lower())
        at += 1 + length
    return ".".join(labels), at + 1


@contextmanager
def name_server(
    zone: dict[str, Sequence[str] | int | None], *, ttl_s: int = 0
) -> Iterator[NameServer]:
    """A `NameServer` until the block ends."""
    server = NameServer(ttl_s=ttl_s)
    server.zone = zone
    server.start()
    try:
        yield server
    finally:
        server.stop()
