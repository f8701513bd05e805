"""The supervisor: one coordinator, N workers, all of them replaceable at any moment.

A child that ends is noticed at once, its leases go back with a boost, and its place is taken
by a new one; one that keeps dying is given more and more time. A worker that runs but is not
heard is killed first, because only a dead process is sure not to send another request.
"""

import asyncio
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from skitter.clock import Clock
from skitter.engine.coordinator import WorkerReport
from skitter.engine.places import Place, WorkerStatus
from skitter.engine.process import COORDINATOR_END, Child
from skitter.engine.progress import Snapshot
from skitter.engine.pulse import Pulse
from skitter.engine.run import DRAIN_S
from skitter.errors import BackendError, StorageFullError, UsageError
from skitter.rpc import Channel, Server, verb

__all__ = ["Fleet", "FleetOptions"]

#: How often heartbeats are looked at.
_WATCH_S = 0.5
#: A child that lived shorter than this when it died is restarted after a wait.
_STABLE_S = 5.0
_FIRST_WAIT_S = 0.1
_MAX_WAIT_S = 30.0
#: A coordinator that dies so often without ever being stable will not get better.
_MAX_DEATHS = 10
#: After an interrupt nobody waits longer for a coordinator: to be told of dead workers, to end.
_LAST_WORDS_S = 1.0


class FleetOptions(Struct, frozen=True, kw_only=True):
    """How many workers, and when one counts as dead, to begin with."""

    workers: int
    pulse: Pulse
    #: Where `skitter workers` reaches the supervisor.
    control: Path
    #: Where everybody reaches the coordinator.
    socket: Path


class Fleet:
    """Runs coordinator and workers until the job is finished or the run is interrupted."""

    def __init__(
        self,
        options: FleetOptions,
        *,
        start_coordinator: Callable[[Pulse], Child],
        start_worker: Callable[[Place, Pulse], Child],
        clock: Clock,
        say: Callable[[str], None],
    ) -> None:
        self._options = options
        self._start_coordinator = start_coordinator
        self._start_worker = start_worker
        self._clock = clock
        self._say = say
        self._pulse = options.pulse
        self._pulse_set_at = clock.monotonic()
        self._places = [Place(number) for number in range(1, options.workers + 1)]
        self._channel = Channel(options.socket)
        self._coordinator: Child | None = None
        self._stopping = asyncio.Event()
        self._interrupted = False
        #: Set when the run must be over: what is leased then is given back by who comes after us.
        self._hurrying = asyncio.Event()
        names = ("workers", "restart", "drain", "set_pulse")
        self._control = Server(options.control, {n: verb(getattr(self, n)) for n in names})

    async def run(self) -> None:
        """Until finished or interrupted; every child has ended then."""
        await self._control.start()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._channel.run()),
                    group.create_task(self._keep_coordinator()),
                    group.create_task(self._watch_heartbeats()),
                    group.create_task(self._await_finish()),
                ]
                keepers = [group.create_task(self._keep(place)) for place in self._places]
                await asyncio.gather(*keepers)
                self._stopping.set()
                for task in tasks:
                    task.cancel()
        finally:
            await self._control.aclose()
            await self._end_coordinator()

    def interrupt(self) -> None:
        """First call: finish what is in flight. Second: stop at once."""
        if self._interrupted:
            self._stop_at_once()
            return
        self._interrupted = True
        self._stop_workers(signal.SIGTERM)
        asyncio.get_running_loop().call_later(DRAIN_S, self._stop_at_once)

    async def snapshot(self) -> Snapshot | None:
        """The crawl now, if the coordinator answers."""
        snapshot: Snapshot | None
        snapshot = await self._channel.call("snapshot", (), Snapshot | None)  # type: ignore[arg-type]
        if snapshot is None:
            return None
        states = Counter(status.state.value for status in await self.workers())
        return replace(snapshot, workers=dict(states))

    # Verbs for `skitter workers`

    async def workers(self) -> list[WorkerStatus]:
        """Every place and who is in it."""
        reports = _by_name(await self._reports())
        return [
            place.status(reports.get(place.name), self._pulse, ending=self._stopping.is_set())
            for place in self._places
        ]

    async def restart(self, id_: str) -> None:
        """Replace one worker, now; what it held goes to the others."""
        place = self._place(id_)
        if place.child is not None:
            place.restarting = True
            place.child.signal(signal.SIGKILL)

    async def drain(self, id_: str) -> None:
        """Let one worker finish what it holds and leave."""
        place = self._place(id_)
        place.leaving = True
        if place.child is not None:
            place.child.signal(signal.SIGTERM)

    async def set_pulse(self, heartbeat_s: float | None, timeout_s: float | None) -> Pulse:
        """Change heartbeat and time-out of this run; None leaves one as it is."""
        self._pulse = Pulse(
            heartbeat_s=self._pulse.heartbeat_s if heartbeat_s is None else heartbeat_s,
            timeout_s=self._pulse.timeout_s if timeout_s is None else timeout_s,
        ).checked()
        self._pulse_set_at = self._clock.monotonic()
        await self._channel.call("set_pulse", (self._pulse,), object)
        return self._pulse

    # Keeping children alive

    async def _keep(self, place: Place) -> None:
        while not (self._stopping.is_set() or place.leaving):
            place.lives += 1
            place.started_at = self._clock.monotonic()
            place.restarting = False
            place.child = self._start_worker(place, self._pulse)
            code = await place.child.wait()
            failure, place.child = place.child.failure, None
            place.left = code == 0
            if isinstance(failure, StorageFullError):
                self._stop_workers(signal.SIGKILL)
                raise failure
            await self._bury(place)
            if code == 0 or self._stopping.is_set():
                return
            if place.restarting:
                self._say(f"Worker {place.id} is restarted by hand.")
                continue
            lived_s = self._clock.monotonic() - place.started_at
            place.wait_s = 0.0 if lived_s >= _STABLE_S else _next_wait_s(place.wait_s)
            why = f" ({failure})" if failure else ""
            self._say(f"Worker {place.id} {_how(code)}{why}; a new one starts{_in(place.wait_s)}.")
            await _within(place.wait_s, self._stopping)

    async def _bury(self, place: Place) -> None:
        """Keep what it has done, give back what it held, unless there is no time for that."""
        burying = asyncio.ensure_future(self._give_back(place))
        hurrying = asyncio.ensure_future(self._hurrying.wait())
        try:
            await asyncio.wait({burying, hurrying}, return_when=asyncio.FIRST_COMPLETED)
            if burying.done():
                burying.result()
        finally:
            burying.cancel()
            hurrying.cancel()

    async def _give_back(self, place: Place) -> None:
        place.count(_by_name(await self._reports()).get(place.name))
        place.settle()
        await self._channel.call("reap", (place.name,), int)

    async def _keep_coordinator(self) -> None:
        deaths = 0
        while True:
            started_at = self._clock.monotonic()
            self._coordinator = self._start_coordinator(self._pulse)
            code = await self._coordinator.wait()
            for place in self._places:
                place.settle()
            if self._coordinator.failure is not None:
                self._stop_workers(signal.SIGKILL)
                raise self._coordinator.failure
            # Even at the end: workers that leave hand in what they have.
            deaths = 0 if self._clock.monotonic() - started_at >= _STABLE_S else deaths + 1
            if deaths >= _MAX_DEATHS:
                self._stop_workers(signal.SIGKILL)
                raise BackendError(f"the coordinator {_how(code)} {deaths} times in a row")
            self._say(f"The coordinator {_how(code)}; a new one starts.")
            await asyncio.sleep(_FIRST_WAIT_S * deaths)

    async def _watch_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(_WATCH_S)
            reports = _by_name(await self._reports())
            for place in self._places:
                report = reports.get(place.name)
                if report is None or report.heard_s is None or place.child is None:
                    continue
                place.count(report)
                # What was no fault by the old rule is none by a new one.
                ruled_s = self._clock.monotonic() - self._pulse_set_at
                if min(report.heard_s, ruled_s) > self._pulse.timeout_s:
                    self._say(f"Worker {place.id} has not been heard for {report.heard_s:.0f} s.")
                    place.child.signal(signal.SIGKILL)

    async def _await_finish(self) -> None:
        await self._channel.call("finished", (), bool)
        self._stop_workers(signal.SIGTERM)

    def _stop_at_once(self) -> None:
        self._stop_workers(signal.SIGKILL)
        asyncio.get_running_loop().call_later(_LAST_WORDS_S, self._hurrying.set)

    def _stop_workers(self, number: int) -> None:
        self._stopping.set()
        for place in self._places:
            if place.child is not None:
                place.child.signal(number)

    async def _end_coordinator(self) -> None:
        child = self._coordinator
        if child is None:
            return
        child.signal(COORDINATOR_END)
        if self._interrupted:
            # It loses nothing; what it has not saved yet the workers were not told to be saved.
            asyncio.get_running_loop().call_later(_LAST_WORDS_S, child.signal, signal.SIGKILL)
        await child.wait()

    async def _reports(self) -> list[WorkerReport]:
        return await self._channel.call("reports", (), list[WorkerReport])

    def _place(self, id_: str) -> Place:
        for place in self._places:
            if id_ in {place.id, place.name}:
                return place
        raise UsageError(f"no worker {id_!r}; `skitter workers list` shows those there are")


async def _within(seconds: float, event: asyncio.Event) -> None:
    """Wait for an event, but not for longer."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _by_name(reports: Sequence[WorkerReport]) -> dict[str, WorkerReport]:
    return {report.name: report for report in reports}


def _next_wait_s(wait_s: float) -> float:
    return min(wait_s * 2, _MAX_WAIT_S) if wait_s else _FIRST_WAIT_S


def _how(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _in(wait_s: float) -> str:
    return f" in {wait_s:.1f} s" if wait_s else ""
