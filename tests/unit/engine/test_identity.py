"""What a job says of itself, and to whom it tells its secrets."""

from hypothesis import given
from hypothesis import strategies as st

from skitter.config.settings import Fetch
from skitter.engine.plan import JobPlan
from skitter.frontier.base import JobInfo
from skitter.models import JobCounts, JobSpec, JobState
from skitter.urls.normalize import normalize, origin_of

SEED = "https://www.example.com:8443/start"
SETTINGS = Fetch(user_agent="honest/1", user_agents=("b/1", "c/1"))


def plan_of(settings: Fetch = SETTINGS, *scope_seeds: str, **spec: object) -> JobPlan:
    info = JobInfo(
        name="job",
        job_id="1",
        spec=JobSpec(seeds=(SEED,), **spec),  # type: ignore[arg-type]
        state=JobState.RUNNING,
        counts=JobCounts(),
        scope_seeds=(SEED, *scope_seeds),
        version=1,
        max_pages=None,
        created_s=0.0,
    )
    return JobPlan(info, settings)


def agent(plan: JobPlan, identity: int) -> str:
    return plan.headers_for(SEED, identity)[0]


def test_without_a_list_every_identity_is_the_honest_one() -> None:
    plan = plan_of(Fetch(user_agent="honest/1"))
    assert {agent(plan, number) for number in range(5)} == {"User-Agent: honest/1"}


def test_further_user_agents_are_for_after_a_block() -> None:
    agents = [agent(plan_of(), number) for number in range(4)]
    assert agents == [f"User-Agent: {name}/1" for name in ("honest", "b", "c", "honest")]
    own = plan_of(user_agent="mine/1")
    assert [agent(own, number) for number in range(2)] == ["User-Agent: mine/1", "User-Agent: b/1"]


URLS = st.builds(
    lambda scheme, who, host, port, path: normalize(f"{scheme}://{who}{host}{port}/{path}"),
    st.sampled_from(["http", "https"]),
    st.sampled_from(["", "www.example.com@", "a:b@"]),
    st.sampled_from(["www.example.com", "example.com", "WWW.EXAMPLE.COM", "www.example.com.", "e"]),
    st.sampled_from(["", ":8443", ":443", ":80"]),
    st.sampled_from(["", "start", "x?https://www.example.com:8443/"]),
)


@given(URLS, st.integers(0, 9))
def test_credentials_go_to_the_origin_that_was_typed(url: str, identity: int) -> None:
    """Another scheme, port, host or user is another origin; so is where a seed redirects to."""
    headers = (("Authorization", "Bearer x"), ("proxy-authorization", "y"), ("X-Mine", "z"))
    plan = plan_of(SETTINGS, "http://www.example.com/moved", headers=headers, cookie="a=b")
    lines = plan.headers_for(url, identity)
    names = {line.partition(":")[0].lower() for line in lines}
    secrets = {"authorization", "proxy-authorization", "cookie"}
    assert names & secrets == (secrets if origin_of(url) == origin_of(SEED) else set())
    assert "X-Mine: z" in lines
