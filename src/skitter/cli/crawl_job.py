"""From the flags of `skitter crawl` to a job: everything that is known before the network."""

import ipaddress
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from skitter.errors import InvalidURLError, UsageError
from skitter.models import JobSpec
from skitter.urls.address import is_public
from skitter.urls.fingerprint import job_id
from skitter.urls.normalize import host_of, operator_url
from skitter.urls.scope import compile_patterns

__all__ = [
    "CrawlJob",
    "Resolve",
    "check_header_value",
    "make_job",
    "parse_header",
    "parse_resolve",
    "reaches_strangers",
    "read_seeds",
]

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
#: Top-level names that are never on the public internet (RFC 6761, 6762, 9476).
_OWN_ZONES = frozenset({"alt", "internal", "invalid", "local", "localhost", "test"})
_MAX_JOB_NAME = 200


class CrawlJob(Struct, frozen=True, kw_only=True):
    """A job and its names."""

    name: str
    job_id: str
    spec: JobSpec

    @property
    def hosts(self) -> frozenset[str]:
        """What the operator typed: these may be anywhere, even on a private network."""
        return frozenset(host_of(seed) for seed in self.spec.seeds)


class Resolve(Struct, frozen=True, kw_only=True):
    """One `--resolve`: the entry as libcurl takes it, and its addresses."""

    entry: str
    addresses: tuple[str, ...]


def make_job(spec: JobSpec, name: str | None) -> CrawlJob:
    """Name a job: the same settings give the same id in any data folder."""
    compile_patterns(spec.allow, "--allow")
    compile_patterns(spec.deny, "--deny")
    canonical = msgspec.structs.replace(
        spec,
        seeds=tuple(sorted(spec.seeds)),
        allow=tuple(sorted(spec.allow)),
        deny=tuple(sorted(spec.deny)),
    )
    number = job_id(msgspec.json.encode(canonical))
    if name is not None and not (0 < len(name) <= _MAX_JOB_NAME and name.isprintable()):
        message = f"--job: 1 to {_MAX_JOB_NAME} printable characters"
        raise UsageError(message)
    return CrawlJob(name=name or f"{host_of(spec.seeds[0])}-{number[:8]}", job_id=number, spec=spec)


def read_seeds(words: Sequence[str]) -> tuple[str, ...]:
    """URLs, `@FILE` and `-` as normalised seeds, each once, in order."""
    seeds = tuple(dict.fromkeys(_all_seeds(words)))
    if not seeds:
        message = "no URL to start from"
        raise UsageError(message)
    return seeds


def _all_seeds(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        if word == "-":
            yield from _seeds_of_lines(sys.stdin, "standard input")
        elif word.startswith("@"):
            path = Path(word[1:])
            try:
                with path.open(encoding="utf-8") as lines:
                    yield from _seeds_of_lines(lines, str(path))
            except OSError as error:
                raise UsageError(f"cannot read {path}: {error.strerror}") from None
            except UnicodeDecodeError:
                raise UsageError(f"{path} is not a text file in UTF-8") from None
        else:
            yield operator_url(word)


def _seeds_of_lines(lines: Iterable[str], source: str) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            yield operator_url(text)
        except InvalidURLError as error:
            raise UsageError(f"{source}, line {number}: {error}") from None


def reaches_strangers(job: CrawlJob, resolve: Sequence[Resolve]) -> bool:
    """Whether a seed is on the public internet, as far as names tell."""
    return any(_is_strange(host, resolve) for host in job.hosts)


def _is_strange(host: str, resolve: Sequence[Resolve]) -> bool:
    for given in resolve:
        if given.entry.partition(":")[0] in {"*", host}:
            return any(map(is_public, given.addresses))
    name = host.rstrip(".")
    if name.startswith("[") or name.replace(".", "").isdigit():
        return is_public(name)
    return "." in name and name.rpartition(".")[2] not in _OWN_ZONES


def parse_header(text: str) -> tuple[str, str]:
    """`Name: value` of --header."""
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not _TOKEN.match(name):
        raise UsageError(f"--header {text!r}: write it as 'Name: value'")
    check_header_value(value, "--header")
    return name, value


def check_header_value(value: str, flag: str) -> str:
    """Refuse what would end a header line and start another."""
    if any(ord(char) < 32 or ord(char) == 127 for char in value):
        raise UsageError(f"{flag}: line breaks and control characters are not allowed")
    try:
        value.encode("latin-1")
    except UnicodeEncodeError:
        raise UsageError(f"{flag}: only characters of ISO-8859-1 fit in a header") from None
    return value


def parse_resolve(text: str) -> Resolve:
    """`HOST:PORT:ADDRESS[,ADDRESS…]` of --resolve."""
    host, _, rest = text.partition(":")
    port, _, addresses = rest.partition(":")
    advice = f"--resolve {text!r}: write it as HOST:PORT:ADDRESS, HOST may be *"
    if not host or not port.isdigit() or not 0 < int(port) < 65536 or not addresses:
        raise UsageError(advice)
    found = tuple(address.strip().strip("[]") for address in addresses.split(","))
    try:
        for address in found:
            ipaddress.ip_address(address)
    except ValueError as error:
        raise UsageError(f"--resolve {text!r}: {error}") from None
    return Resolve(entry=text, addresses=found)
