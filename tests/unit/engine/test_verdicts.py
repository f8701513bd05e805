"""What a transfer means for its request, and what it says about its site."""

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from skitter.config.settings import Settings
from skitter.engine.verdicts import Judgement, judge
from skitter.fetch.base import FetchResult
from skitter.models import ErrorCode, Lease, Outcome, Request, Sign

SETTINGS = Settings()


def judged(result: FetchResult, tries: int = 0, random: float = 0.0, holds: int = 0) -> Judgement:
    request = Request(url="http://a.test/", fingerprint=1, domain="a.test")
    lease = Lease(token=1, job="j", request=request, tries=tries, holds=holds)
    return judge(lease, result, SETTINGS, now_s=1_000.0, random=random)


@pytest.mark.parametrize(
    ("result", "outcome", "sign"),
    [
        (FetchResult(status_code=200), Outcome.DONE, Sign.OK),
        (FetchResult(status_code=404), Outcome.DONE, Sign.OK),
        (FetchResult(status_code=301), Outcome.REDIRECTED, Sign.OK),
        (FetchResult(status_code=403), Outcome.DONE, Sign.FORBIDDEN),
        (FetchResult(status_code=429), Outcome.RETRY, Sign.LIMITED),
        (FetchResult(status_code=503), Outcome.RETRY, Sign.LIMITED),
        (FetchResult(status_code=500), Outcome.RETRY, Sign.FAILED),
        (FetchResult(status_code=408), Outcome.RETRY, Sign.FAILED),
        (FetchResult(error=ErrorCode.TIMEOUT), Outcome.RETRY, Sign.FAILED),
        (FetchResult(error=ErrorCode.DNS), Outcome.RETRY, None),
        (FetchResult(forbidden=True), Outcome.DROPPED, None),
        (
            FetchResult(status_code=403, head=(b"HTTP/1.1 403", b"cf-mitigated: challenge")),
            Outcome.RETRY,
            Sign.CHALLENGED,
        ),
    ],
)
def test_each_end_says_something(result: FetchResult, outcome: Outcome, sign: Sign | None) -> None:
    judgement = judged(result)
    assert (judgement.outcome, judgement.sign) == (outcome, sign)


def test_a_challenge_to_the_last_try_is_a_failure_that_says_so() -> None:
    result = FetchResult(status_code=403, head=(b"HTTP/1.1 403", b"cf-mitigated: challenge"))
    judgement = judged(result, tries=3)
    assert (judgement.outcome, judgement.error) == (
        Outcome.FAILED,
        "blocked: challenge by Cloudflare",
    )


@examples(max_examples=100, deadline=None, database=None, derandomize=True)
@given(st.integers(0, 9), st.floats(0, 1, exclude_max=True))
def test_the_ladder_is_never_earlier_than_set_and_has_an_end(tries: int, random: float) -> None:
    judgement = judged(FetchResult(error=ErrorCode.RESET), tries, random)
    delays_s = SETTINGS.retry.delays_s
    if tries >= len(delays_s):
        assert judgement.outcome is Outcome.FAILED
    else:
        least_s = delays_s[tries]
        assert judgement.outcome is Outcome.RETRY
        assert least_s <= judgement.after_s <= least_s * (1 + SETTINGS.retry.jitter)


def test_a_rate_limit_costs_no_try_but_not_for_ever() -> None:
    assert not judged(FetchResult(status_code=429), tries=3).costs_try
    assert judged(FetchResult(status_code=429), holds=9).outcome is Outcome.FAILED
