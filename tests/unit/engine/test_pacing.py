"""The pacer: distance by real sends, and what was about to leave when a hold comes in."""

import asyncio
from collections.abc import Callable

from skitter.engine.pacing import Pacer

Sent, Ended = Callable[[float], None], Callable[[], None]


def test_what_waits_for_its_gap_is_refused_and_what_left_goes_on() -> None:
    log: list[str] = []

    async def play() -> None:
        now = 100.0
        pacer = Pacer(lambda: now)

        def send(name: str) -> Callable[[Sent, Ended], None]:
            def sending(sent: Sent, ended: Ended) -> None:
                log.append(f"{name} sent")
                sent(now)
                ended()

            return sending

        for name in ("first", "second", "third"):
            refused = f"{name} refused"
            pacer.submit("a.test", 60.0, send(name), lambda text=refused: log.append(text))
        pacer.submit("b.test", 60.0, send("other"), lambda: log.append("other refused"))
        pacer.refuse("a.test")
        pacer.refuse("unknown.test")
        now += 60.0
        pacer.submit("a.test", 60.0, send("fourth"), lambda: log.append("fourth refused"))

    asyncio.run(play())
    assert log == ["first sent", "other sent", "second refused", "third refused"]
