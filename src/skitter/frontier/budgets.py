"""How much a job spends on a domain, and on pages there that bring nothing new.

Two limits, both per job and domain:

* Pages in all, so that one domain cannot take everything.
* Barren pages of a pattern (see `skitter.urls.traps.pattern_of`). A page is barren if its text,
  numbers aside, was met before on the domain and yet it leads to new URLs, none of them of a
  pattern that is new there: what a calendar without events does. Each takes from the pattern's
  credit, more if it has very many links; a page with something new gives back. A pattern whose
  credit is spent is not fetched any more.

Pure state: whoever owns it stores `changed` rows with the completions that caused them. Only
patterns that were ever barren have an account, so most domains cost one number.
"""

import sys
from collections.abc import Container, Iterable
from time import gmtime

from msgspec import Struct

from skitter.config.settings import Traps
from skitter.frontier.policy import Entry
from skitter.frontier.seen import SeenSet
from skitter.models import Completion, DropReason, Outcome, Request, RequestKind
from skitter.urls.traps import TrapRules, find_trap, pattern_of

__all__ = ["BudgetPolicy", "BudgetRow", "Budgets", "account_of", "budget_policy"]

#: Job, domain, pattern ("" for the domain itself), pages, credit.
BudgetRow = tuple[int, int, str, int, float]
#: Job and domain.
_Key = tuple[int, int]

#: Texts and patterns met last, of all domains; what is older counts as new again.
_MEMORY_ENTRIES = 1 << 17
#: The first pages of a domain are all looked at,
_YOUNG_PAGES = 64
#: later one of so many (a power of two),
_STRIDE = 64
#: and all of them for so many pages after a barren one.
_WATCHED_PAGES = 256
#: A pattern that keeps bringing news may earn so many times the credit it began with.
_MOST_CREDIT = 10
#: A barren page with more new links than this costs more than one page.
_LINKS_PER_CREDIT = 100
#: The account of patterns for which there is no room, and of those in one folder.
_REST = "…"
_MASK = (1 << 64) - 1


class BudgetPolicy(Struct, frozen=True, kw_only=True):
    """The numbers; see the settings `traps`."""

    #: None: URLs are not judged by how they are written.
    rules: TrapRules | None = TrapRules()
    domain_pages: int = 100_000
    barren_pages: int = 64
    #: Accounts of a domain; the patterns beyond share one per folder, then one for all.
    max_patterns: int = 32


def budget_policy(traps: Traps) -> BudgetPolicy:
    """What a job may spend on a domain, and how it tells traps."""
    rules = TrapRules(
        max_path_depth=traps.max_path_depth,
        max_repeats=traps.max_repeats,
        max_segment_bytes=traps.max_segment_bytes,
        max_parameters=traps.max_parameters,
        max_years_ahead=traps.max_years_ahead,
        max_years_back=traps.max_years_back,
    )
    return BudgetPolicy(
        rules=rules if traps.enabled else None,
        domain_pages=traps.domain_pages,
        barren_pages=traps.barren_pages,
        max_patterns=traps.max_patterns,
    )


_NO_LIMITS = BudgetPolicy(rules=None, domain_pages=sys.maxsize, barren_pages=sys.maxsize)


class _Budget:
    """What was spent on one domain."""

    __slots__ = ("credits", "is_touched", "kinds", "open", "pages", "watched")

    def __init__(self) -> None:
        #: Fetched: all outcomes but dropped.
        self.pages = 0
        #: Leases that have not ended.
        self.open = 0
        #: Patterns met, of those remembered.
        self.kinds = 0
        self.watched = 0
        #: Its pages are to be stored.
        self.is_touched = False
        self.credits: dict[str, float] | None = None

    def account(self, pattern: str) -> str | None:
        """The name under which a pattern's credit is kept, if any is."""
        return account_of(pattern, self.credits) if self.credits else None


class Budgets:
    """The budgets of all jobs of one frontier; `now_s` tells the present year."""

    def __init__(self, policy: BudgetPolicy | None = None, now_s: float = 0.0) -> None:
        self._policy = policy or _NO_LIMITS
        self._year = gmtime(now_s).tm_year
        self._budgets: dict[_Key, _Budget] = {}
        #: Hashes with the domain in them; the order is that of use.
        self._texts: dict[int, None] = {}
        self._patterns: dict[int, None] = {}
        self._touched: set[tuple[int, int, str]] = set()

    def restore(self, rows: Iterable[BudgetRow]) -> None:
        """Take up what was stored."""
        for job, domain, pattern, pages, credit in rows:
            budget = self._of((job, domain))
            if not pattern:
                budget.pages = pages
            else:
                budget.credits = budget.credits or {}
                budget.credits[pattern] = credit

    def admit(self, entry: Entry, domain: int) -> bool:
        """Note on an entry that is about to be handed out whether it is to be fetched."""
        if self._policy is _NO_LIMITS:
            return True
        request = entry.request
        entry.drop = self.judge(entry.job, domain, request)
        if entry.drop is not None:
            return False
        budget = self.reopen(entry, domain)
        entry.wants_text = (
            request.fingerprint & (_STRIDE - 1) == 0
            or budget.watched > 0
            or budget.pages + budget.open <= _YOUNG_PAGES
        )
        return True

    def reopen(self, entry: Entry, domain: int) -> _Budget:
        """An entry is in somebody's hands."""
        budget = entry.budget = self._of((entry.job, domain))
        budget.open += 1
        return budget

    def close(self, entry: Entry) -> None:
        """It came back, whatever became of it."""
        entry.drop = None
        budget = entry.budget
        if isinstance(budget, _Budget):
            budget.open -= 1
            entry.budget = None

    def judge(self, job: int, domain: int, request: Request) -> DropReason | None:
        """Why a request that would be handed out must be dropped instead, if it must.

        What the operator asked for by name, and sitemaps, are always fetched.
        """
        if request.is_seed or request.kind is RequestKind.SITEMAP:
            return None
        policy = self._policy
        rules = policy.rules
        if rules and find_trap(request.url, request.parent, rules, self._year):
            return DropReason.TRAP
        budget = self._budgets.get((job, domain))
        if budget is None:
            return None
        if budget.pages + budget.open >= policy.domain_pages:
            return DropReason.BUDGET
        if budget.credits:
            name = budget.account(pattern_of(request.url))
            if name is not None and budget.credits[name] <= 0:
                return DropReason.BUDGET
        return None

    def count(
        self, entry: Entry, domain: int, completion: Completion, known: SeenSet | None
    ) -> None:
        """A request has ended; its links are those not `known`, as they are not added yet."""
        if completion.outcome is Outcome.DROPPED:
            return
        if self._policy is _NO_LIMITS:
            return
        key = entry.job, domain
        budget = self._of(key)
        budget.pages += 1
        if not budget.is_touched:
            budget.is_touched = True
            self._touched.add((*key, ""))
        if budget.watched:
            budget.watched -= 1
        if completion.text is not None:
            self._weigh(key, budget, entry.request, completion, known)

    def changed(self) -> list[BudgetRow]:
        """What must be stored since it was last asked for."""
        rows: list[BudgetRow] = []
        for job, domain, pattern in self._touched:
            budget = self._budgets[job, domain]
            budget.is_touched = False
            credit = budget.credits[pattern] if pattern and budget.credits else 0.0
            rows.append((job, domain, pattern, 0 if pattern else budget.pages, credit))
        self._touched.clear()
        return rows

    def forget(self, job: int) -> None:
        """A job is deleted."""
        self._budgets = {key: kept for key, kept in self._budgets.items() if key[0] != job}
        self._touched = {key for key in self._touched if key[0] != job}

    def _of(self, key: _Key) -> _Budget:
        budget = self._budgets.get(key)
        if budget is None:
            budget = self._budgets[key] = _Budget()
        return budget

    def _weigh(
        self,
        key: _Key,
        budget: _Budget,
        request: Request,
        completion: Completion,
        known: SeenSet | None,
    ) -> None:
        salt = hash(key)
        pattern = pattern_of(request.url)
        if _remember(self._patterns, _salted(hash(pattern), salt)):
            budget.kinds += 1
        if _remember(self._texts, _salted(completion.text or 0, salt)):
            self._give(key, budget, pattern)
            return
        links = [
            link for link in completion.links if known is None or link.fingerprint not in known
        ]
        if links and not self._lead_on(budget, salt, request.domain, links):
            budget.watched = _WATCHED_PAGES
            self._charge(key, budget, pattern, max(1.0, len(links) / _LINKS_PER_CREDIT))

    def _lead_on(self, budget: _Budget, salt: int, domain: str, links: list[Request]) -> bool:
        """Whether links lead to another domain or to a pattern that is new, while any can be.

        They are remembered: a pattern is new once.
        """
        if any(link.domain != domain for link in links):
            return True
        if budget.kinds >= self._policy.max_patterns:
            return False
        patterns = {pattern_of(link.url) for link in links}
        new = sum(_remember(self._patterns, _salted(hash(p), salt)) for p in patterns)
        budget.kinds += new
        return new > 0

    def _give(self, key: _Key, budget: _Budget, pattern: str) -> None:
        name = budget.account(pattern)
        if name is not None and budget.credits is not None:
            most = self._policy.barren_pages * _MOST_CREDIT
            budget.credits[name] = min(budget.credits[name] + 1, most)
            self._touched.add((*key, name))

    def _charge(self, key: _Key, budget: _Budget, pattern: str, price: float) -> None:
        credits_ = budget.credits
        if credits_ is None:
            credits_ = budget.credits = {}
        name = budget.account(pattern)
        if name is None:
            name, room = pattern, self._policy.max_patterns
            if len(credits_) >= room:
                name = _folder(pattern) if len(credits_) < 2 * room else _REST
        credits_[name] = credits_.get(name, self._policy.barren_pages) - price
        self._touched.add((*key, name))


def account_of(pattern: str, accounts: Container[str]) -> str | None:
    """Which of the accounts a pattern belongs to; None: it has none yet."""
    for name in (pattern, _folder(pattern), _REST):
        if name in accounts:
            return name
    return None


def _folder(pattern: str) -> str:
    """The account of what is below the first segment, or of any query at the same path."""
    path, mark, _ = pattern.partition("?")
    return f"{path}?{_REST}" if mark else f"/{path[1:].partition('/')[0]}/{_REST}"


def _salted(value: int, salt: int) -> int:
    return (value ^ salt) & _MASK


def _remember(memory: dict[int, None], key: int) -> bool:
    """True if it is new; what is met becomes the youngest."""
    is_new = memory.pop(key, 0) == 0
    memory[key] = None
    if len(memory) > _MEMORY_ENTRIES:
        del memory[next(iter(memory))]
    return is_new
