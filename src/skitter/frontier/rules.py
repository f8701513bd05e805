"""From the settings to what the frontier keeps: rates, breakers, limits."""

from msgspec.structs import asdict

from skitter.config.manners import DomainManners, Politeness
from skitter.config.settings import Settings
from skitter.frontier.health import Rules
from skitter.politeness.blocking import BlockingPolicy
from skitter.politeness.breaker import BreakerPolicy
from skitter.politeness.rates import Rate
from skitter.politeness.throttle import ThrottlePolicy

__all__ = ["default_rate", "domain_rate", "rules"]


def default_rate(settings: Settings) -> Rate:
    """The rate of every domain that has none of its own."""
    return domain_rate(DomainManners(), settings.politeness)


def domain_rate(own: DomainManners, default: Politeness) -> Rate:
    """A domain's rate; what it leaves out is as for all. A delay of its own wins over hits."""
    concurrency = own.concurrency or default.concurrency
    hits = own.hits or (default.hits if own.delay_s is None else 0)
    if not hits:
        delay_s = default.delay_s if own.delay_s is None else own.delay_s
        return Rate.of_delay(delay_s, concurrency)
    return Rate(
        hits=float(hits),
        window_s=own.window_s or default.window_s,
        moderated=default.moderated if own.moderated is None else own.moderated,
        elastic=default.elastic if own.elastic is None else own.elastic,
        scale=own.scale or default.scale,
        concurrency=concurrency,
    )


def rules(settings: Settings) -> Rules:
    """Everything else."""
    politeness, breaker = settings.politeness, asdict(settings.breaker)
    give_up_s = breaker.pop("give_up_s")
    rates = {name: domain_rate(own, politeness) for name, own in settings.domains.items()}
    most = max([politeness.concurrency, *(rate.concurrency for rate in rates.values())])
    return Rules(
        rates=rates,
        barred=frozenset(name for name, own in settings.domains.items() if own.blocked),
        breaker=BreakerPolicy(**breaker),
        throttle=ThrottlePolicy(**asdict(settings.throttle)),
        blocking=BlockingPolicy(**asdict(settings.blocking)),
        server_concurrency=max(politeness.server_concurrency, most),
        server_delay_s=politeness.server_delay_s,
        max_retry_after_s=settings.backoff.max_retry_after_s,
        give_up_s=give_up_s,
    )
