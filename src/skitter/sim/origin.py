"""What all connections share: the pages, how often each was asked, who is under way, the log."""

from collections import Counter

from msgspec import Struct

from skitter.clock import Clock
from skitter.sim.accesslog import Access, AccessLog
from skitter.sim.arrivals import monotonic_of
from skitter.sim.dice import Dice
from skitter.sim.replies import Replies, Reply
from skitter.sim.sickness import Infirmary
from skitter.sim.site import SimWeb, canonical_target

__all__ = ["Exchange", "Origin"]


class Exchange(Struct, frozen=True):
    """A request whose head was read and whose answer is not out yet."""

    method: bytes
    host: str
    path: str
    concurrent: int
    start_s: float
    start_monotonic_s: float


class Origin:
    """Every `begin` needs one `end`, or the host counts as busy for ever."""

    def __init__(self, web: SimWeb, *, log: AccessLog | None, clock: Clock) -> None:
        self._options = web.options
        self._replies = Replies(web)
        self._infirmary = Infirmary(web.hosts, web.options)
        self._log = log
        self._clock = clock
        self._dice = Dice(web.options.seed)
        self._asked: Counter[tuple[str, str]] = Counter()
        self._under_way: Counter[str] = Counter()
        self._begun = 0

    def begin(
        self, method: bytes, host: str, path: str, arrived_s: float | None = None
    ) -> Exchange:
        """Note that a request's head was wholly there at that moment, or is now."""
        self._begun += 1
        self._under_way[host] += 1
        concurrent = self._under_way[host]
        start_s = self._clock.time() if arrived_s is None else arrived_s
        start_monotonic_s = monotonic_of(start_s, self._clock)
        return Exchange(method, host, path, concurrent, start_s, start_monotonic_s)

    def end(self, exchange: Exchange, status: int) -> None:
        """Note that its answer is out, or never will be."""
        self._under_way[exchange.host] -= 1
        if self._log is not None:
            entry = Access(
                start_s=exchange.start_s,
                start_monotonic_s=exchange.start_monotonic_s,
                end_monotonic_s=self._clock.monotonic(),
                method=exchange.method.decode(),
                host=exchange.host,
                path=exchange.path,
                status=status,
                concurrent=exchange.concurrent,
            )
            self._log.add(entry)

    def reply(self, exchange: Exchange, *, gzip: bool) -> Reply:
        """The answer; GETs of a page that does not work yet are counted."""
        sick = self._infirmary.reply(exchange.host, exchange.path)
        if sick is not None:
            return sick
        reply = self._replies.get(exchange.host, exchange.path, gzip=gzip)
        if not reply.faults or exchange.method != b"GET":
            return reply
        key = exchange.host, canonical_target(exchange.path)
        asked = self._asked[key]
        if asked >= len(reply.faults):
            return reply
        self._asked[key] = asked + 1
        return self._replies.fault(reply.faults[asked])

    def delay_s(self) -> float:
        """How long the answer to the latest request is to be kept back."""
        delay_ms = self._options.latency_ms
        if self._options.jitter_ms:
            delay_ms += self._options.jitter_ms * self._dice.share("jitter", 0, self._begun)
        return delay_ms / 1000
