"""What makes two requests the same."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.urls.fingerprint import fingerprint, job_id, record_id
from skitter.urls.normalize import normalize

EVERY_DAY = settings(max_examples=200, deadline=None, database=None, derandomize=True)

words = st.text("abcxyz019=%-", max_size=6)
queries = st.lists(words, min_size=1, max_size=8)


@EVERY_DAY
@given(queries, st.integers())
def test_the_order_of_the_query_does_not_matter(parts: list[str], seed: int) -> None:
    shuffled = Random(seed).sample(parts, len(parts))
    one, other = (f"http://a.test/p?{'&'.join(q)}" for q in (parts, shuffled))
    assert fingerprint(one) == fingerprint(other)


@EVERY_DAY
@given(words, words)
def test_a_fragment_does_not_matter(path: str, fragment: str) -> None:
    plain, marked = f"http://a.test/{path}", f"http://a.test/{path}#{fragment}"
    assert fingerprint(normalize(plain)) == fingerprint(normalize(marked))


@EVERY_DAY
@given(st.text(max_size=50))
def test_it_is_a_signed_64_bit_number(text: str) -> None:
    assert -(2**63) <= fingerprint(normalize("http://a.test/" + text)) < 2**63


def test_different_requests_differ() -> None:
    urls = ["http://a.test/", "https://a.test/", "http://a.test/?", "http://a.test/?a", "http://b/"]
    urls += ["http://a.test/?a&a", "http://a.test/?a=1&b=2", "http://a.test/?a=2&b=1"]
    found = {fingerprint(url) for url in urls}
    found |= {fingerprint(urls[0], "POST"), fingerprint(urls[0], "POST", b"x")}
    assert len(found) == len(urls) + 2
    assert len({fingerprint(f"http://a.test/{n}") for n in range(50_000)}) == 50_000


def test_ids_are_the_same_in_every_version() -> None:
    # Records and jobs already written carry these.
    assert fingerprint("http://a.test/") == 7679816403455776750
    assert record_id("j", 1, 0) == "3222129a6ee9b0f0c608fab039e6e439"
    assert job_id(b"{}") == "dc7048f8f8747f561349cde127705c16"


def test_a_record_id_tells_job_request_and_generation_apart() -> None:
    ids = {record_id(job, n, g) for job in ("a", "b") for n in (1, 11) for g in (0, 1)}
    assert len(ids) == 8
    assert all(len(one) == 32 for one in ids)
