"""The scheduling policy without any storage."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.frontier import policy
from skitter.frontier.policy import DomainState, Entry, JobQueue, Schedule
from skitter.models import Request
from skitter.politeness.rates import Rate


class Shelf:
    """A queue over a storage that is a list: what spilled is found there again."""

    def __init__(self) -> None:
        self.queue = JobQueue()
        self.plain: dict[int, Entry] = {}
        self.waiting: list[Entry] = []
        self._last = 0

    def offer(self, priority: int, *, delayed: bool) -> None:
        self._last += 1
        request = Request(url="", fingerprint=self._last, domain="", priority=priority)
        self._offer(Entry(self._last, 1, request, delayed=delayed))

    def pop(self) -> Entry:
        if self.queue.needs_refill:
            beyond = [e for e in self.plain.values() if e.key > self.queue.horizon]
            self.queue.refill(sorted(beyond, key=lambda e: e.key)[: policy.HEAP_ENTRIES])
        entry = self.queue.pop()
        self.waiting.remove(entry)
        self.plain.pop(entry.id, None)
        return entry

    def _offer(self, entry: Entry) -> None:
        self.waiting.append(entry)
        if not entry.delayed:
            self.plain[entry.id] = entry
        self.queue.offer(entry)


offers = st.tuples(st.integers(-3, 3), st.booleans())


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(st.lists(st.lists(offers, max_size=25) | st.integers(1, 12), max_size=12))
def test_a_queue_gives_its_best_entry_whatever_spilled(
    plays: list[list[tuple[int, bool]] | int],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "HEAP_ENTRIES", 3)
        shelf = Shelf()
        for play in [*plays, 10_000]:
            if isinstance(play, list):
                for priority, delayed in play:
                    shelf.offer(priority, delayed=delayed)
                continue
            for _ in range(min(play, len(shelf.waiting))):
                best = min(shelf.waiting, key=lambda e: e.key)
                # An entry read back is an equal one, not the same one.
                assert shelf.pop().id == best.id
                assert len(shelf.queue) == len(shelf.waiting)
        assert not shelf.queue


def test_memory_holds_a_bounded_part_of_a_large_queue() -> None:
    shelf = Shelf()
    for n in range(10 * policy.HEAP_ENTRIES):
        shelf.offer(n % 7, delayed=False)
    assert len(shelf.queue._heap) <= 2 * policy.HEAP_ENTRIES
    assert len(shelf.queue) == 10 * policy.HEAP_ENTRIES


def test_a_domain_moved_on_the_schedule_is_met_once_at_its_new_time() -> None:
    schedule = Schedule()
    near, far = (DomainState(n, str(n), Rate()) for n in (1, 2))
    schedule.list(near, 5.0)
    schedule.list(far, 1.0)
    schedule.list(far, 9.0)
    assert schedule.next_due_at() == 5.0
    assert [schedule.pop_due(20.0) for _ in range(3)] == [near, far, None]


def test_an_unlisted_domain_is_not_due() -> None:
    schedule = Schedule()
    domain = DomainState(1, "a.test", Rate())
    schedule.list(domain, 1.0)
    schedule.unlist(domain)
    assert (schedule.next_due_at(), schedule.pop_due(9.0)) == (None, None)


def test_a_domain_is_not_popped_before_its_time() -> None:
    schedule = Schedule()
    schedule.list(DomainState(1, "a.test", Rate()), 2.0)
    assert schedule.pop_due(1.75) is None
    assert schedule.pop_due(2.0) is not None
