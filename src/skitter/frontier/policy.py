"""Which request comes next: the scheduling policy, apart from any storage.

Invariants:

* A `DomainState` is in the `Schedule` exactly when one of its jobs can be leased from, it is
  not blocked and has a free slot; its place there is the time it is due.
* A `JobQueue` keeps the best of its entries in memory. `horizon` is the key up to which
  memory is complete: whatever the storage has beyond it sorts after everything in `heap`.
"""

import heapq
from collections.abc import Iterable
from itertools import count

from msgspec import Struct

from skitter.frontier.health import Health
from skitter.models import DropReason, ErrorCode, Request
from skitter.politeness.backoff import BackoffState
from skitter.politeness.rates import Rate

__all__ = [
    "HEAP_ENTRIES",
    "MEMORY_ENTRIES",
    "DomainState",
    "Entry",
    "JobQueue",
    "Key",
    "Schedule",
    "Share",
]

#: Entries of one job and domain kept in memory; the rest waits in the storage.
HEAP_ENTRIES = 1_024
#: Entries of all queues together, above which each keeps only its share of so many.
MEMORY_ENTRIES = 32_768

#: Order within a job's queue: highest priority, then first accepted.
Key = tuple[int, int]
#: What a grant takes of a domain's rate: `tat` and `last_granted` before it, `tat` after it.
Share = tuple[float, float, float]
_END: Key = (1 << 62, 1 << 62)
_START: Key = (-(1 << 62), -(1 << 62))
_NEVER = float("-inf")
_CLEAN = BackoffState()


class Entry(Struct, eq=False):
    """A request in the queue, with what the storage knows of it."""

    id: int
    job: int
    request: Request
    tries: int = 0
    holds: int = 0
    #: Queued in the storage as delayed (its index does not list it).
    delayed: bool = False
    #: What puts it ahead of its equals; apart from the priority, which its links inherit.
    lift: int = 0
    #: Of its last grant, see `skitter.frontier.budgets`: not to be fetched; wanted of its page;
    #: the budget that counts it among what is under way.
    drop: DropReason | None = None
    wants_text: bool = False
    budget: object = None

    @property
    def key(self) -> Key:
        """Smallest first."""
        return (-self.rank, self.id)

    @property
    def rank(self) -> int:
        """The priority that it waits with."""
        return self.request.priority + self.lift


class JobQueue:
    """What one job has waiting at one domain."""

    __slots__ = ("_heap", "_pinned", "horizon", "stored", "turn")

    def __init__(self, stored: int = 0) -> None:
        self._heap: list[tuple[Key, Entry]] = []
        #: Delayed entries in the heap: they cannot be read back, so they never leave memory.
        self._pinned = 0
        #: Entries beyond the horizon, in the storage only.
        self.stored = stored
        self.horizon: Key = _START if stored else _END
        #: When this job was last served here; jobs of equal priority take turns.
        self.turn = 0

    def __len__(self) -> int:
        return len(self._heap) + self.stored

    @property
    def spillable(self) -> int:
        """Entries in memory that the storage could give back."""
        return len(self._heap) - self._pinned

    def offer(self, entry: Entry, keep: int | None = None) -> bool:
        """Take an entry into memory; False: it sorts beyond the horizon and stays in storage.

        With more than twice `keep` in memory, all but the best `keep` go back to the storage.
        """
        key = entry.key
        if self.stored and key > self.horizon and not entry.delayed:
            self.stored += 1
            return False
        heapq.heappush(self._heap, (key, entry))
        self._pinned += entry.delayed
        keep = HEAP_ENTRIES if keep is None else keep
        if len(self._heap) - self._pinned > 2 * keep:
            self._spill(keep)
        return True

    def _spill(self, keep: int) -> None:
        plain = sorted(item for item in self._heap if not item[1].delayed)
        pinned = [item for item in self._heap if item[1].delayed]
        self._heap = plain[:keep] + pinned
        heapq.heapify(self._heap)
        self.stored += len(plain) - keep
        # All plain entries were within the old horizon, so this one is nearer.
        self.horizon = plain[keep - 1][0] if keep else _START

    @property
    def needs_refill(self) -> bool:
        """True if the best entry is in the storage."""
        if not self.stored:
            return False
        return not self._heap or self._heap[0][0] > self.horizon

    def refill(self, entries: Iterable[Entry], limit: int | None = None) -> None:
        """Take what the storage had beyond the horizon, in order, up to `limit`."""
        limit = HEAP_ENTRIES if limit is None else limit
        loaded = 0
        last = self.horizon
        for entry in entries:
            last = entry.key
            heapq.heappush(self._heap, (last, entry))
            loaded += 1
        self.stored = self.stored - loaded if loaded == limit else 0
        self.horizon = last if self.stored else _END

    def best(self) -> Key | None:
        """The key of the next entry; None if memory is empty."""
        return self._heap[0][0] if self._heap else None

    def pop(self) -> Entry:
        """The next entry."""
        entry = heapq.heappop(self._heap)[1]
        self._pinned -= entry.delayed
        return entry


class DomainState:
    """A domain's queues and manners. Times are monotonic seconds."""

    __slots__ = (
        "_default",
        "_law",
        "_own",
        "backoff",
        "barred",
        "blocked",
        "crawl_delay_s",
        "health",
        "hold_reason",
        "holder",
        "id",
        "in_flight",
        "last_granted",
        "last_sent",
        "listed",
        "name",
        "queues",
        "rate",
        "server_ip",
        "tat",
    )

    def __init__(self, domain_id: int, name: str, default: Rate) -> None:
        self.id = domain_id
        self.name = name
        self.queues: dict[int, JobQueue] = {}
        self.in_flight = 0
        #: Who was last given a request.
        self.holder: str | None = None
        self.tat = self.last_granted = self.last_sent = _NEVER
        self.backoff = _CLEAN
        self.hold_reason: str | None = None
        #: By somebody's word, and by the configuration.
        self.blocked = self.barred = False
        #: Due time under which the schedule lists this domain; None: not listed.
        self.listed: float | None = None
        self.crawl_delay_s: float | None = None
        self._default = default
        self._own: Rate | None = None
        #: What is configured or asked for, and what is kept at present: never faster.
        self._law = self.rate = default
        #: None until a transfer has ended.
        self.health: Health | None = None
        #: Where its last transfer went.
        self.server_ip: str | None = None

    def set_manners(self, own: Rate | None, crawl_delay_s: float | None) -> None:
        """The stricter of the rate and the crawl-delay holds, from the last request on."""
        self._own, self.crawl_delay_s = own, crawl_delay_s
        rate = own or self._default
        # A burst would break any crawl-delay, however short: with one, requests are spaced.
        if crawl_delay_s and (crawl_delay_s > rate.interval_s or not rate.moderated):
            rate = Rate.of_delay(max(crawl_delay_s, rate.interval_s), rate.concurrency)
        self._law = rate
        rate = self.rate = self.health.ease(rate) if self.health is not None else rate
        spent = self.last_granted + rate.interval_s + rate.burst_s
        self.tat = spent if rate.moderated else min(self.tat, spent)

    def apply_health(self) -> None:
        """Its health, or what follows from it, has changed."""
        self.set_manners(self._own, self.crawl_delay_s)

    def add_crawl_delay(self, crawl_delay_s: float | None) -> None:
        """Another host's wish, of which the longest counts; None forgets them all."""
        longest_s = max(crawl_delay_s, self.crawl_delay_s or 0.0) if crawl_delay_s else None
        self.set_manners(self._own, longest_s)

    @property
    def own_rate(self) -> Rate | None:
        """The rate set for this domain alone."""
        return self._own

    @property
    def is_delayed_by_robots(self) -> bool:
        """True if the crawl-delay is what holds it back."""
        return self.crawl_delay_s is not None and self._law.interval_s == self.crawl_delay_s

    @property
    def law(self) -> Rate:
        """What is configured or asked for by robots.txt, the stricter of the two."""
        return self._law

    @property
    def is_special(self) -> bool:
        """True: something about it is not as for all."""
        return self.blocked or self.barred or self._own is not None or bool(self.hold_reason)

    @property
    def refusal(self) -> str:
        """Why nobody waits for it."""
        reason = self.health.dead_reason if self.health is not None else ""
        return f"{ErrorCode.UNREACHABLE.value}: {reason}"

    @property
    def waiting(self) -> int:
        """Requests in its queues."""
        return sum(len(queue) for queue in self.queues.values())

    @property
    def due_at(self) -> float:
        """When rate, holds and breaker allow the next request."""
        rate, health = self.rate, self.health
        paced = max(self.last_sent, self.last_granted) + rate.gap_s if rate.moderated else 0.0
        due_at = max(rate.due_at(self.tat), paced, self.backoff.until)
        if health is None:
            return due_at
        return _NEVER if health.dead_until else max(due_at, health.until)

    @property
    def is_closed(self) -> bool:
        """True: no request whatever the time: it is blocked, or has as many in flight as it may.

        One that has been given up needs no place in flight, since nothing is sent.
        """
        if self.blocked or self.barred:
            return True
        if self.in_flight < self.rate.concurrency:
            return False
        return self.health is None or not self.health.dead_until

    def may_go_to(self, worker: str) -> bool:
        """Whether a worker may be given a request of this domain.

        While some are in flight, only their holder knows when they really leave, so only the
        holder can keep the next one at its distance.
        """
        return not self.in_flight or self.holder == worker or self.rate.interval_s == 0

    def grant(self, now: float, worker: str) -> Share:
        """A request is handed out; returns what it takes of the rate."""
        self.holder = worker
        tat, last_granted = self.tat, self.last_granted
        self.in_flight += 1
        self.last_granted = now
        self.tat = self.rate.spend(tat, now)
        if self.health is not None and self.health.breaker is not None:
            self.health.breaker.begin(now)
        return tat, last_granted, self.tat

    def sent(self, at: float) -> None:
        """A request really left at `at`: the next one keeps its distance from that."""
        self.last_sent = max(self.last_sent, at)

    def refund(self, share: Share) -> None:
        """A granted request never left; after later grants its share is no longer free."""
        tat, last_granted, tat_after = share
        if self.tat == tat_after:
            self.tat, self.last_granted = tat, last_granted

    def start_over(self, now: float) -> None:
        """Who asked the domain last, and when, is not known: it waits a full delay."""
        self.last_granted = self.last_sent = now
        self.tat = now + self.rate.interval_s + self.rate.burst_s


class Schedule:
    """Domains by due time; entries that were overtaken are skipped when met."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, DomainState]] = []
        self._order = count()

    def list(self, domain: DomainState, due_at: float) -> None:
        """Put a domain at its due time, or move it there."""
        if domain.listed == due_at:
            return
        domain.listed = due_at
        heapq.heappush(self._heap, (due_at, next(self._order), domain))

    def unlist(self, domain: DomainState) -> None:
        """Take a domain out until it is listed again."""
        domain.listed = None

    def next_due_at(self) -> float | None:
        """When the first domain is due; None if none is listed."""
        self._skip_overtaken()
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> DomainState | None:
        """Take out the domain that has been due longest."""
        self._skip_overtaken()
        if not self._heap or self._heap[0][0] > now:
            return None
        domain = heapq.heappop(self._heap)[2]
        domain.listed = None
        return domain

    def _skip_overtaken(self) -> None:
        heap = self._heap
        while heap and heap[0][2].listed != heap[0][0]:
            heapq.heappop(heap)
