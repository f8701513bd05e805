"""The half of the embedded frontier that is about domains: manners, holds, health, servers."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

import msgspec
from msgspec.structs import replace

from skitter.clock import Clock
from skitter.errors import UsageError
from skitter.frontier.base import DomainInfo
from skitter.frontier.board import Board
from skitter.frontier.health import Health, Rules, Transition
from skitter.frontier.ledger import HeldLease, domain_info
from skitter.frontier.policy import DomainState
from skitter.frontier.restore import SQL
from skitter.models import RELEASED, DomainNews, Transfer
from skitter.politeness.backoff import BackoffPolicy
from skitter.politeness.rates import Rate
from skitter.sqlite import Database

__all__ = ["SqliteDomains"]

#: How soon a lease without a place on its server may try again; from then on its domain's
#: server is known, so it waits in line there.
_NO_PLACE_S = 0.05
#: Transitions that leave the worker's view and the rate as they were.
_SILENT = frozenset({"probe_failed"})


class SqliteDomains:
    """See `skitter.frontier.base.Frontier` for the contract of each verb."""

    _db: Database
    _board: Board
    _clock: Clock
    _rules: Rules
    _backoff: BackoffPolicy
    _default_rate: Rate
    _random: Callable[[], float]
    _changing: Callable[..., AbstractAsyncContextManager[None]]
    #: Worker -> what it has not been told yet: event, domain, reason, when the wait ends.
    _news: dict[str, list[tuple[str, DomainState, str, float]]]

    async def fetched(self, worker: str, transfers: Mapping[int, Transfer]) -> None:
        now = self._clock.monotonic()
        found = [self._board.held.get(token) for token in sorted(transfers)]
        ended = [held for held in found if held and held.worker == worker and held.slot]
        # Newest first: a share of the rate can be given back only while it is the latest one.
        for held in reversed(ended):
            age_s = transfers[held.token].age_s
            if age_s is not None:
                held.domain.sent(now - age_s)
            elif held.share is not None:
                held.domain.refund(held.share)
        changed = {}
        # Oldest first: domains that become due at the same moment keep their turn.
        for held in ended:
            transition = self._record(held, transfers[held.token], now)
            if transition is not None:
                changed[held.domain] = transition
            self._board.free_slot(held)
        if changed:
            await self._save_health(worker, changed)

    def _record(self, held: HeldLease, transfer: Transfer, now: float) -> Transition | None:
        domain = held.domain
        health = domain.health
        if health is None:
            if transfer.sign is None:
                return None
            health = domain.health = Health()
        transition = health.record(transfer, now, self._rules)
        if transition is not None:
            if transition.rest_s:
                until = max(domain.backoff.until, now + transition.rest_s)
                domain.backoff = replace(domain.backoff, until=until)
                domain.hold_reason = transition.reason
            domain.apply_health()
        return transition

    async def _save_health(self, worker: str, changed: Mapping[DomainState, Transition]) -> None:
        async with self._changing(durable=False):
            for domain, transition in changed.items():
                self._save_domain_health(domain)
                if transition.rest_s:
                    self._save_hold(domain)
                self._board.list(domain)
                if transition.event not in _SILENT:
                    self._tell(worker, domain, transition.event, transition.reason)

    def _tell(self, worker: str, domain: DomainState, event: str, reason: str) -> None:
        until = max(domain.backoff.until, domain.health.until if domain.health else 0.0)
        self._news.setdefault(worker, []).append((event, domain, reason, until))

    def _take_news(self, worker: str) -> list[DomainNews]:
        now = self._clock.monotonic()
        return [
            DomainNews(domain=d.name, event=event, wait_s=max(0.0, until - now), reason=reason)
            for event, d, reason, until in self._news.pop(worker)
        ]

    async def reserve(self, worker: str, servers: Mapping[int, str]) -> dict[int, float]:
        now = self._clock.monotonic()
        refused = {}
        for token, server_ip in servers.items():
            held = self._board.held.get(token)
            if held is None or held.worker != worker or not held.slot:
                continue
            if held.server_ip is not None:
                if held.server_ip == server_ip:
                    continue
                self._board.leave_server(held)
            held.domain.server_ip = server_ip
            places = self._board.servers
            if places.is_full(server_ip):
                refused[token] = _NO_PLACE_S
            elif places.due_at(server_ip) > now:
                refused[token] = places.due_at(server_ip) - now
            else:
                places.take(server_ip, now)
                held.server_ip = server_ip
        return refused

    async def hold(self, domain: str, retry_after_s: float | None, reason: str) -> float:
        async with self._changing():
            now = self._clock.monotonic()
            state = self._domain(domain)
            before = state.backoff
            state.backoff = self._backoff.next_state(before, now, retry_after_s, self._random())
            state.hold_reason = reason
            if now >= before.until:  # another incident: fewer at once when it is over
                state.health = state.health or Health()
                state.health.limit()
            if retry_after_s is not None and retry_after_s > self._rules.max_retry_after_s:
                state.health = state.health or Health()
                state.health.give_up(
                    state.backoff.until,
                    f"{reason}: told to wait {retry_after_s:g} s,"
                    f" more than backoff.max_retry_after_s ({self._rules.max_retry_after_s:g} s)",
                )
            state.apply_health()
            self._save_domain_health(state)
            self._save_hold(state)
            self._board.list(state)
        return max(0.0, state.backoff.until - now)

    async def rest(self, domain: str, wait_s: float, reason: str) -> None:
        async with self._changing():
            now = self._clock.monotonic()
            state = self._domain(domain)
            state.backoff = replace(state.backoff, until=now + wait_s)
            state.hold_reason = reason if wait_s else None
            if not wait_s and state.health is not None:
                # Whoever ends a hold wants the site asked now, whatever it did before.
                state.health = Health(identity=state.health.identity)
                state.apply_health()
            self._save_domain_health(state)
            self._save_hold(state)
            self._board.list(state)
            if state.holder is not None:
                self._tell(state.holder, state, "held" if wait_s else RELEASED, reason)

    async def set_rate(self, domain: str, rate: Rate | None) -> None:
        async with self._changing():
            state = self._domain(domain)
            state.set_manners(rate, state.crawl_delay_s)
            self._save_manners(state)

    async def set_crawl_delay(self, domain: str, crawl_delay_s: float | None) -> None:
        async with self._changing():
            state = self._domain(domain)
            state.add_crawl_delay(crawl_delay_s)
            self._save_manners(state)

    async def block(self, domain: str, *, blocked: bool = True) -> None:
        async with self._changing():
            state = self._domain(domain)
            if state.barred and not blocked:
                raise UsageError(f"{domain} is blocked by the configuration: change it there")
            state.blocked = blocked
            self._save_manners(state)

    async def domain(self, name: str) -> DomainInfo | None:
        state = self._board.domains.get(name)
        return None if state is None else domain_info(state, self._clock.monotonic())

    async def backlog(self, limit: int = 100) -> list[DomainInfo]:
        now = self._clock.monotonic()
        return [domain_info(domain, now) for domain in self._board.busiest(limit)]

    # Inside a transaction

    def _domain(self, name: str) -> DomainState:
        state = self._board.domains.get(name)
        if state is None:
            rate = self._rules.rates.get(name, self._default_rate)
            state = DomainState(len(self._board.domains) + 1, name, rate)
            state.barred = name in self._rules.barred
            self._board.domains[name] = state
            self._db.execute(SQL["add_domain"], (state.id, name))
        return state

    def _save_manners(self, state: DomainState) -> None:
        own = msgspec.json.encode(state.own_rate) if state.own_rate else None
        self._db.execute(
            SQL["set_manners"], (own, state.crawl_delay_s, int(state.blocked), state.id)
        )
        self._board.list(state)

    def _save_hold(self, state: DomainState) -> None:
        left_s = max(0.0, state.backoff.until - self._clock.monotonic())
        self._db.execute(
            SQL["set_hold"],
            (self._clock.time() + left_s, state.backoff.step, state.hold_reason, state.id),
        )

    def _save_domain_health(self, state: DomainState) -> None:
        self._db.execute(SQL["make_health"])
        if state.health is None:
            self._db.execute(SQL["clear_health"], (state.id,))
            return
        behind_s = self._clock.monotonic() - self._clock.time()
        row = msgspec.json.encode(state.health.row(behind_s))
        self._db.execute(SQL["set_health"], (state.id, row))
