import pytest

from skitter.cli.crawl import crawl
from skitter.cli.crawl_job import make_job, parse_resolve, reaches_strangers
from skitter.cli.failures import share_failed
from skitter.models import JobSpec, Scope


@pytest.mark.parametrize(
    ("seeds", "resolve", "strangers"),
    [
        (["http://example.com/"], [], True),
        (["http://8.8.8.8/"], [], True),
        (["http://127.0.0.1:8080/", "http://example.com/"], [], True),
        (["http://[2606:4700::1111]/"], [], True),
        (["http://127.0.0.1:8080/"], [], False),
        (["http://[::1]:8080/"], [], False),
        (["http://10.1.2.3/"], [], False),
        (["http://localhost/"], [], False),
        (["http://intranet/"], [], False),
        (["http://site0001.test/"], [], False),
        (["http://example.com/"], ["example.com:80:127.0.0.1"], False),
        (["http://example.com/"], ["*:80:127.0.0.1"], False),
        (["http://example.com/"], ["example.org:80:127.0.0.1"], True),
        (["http://site0001.test/"], ["*:80:8.8.8.8"], True),
    ],
)
def test_who_is_asked_is_known_by_name(
    seeds: list[str], resolve: list[str], strangers: bool
) -> None:
    job = make_job(JobSpec(seeds=tuple(seeds)), None)
    assert reaches_strangers(job, [parse_resolve(text) for text in resolve]) is strangers


def test_every_scope_can_be_chosen() -> None:
    (option,) = (param for param in crawl.params if param.name == "scope")
    assert list(option.type.choices) == [scope.value for scope in Scope]


@pytest.mark.parametrize(
    ("pages", "failed", "share"),
    [
        (0, 0, None),
        (95, 5, None),
        (94, 6, "6% of requests"),
        (0, 1, "every request"),
    ],
)
def test_a_few_failures_are_nothing_unusual(pages: int, failed: int, share: str | None) -> None:
    assert share_failed(pages, failed) == share
