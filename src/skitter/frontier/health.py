"""How a domain fares, as far as its transfers tell, and what follows for its rate.

Pure: reports go in, transitions come out. Whoever keeps a `Health` writes it to the storage when
`record` returns a transition, and only then.
"""

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from skitter.models import Sign, Transfer
from skitter.politeness.blocking import BlockingPolicy
from skitter.politeness.breaker import Breaker, BreakerPolicy, BreakerState
from skitter.politeness.rates import Rate
from skitter.politeness.throttle import Throttle, ThrottlePolicy

__all__ = ["Health", "HealthRow", "Rules", "Transition"]


class Rules(Struct, frozen=True, kw_only=True):
    """What holds beside the default rate and the back-off."""

    #: Domain -> its configured rate.
    rates: Mapping[str, Rate] = field(default_factory=dict)
    #: Domains that the configuration closes.
    barred: frozenset[str] = frozenset()
    breaker: BreakerPolicy = BreakerPolicy()
    throttle: ThrottlePolicy = ThrottlePolicy()
    blocking: BlockingPolicy = BlockingPolicy()
    #: Requests at once to one server_ip, and seconds between them, whatever the domains.
    server_concurrency: int = 32
    server_delay_s: float = 0.0
    #: A site that asks for a longer wait is not waited for.
    max_retry_after_s: float = 86_400.0
    #: After so long with nothing but failures, what waits for the domain fails; 0: never.
    give_up_s: float = 3_600.0


class Transition(Struct, frozen=True, kw_only=True):
    """Something changed. `rest_s`: the domain is to be left alone for so long."""

    event: str
    rest_s: float = 0.0
    reason: str = ""


class HealthRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a restart keeps; times are epoch seconds."""

    #: 0: the breaker is closed.
    breaker_until_s: float = 0.0
    breaker_opened_s: float = 0.0
    dead_until_s: float = 0.0
    dead_reason: str = ""
    failures: int = 0
    slowed: float = 1.0
    lowered: float = 1.0
    fewer: int = 0
    identity: int = 0


class Health:
    """One domain's. Times are monotonic seconds."""

    __slots__ = (
        "_answered",
        "_refused",
        "_walls",
        "breaker",
        "dead_reason",
        "dead_until",
        "fewer",
        "identity",
        "lowered",
        "opened_at",
        "throttle",
    )

    def __init__(self, identity: int = 0) -> None:
        #: None until the first failure: most domains never have one.
        self.breaker: Breaker | None = None
        self.opened_at = 0.0
        #: It has only failed for so long that nobody waits for it until then; 0: it has not.
        self.dead_until = 0.0
        self.dead_reason = ""
        self.throttle = Throttle()
        #: So many times gentler, for having blocked us.
        self.lowered = 1.0
        #: How often the number at once was halved, for rate limits met.
        self.fewer = 0
        self.identity = identity
        #: Good answers since the last that was not.
        self._answered = 0
        #: 403s and challenges in a row.
        self._refused = 0
        self._walls = 0

    def ease(self, rate: Rate) -> Rate:
        """The rate as it is at present: never above what was given."""
        eased = rate.eased(self.lowered * self.throttle.factor)
        if self.fewer:
            eased = replace(eased, concurrency=max(1, eased.concurrency >> self.fewer))
        return eased

    @property
    def until(self) -> float:
        """No request before this."""
        breaker = self.breaker
        return breaker.until if breaker is not None and breaker.opened else 0.0

    @property
    def breaker_state(self) -> BreakerState:
        """For people to look at."""
        return self.breaker.state if self.breaker is not None else BreakerState.CLOSED

    def record(self, transfer: Transfer, now: float, rules: Rules) -> Transition | None:
        """A transfer has ended."""
        sign = transfer.sign
        if sign is None:
            if transfer.age_s is None and self.breaker is not None:
                self.breaker.cancel(now)
            return None
        if sign is Sign.OK:
            return self._record_ok(transfer.elapsed_s, now, rules)
        if sign is Sign.FAILED:
            return self._record_failure(now, rules)
        # It answers, though not what was asked for.
        if self.breaker is not None and self.breaker.record(ok=True, now=now):
            return Transition(event="breaker_closed")
        return self._record_refusal(sign, rules.blocking)

    def is_dead(self, now: float) -> bool:
        """True: what waits for it fails at once. The first request after that is a probe."""
        if self.dead_until and now >= self.dead_until:
            self.dead_until = 0.0
        return self.dead_until > 0

    def give_up(self, until: float, reason: str) -> None:
        """Nobody waits for it until then."""
        self.dead_until, self.dead_reason = until, reason

    def limit(self) -> None:
        """A rate limit was met: from now on half as many at once."""
        self.fewer = min(self.fewer + 1, 16)
        self._answered = 0

    def _record_ok(self, elapsed_s: float, now: float, rules: Rules) -> Transition | None:
        self._refused = self._walls = 0
        self._answered += 1
        if self.breaker is not None and self.breaker.record(ok=True, now=now):
            return Transition(event="breaker_closed")
        if self.throttle.record(elapsed_s, rules.throttle):
            slowed = self.throttle.factor > 1
            return Transition(event="slowed" if slowed else "sped_up", reason=self._speed())
        if (self.lowered > 1 or self.fewer) and self._answered >= rules.blocking.forgive_transfers:
            self._answered = 0
            self.lowered = max(1.0, self.lowered / rules.blocking.factor)
            self.fewer = max(0, self.fewer - 1)
            return Transition(event="forgiven")
        return None

    def _record_failure(self, now: float, rules: Rules) -> Transition | None:
        if self.breaker is None:
            self.breaker = Breaker(rules.breaker, successes=self._answered)
        self._answered = 0
        was_open = self.breaker.opened
        if self.breaker.record(ok=False, now=now):
            self.opened_at = now
            reason = f"{self.breaker.in_a_row} failures in a row"
            return Transition(event="breaker_opened", reason=reason)
        if not was_open or self.breaker.state is not BreakerState.OPEN:
            return None
        if rules.give_up_s and now - self.opened_at >= rules.give_up_s:
            reason = f"nothing but failures for {rules.give_up_s:g} s"
            self.give_up(now + rules.give_up_s, reason)
            return Transition(event="given_up", reason=reason)
        return Transition(event="probe_failed")

    def _record_refusal(self, sign: Sign, policy: BlockingPolicy) -> Transition | None:
        self._answered = 0
        self._refused += sign is Sign.FORBIDDEN
        self._walls += sign is Sign.CHALLENGED
        if policy.challenges and self._walls >= policy.challenges:
            reason = f"blocked: {self._walls} challenges in a row"
        elif policy.forbidden and self._refused >= policy.forbidden:
            reason = f"blocked: {self._refused} times 403 in a row"
        else:
            return None
        self._refused = self._walls = 0
        self.identity += 1
        self.lowered = min(self.lowered * policy.factor, policy.max_factor)
        return Transition(event="blocked", rest_s=policy.rest_s, reason=reason)

    def _speed(self) -> str:
        present, usual = self.throttle.present_s, self.throttle.baseline_s
        return f"answers in {present:.1f} s, usually {usual:.1f} s"

    def row(self, behind_s: float) -> HealthRow:
        """What the storage keeps; `behind_s` is monotonic minus epoch time."""
        breaker = self.breaker
        opened = breaker is not None and breaker.opened
        return HealthRow(
            breaker_until_s=self.until - behind_s if opened else 0.0,
            breaker_opened_s=self.opened_at - behind_s if opened else 0.0,
            dead_until_s=self.dead_until - behind_s if self.dead_until else 0.0,
            dead_reason=self.dead_reason,
            failures=breaker.in_a_row if breaker is not None else 0,
            slowed=self.throttle.factor,
            lowered=self.lowered,
            fewer=self.fewer,
            identity=self.identity,
        )

    @classmethod
    def of_row(cls, row: HealthRow, rules: Rules, behind_s: float) -> "Health":
        """As it was when the row was written."""
        health = cls()
        if row.breaker_until_s:
            health.breaker = Breaker.restored(
                rules.breaker, row.breaker_until_s + behind_s, row.failures
            )
            health.opened_at = row.breaker_opened_s + behind_s
        if row.dead_until_s:
            health.give_up(row.dead_until_s + behind_s, row.dead_reason)
        health.throttle = Throttle(row.slowed)
        health.lowered, health.fewer, health.identity = row.lowered, row.fewer, row.identity
        return health
