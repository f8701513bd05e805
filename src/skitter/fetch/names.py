"""What is known about host names: addresses with a life time, names that do not exist. Pure.

Every address is put to the guard when it is learnt. Of a mixed answer the forbidden addresses are
dropped and the others used: what is not in the route cannot be dialled, so refusing the whole name
would add nothing and lose sites that publish a private address beside their public ones.
"""

import ipaddress
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from skitter.urls.address import AddressGuard

__all__ = ["Answer", "NameCache", "NoAnswer", "NoName", "Reply", "Route"]

#: A shorter life time would mean a lookup for nearly every request.
_MIN_TTL_S = 1.0
#: How long an expired address may stand in while name servers do not answer (RFC 8767, 5).
_MAX_STALE_S = 86_400.0
#: How long such a stand-in is used before the name servers are asked again.
_STALE_TTL_S = 30.0
#: Names remembered; the oldest are asked for again.
_MAX_NAMES = 20_000


class Answer(Struct, frozen=True, kw_only=True):
    """The addresses of a name."""

    addresses: tuple[str, ...]
    ttl_s: float


class NoName(Struct, frozen=True, kw_only=True):
    """The name servers say that there is no such name, or that it has no address."""

    detail: str


class NoAnswer(Struct, frozen=True, kw_only=True):
    """The name servers could not say."""

    detail: str


Reply = Answer | NoName | NoAnswer


class Route(Struct, frozen=True, kw_only=True, gc=False):
    """Where a host may be dialled: `addresses`, or in `detail` why nowhere."""

    addresses: tuple[str, ...] = ()
    detail: str = ""
    #: The name resolves, to addresses that are off limits.
    forbidden: bool = False
    expires_at: float = inf
    #: Until then it may be used though expired, for want of a newer one.
    stale_until: float = 0.0
    #: The name servers are down: worth another try after so long, and not the site's fault.
    retry_after_s: float | None = None


class NameCache:
    """Routes by host. Times are monotonic and passed in."""

    def __init__(
        self,
        guard: AddressGuard,
        *,
        max_ttl_s: float = 3_600.0,
        negative_ttl_s: float = 60.0,
        max_names: int = _MAX_NAMES,
    ) -> None:
        self._guard = guard
        self._max_ttl_s = max_ttl_s
        self._negative_ttl_s = negative_ttl_s
        self._max_names = max_names
        self._routes: dict[str, Route] = {}

    def get(self, host: str, now: float) -> Route | None:
        """A route that is still good; addresses in URLs always have one."""
        route = self._routes.get(host)
        if route is not None and route.expires_at > now:
            return route
        return self._literal(host) if route is None else None

    def learn(self, host: str, reply: Reply, now: float) -> Route:
        """The route that follows from what the name servers said."""
        if isinstance(reply, NoAnswer):
            return self.stand_in(host, now) or Route(detail=reply.detail, expires_at=now)
        if isinstance(reply, NoName):
            return self._keep(
                host, Route(detail=reply.detail, expires_at=now + self._negative_ttl_s)
            )
        ttl_s = max(_MIN_TTL_S, min(reply.ttl_s, self._max_ttl_s))
        route = self.checked(host, reply.addresses)
        expires_at = now + ttl_s
        return self._keep(
            host, replace(route, expires_at=expires_at, stale_until=expires_at + _MAX_STALE_S)
        )

    def stand_in(self, host: str, now: float) -> Route | None:
        """The last known address, when there is nobody to ask for a newer one."""
        route = self._routes.get(host)
        if route is None or route.stale_until <= now:
            return None
        if route.expires_at > now:
            return route
        return self._keep(host, replace(route, expires_at=now + _STALE_TTL_S))

    def prefer(self, host: str, address: str) -> None:
        """An address has answered: it is the first to try from now on."""
        route = self._routes.get(host)
        if route is not None and address in route.addresses:
            others = tuple(other for other in route.addresses if other != address)
            self._routes[host] = replace(route, addresses=(address, *others))

    def checked(self, host: str, addresses: tuple[str, ...]) -> Route:
        """A route over those of the addresses that the guard permits."""
        known = tuple(dict.fromkeys(str(ipaddress.ip_address(address)) for address in addresses))
        good = tuple(address for address in known if self._guard.permits(host, address))
        if good:
            return Route(addresses=good)
        return Route(forbidden=True, detail=f"not public: {', '.join(known)}")

    def _literal(self, host: str) -> Route | None:
        # Names of the web do not end in a digit or a bracket: addresses do.
        if not (host[-1:].isdigit() or host[-1:] == "]"):
            return None
        try:
            return self._keep(host, self.checked(host, (host.strip("[]"),)))
        except ValueError:
            return None

    def _keep(self, host: str, route: Route) -> Route:
        self._routes.pop(host, None)
        while len(self._routes) >= self._max_names:
            del self._routes[next(iter(self._routes))]
        self._routes[host] = route
        return route
