"""What a job says of itself to sites: the header lines of each of its identities.

Identity 0 is the honest one. A domain that has blocked it n times is asked as number n, if the
operator has named that many User-Agents; the list is gone through again and again.
"""

from collections.abc import Sequence

from skitter.models import JobSpec

__all__ = ["HeaderLines", "Identities"]

HeaderLines = tuple[str, ...]

#: What libcurl can decode; without this line it would say so itself, unseen by records.
_ACCEPT_ENCODING = "gzip, deflate, br"
_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
#: Sent only to the seeds' own origins.
_CREDENTIALS = frozenset({"authorization", "cookie", "proxy-authorization"})


class Identities:
    """The header lines of one job. The same tuple each time, so that it can be told by identity."""

    def __init__(self, spec: JobSpec, user_agents: Sequence[str]) -> None:
        """`user_agents`: the usual one, then those for after a block; `--user-agent` is first."""
        agents = (spec.user_agent or user_agents[0], *user_agents[1:])
        self._sets = tuple(_header_lines(spec, agent) for agent in agents)

    def lines(self, identity: int, *, trusted: bool) -> HeaderLines:
        """Header lines, with the job's credentials for an origin that is `trusted` with them."""
        public, private = self._sets[identity % len(self._sets)]
        return private if trusted else public


def _header_lines(spec: JobSpec, user_agent: str) -> tuple[HeaderLines, HeaderLines]:
    lines = {
        "user-agent": f"User-Agent: {user_agent}",
        "accept": f"Accept: {_ACCEPT}",
        "accept-encoding": f"Accept-Encoding: {_ACCEPT_ENCODING}",
    }
    secret: dict[str, str] = {}
    for name, value in spec.headers:
        target = secret if name.lower() in _CREDENTIALS else lines
        target[name.lower()] = f"{name}: {value}"
    if spec.cookie is not None:
        secret["cookie"] = f"Cookie: {spec.cookie}"
    public = tuple(lines.values())
    return public, (*public, *secret.values()) if secret else public
