"""Drives a frontier until it is killed, saying what was acknowledged, line by line.

Started as a process of its own: `python victim.py FOLDER ROUND`. Each round uses other URLs.
"""

import asyncio
import sys
from itertools import count
from pathlib import Path
from random import Random

from skitter.clock import SystemClock
from skitter.frontier.sqlite import SqliteFrontier
from skitter.models import Completion, JobSpec, Outcome, Request
from skitter.politeness.backoff import BackoffPolicy
from skitter.politeness.rates import Rate

OUTCOMES = (Outcome.DONE, Outcome.DONE, Outcome.FAILED, Outcome.RETRY)


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201 - the pipe is how it is watched


def request(number: int) -> Request:
    domain = f"d{number % 5}.test"
    return Request(url=f"http://{domain}/{number}", fingerprint=number, domain=domain)


async def drive(folder: Path, life: int) -> None:
    frontier = SqliteFrontier(
        folder / "frontier.sqlite",
        clock=SystemClock(),
        default_rate=Rate.of_delay(0.0, concurrency=1_000),
        backoff=BackoffPolicy(),
    )
    await frontier.open_job("job", "id", JobSpec(seeds=()), max_pages=None)
    for worker in await frontier.leases():
        await frontier.reap(worker)
    dice = Random(life)
    numbers = count(life * 1_000_000)
    say("ready")
    while True:
        added = [next(numbers) for _ in range(20)]
        await frontier.add("job", [request(number) for number in added])
        say("added", *added)
        leases = (await frontier.lease(f"w{life}", 15)).leases
        links = [next(numbers) for _ in leases]
        completions = [
            Completion(token=lease.token, outcome=dice.choice(OUTCOMES), links=(request(link),))
            for lease, link in zip(leases, links, strict=True)
        ]
        await frontier.complete(f"w{life}", completions)
        for lease, link, completion in zip(leases, links, completions, strict=True):
            if completion.outcome is not Outcome.RETRY:
                say("ended", completion.outcome.value, lease.request.fingerprint, link)


if __name__ == "__main__":
    asyncio.run(drive(Path(sys.argv[1]), int(sys.argv[2])))
