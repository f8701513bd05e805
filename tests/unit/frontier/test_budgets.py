"""A domain and a pattern of it are worth so much, and more as long as they bring news."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.frontier.budgets import BudgetPolicy, Budgets
from skitter.frontier.policy import Entry
from skitter.models import Completion, DropReason, Outcome, Request, RequestKind
from skitter.urls.fingerprint import fingerprint

JOB, DOMAIN = 7, 3
POLICY = BudgetPolicy(domain_pages=1_000, barren_pages=10, max_patterns=8)
NOW_S = 1_790_000_000.0
EMPTY, NEWS = 1, 100


class Site:
    """Hands out and completes requests, as a frontier would."""

    def __init__(self, policy: BudgetPolicy = POLICY) -> None:
        self.budgets = Budgets(policy, NOW_S)
        self._numbers = count(1)
        self.fetched = 0

    def request(self, path: str, **values: object) -> Request:
        url = f"http://site.test{path}"
        given = {"parent": "http://site.test/", "domain": "site.test", **values}
        return Request(url=url, fingerprint=fingerprint(url), **given)  # type: ignore[arg-type]

    def visit(
        self,
        path: str,
        text: int | None = None,
        links: tuple[str, ...] = (),
        outcome: Outcome = Outcome.DONE,
        **values: object,
    ) -> DropReason | None:
        """Why a page is dropped, None if it was fetched and led to these links."""
        entry = Entry(next(self._numbers), JOB, self.request(path, **values))
        if not self.budgets.admit(entry, DOMAIN):
            return entry.drop
        self.fetched += 1
        found = tuple(self.request(link) for link in links)
        text = text if entry.wants_text else None
        completion = Completion(token=1, outcome=outcome, links=found, text=text)
        self.budgets.count(entry, DOMAIN, completion, None)
        self.budgets.close(entry)
        return None


def test_a_calendar_without_events_is_left_after_its_barren_pages() -> None:
    site = Site()
    drops = [site.visit(f"/day/{n}", EMPTY, (f"/day/{n + 1}",)) for n in range(50)]
    # The first page was news; its text was not met before.
    assert drops == [None] * 11 + [DropReason.BUDGET] * 39
    assert site.visit("/about", EMPTY) is None


def test_pages_with_something_new_are_fetched_for_ever() -> None:
    site = Site()
    assert {site.visit(f"/item/{n}", NEWS + n, (f"/item/{n + 1}",)) for n in range(900)} == {None}


def test_the_same_pages_without_further_links_are_no_trap() -> None:
    site = Site()
    assert {site.visit(f"/sold-out/{n}", EMPTY) for n in range(200)} == {None}


def test_news_earns_back_what_was_spent() -> None:
    site = Site()
    for n in range(200):
        links = (f"/mixed/{n + 1}",)
        assert site.visit(f"/mixed/{n}", EMPTY if n % 2 else NEWS + n, links) is None


def test_the_more_news_the_later_it_is_given_up() -> None:
    site = Site()
    site.visit("/blog/0", EMPTY, ("/blog/1",))
    site.visit("/blog/0", EMPTY, ("/blog/1",))
    for n in range(200):
        assert site.visit(f"/blog/{n}", NEWS + n, (f"/blog/{n + 1}",)) is None
    before = site.fetched
    while site.visit(f"/blog/{site.fetched}", EMPTY, ("/blog/x9",)) is None:
        pass
    # Ten times what it began with, never more.
    assert site.fetched - before == 10 * POLICY.barren_pages


def test_a_page_that_leads_to_a_new_kind_of_page_is_no_barren_one() -> None:
    site = Site(BudgetPolicy(barren_pages=1, max_patterns=1_000))
    for n in range(60):
        assert (
            site.visit(f"/menu/{n}", EMPTY, (f"/{'abcdefghij'[n // 6]}{'x' * (n % 6)}/",)) is None
        )


def test_a_tree_of_words_is_bounded_too() -> None:
    site = Site()
    names = ["-".join("abcdefgh"[int(digit)] for digit in f"{n:o}") for n in range(500)]
    drops = [site.visit(f"/tree/{name}", EMPTY, (f"/tree/{name}/z",)) for name in names]
    assert drops[-1] is DropReason.BUDGET
    # As many kinds as are remembered, as many accounts, and the folder's own.
    assert site.fetched <= 2 * POLICY.max_patterns + POLICY.barren_pages + 1
    assert site.visit("/elsewhere", EMPTY) is None


def test_a_page_of_ten_thousand_links_costs_a_hundred_times_as_much() -> None:
    site = Site(BudgetPolicy(barren_pages=64))
    links = tuple(f"/many/{n}" for n in range(10_000))
    drops = [site.visit(f"/many/{n}", EMPTY, links) for n in range(5)]
    assert drops == [None, None, *[DropReason.BUDGET] * 3]


def test_a_domain_has_its_cap() -> None:
    site = Site(BudgetPolicy(domain_pages=20))
    drops = [site.visit(f"/item/{n}", NEWS + n) for n in range(25)]
    assert drops == [None] * 20 + [DropReason.BUDGET] * 5


def test_what_is_under_way_counts_for_the_cap_and_what_is_dropped_does_not() -> None:
    site = Site(BudgetPolicy(domain_pages=2))
    held = [Entry(n, JOB, site.request(f"/{n}")) for n in range(3)]
    assert [site.budgets.admit(entry, DOMAIN) for entry in held] == [True, True, False]
    site.budgets.close(held[0])
    assert site.visit("/private", outcome=Outcome.DROPPED) is None
    assert site.budgets.admit(held[2], DOMAIN)


@pytest.mark.parametrize("values", [{"is_seed": True}, {"kind": RequestKind.SITEMAP}])
def test_what_was_asked_for_is_fetched(values: dict[str, object]) -> None:
    site = Site(BudgetPolicy(domain_pages=1))
    site.visit("/")
    assert site.visit("/x") is DropReason.BUDGET
    assert site.visit("/a/a/a/a", **values) is None


def test_a_url_that_is_written_like_a_trap_is_one_unless_rules_are_off() -> None:
    assert Site().visit("/a/b/a/b/a/b") is DropReason.TRAP
    assert Site(BudgetPolicy(rules=None)).visit("/a/b/a/b/a/b") is None


def test_jobs_and_domains_do_not_pay_for_each_other() -> None:
    site = Site(BudgetPolicy(domain_pages=1))
    site.visit("/")
    request = site.request("/x")
    assert site.budgets.judge(JOB, DOMAIN, request) is DropReason.BUDGET
    assert site.budgets.judge(JOB + 1, DOMAIN, request) is None
    assert site.budgets.judge(JOB, DOMAIN + 1, request) is None
    site.budgets.forget(JOB)
    assert site.budgets.judge(JOB, DOMAIN, request) is None


def test_of_a_large_site_few_pages_are_looked_at() -> None:
    site = Site(BudgetPolicy())
    wanted = 0
    for n in range(6_400):
        entry = Entry(n, JOB, site.request(f"/item/{n}"))
        site.budgets.admit(entry, DOMAIN)
        wanted += entry.wants_text
        done = Completion(token=1, outcome=Outcome.DONE, text=n if entry.wants_text else None)
        site.budgets.count(entry, DOMAIN, done, None)
        site.budgets.close(entry)
    assert 64 + 50 < wanted < 64 + 200


visits = st.lists(
    st.tuples(st.sampled_from(["/day/{}", "/item/{}", "/tree/{}/x", "/p?q={}"]), st.integers(0, 3)),
    max_size=150,
)


@given(visits)
def test_what_is_stored_is_what_is_known(steps: list[tuple[str, int]]) -> None:
    site, stored = Site(), {}
    for n, (path, text) in enumerate(steps):
        site.visit(path.format(n), text, (path.format(n + 1_000),))
        stored.update({row[:3]: row for row in site.budgets.changed()})
    again = Budgets(POLICY, NOW_S)
    again.restore(stored.values())
    for path in ("/day/9", "/item/9", "/tree/9/x", "/p?q=9", "/other"):
        request = site.request(path)
        assert again.judge(JOB, DOMAIN, request) == site.budgets.judge(JOB, DOMAIN, request)
    assert again.changed() == site.budgets.changed() == []
