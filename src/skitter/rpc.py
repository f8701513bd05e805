"""Calls over a Unix socket between the processes of one machine.

A frame is four bytes of length and a msgpack message. The caller waits through the death and
return of the other side and asks again, so every verb must be harmless when repeated.
"""

import asyncio
import struct
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import msgspec
from msgspec import Raw, Struct

from skitter import errors
from skitter.errors import BackendError, SkitterError

__all__ = ["Channel", "Connection", "Server", "Verb", "verb"]

T = TypeVar("T")

_LENGTH = struct.Struct(">I")
#: A frame longer than this is not one of ours.
_MAX_FRAME_BYTES = 512 * 1024 * 1024
#: Between two attempts to reach the other side.
_RECONNECT_S = 0.05

_encode = msgspec.msgpack.Encoder().encode


class _Call(Struct, array_like=True, tag="call"):
    """`id` 0 wants no answer."""

    id: int
    verb: str
    arguments: Raw


class _Answer(Struct, array_like=True, tag="answer"):
    id: int
    value: Raw


class _Failure(Struct, array_like=True, tag="failure"):
    id: int
    error: str
    message: str


_decode = msgspec.msgpack.Decoder(_Call | _Answer | _Failure).decode


class Verb(Struct, frozen=True):
    """A handler and the types of its arguments, the connection not counted."""

    handle: Callable[..., Awaitable[Any]]
    arguments: Any
    wants_connection: bool = False
    #: Names of the last arguments that the handler takes by keyword.
    keywords: tuple[str, ...] = ()


def verb(handle: Callable[..., Awaitable[Any]], *, wants_connection: bool = False) -> Verb:
    """A verb whose argument types are those of the handler's annotations."""
    hints = get_type_hints(handle)
    parameters = list(signature(handle).parameters.values())[int(wants_connection) :]
    types = tuple(hints[parameter.name] for parameter in parameters)
    keywords = tuple(p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY)
    return Verb(handle, tuple.__class_getitem__(types), wants_connection, keywords)


class Connection:
    """One caller, as the server sees it."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        #: Who it is; set by the verb that introduces it.
        self.name = ""

    def push(self, verb_name: str) -> None:
        """Tell the caller something it did not ask for."""
        self.send(_Call(0, verb_name, Raw(_encode(()))))

    def send(self, message: _Call | _Answer | _Failure) -> None:
        """Send a frame; to a caller that is gone it is lost."""
        frame = _encode(message)
        with suppress(ConnectionError):
            self._writer.write(_LENGTH.pack(len(frame)) + frame)


class Server:
    """Answers calls. Those of one connection may run at the same time."""

    def __init__(self, path: Path, verbs: Mapping[str, Verb]) -> None:
        self._path = path
        self._verbs = verbs
        self._decoders = {
            name: msgspec.msgpack.Decoder(entry.arguments) for name, entry in verbs.items()
        }
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.connections: set[Connection] = set()

    async def start(self) -> None:
        """Listen; a socket left by a dead predecessor is replaced."""
        self._path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._serve, self._path)

    async def aclose(self) -> None:
        """Stop listening and drop everybody."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        for connection in list(self.connections):
            connection._writer.close()  # noqa: SLF001 - ours
        self._path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(writer)
        self.connections.add(connection)
        try:
            while (message := await _read(reader)) is not None:
                if isinstance(message, _Call):
                    self._begin(connection, message)
        except asyncio.CancelledError:
            pass  # the loop is closing; a task of asyncio's own that is cancelled would complain
        finally:
            self.connections.discard(connection)
            writer.close()

    def _begin(self, connection: Connection, call: _Call) -> None:
        task = asyncio.get_running_loop().create_task(self._handle(connection, call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _handle(self, connection: Connection, call: _Call) -> None:
        try:
            entry = self._verbs[call.verb]
            arguments = self._decoders[call.verb].decode(call.arguments)
            first = (connection,) if entry.wants_connection else ()
            split = len(arguments) - len(entry.keywords)
            named = dict(zip(entry.keywords, arguments[split:], strict=True))
            value = await entry.handle(*first, *arguments[:split], **named)
        except SkitterError as error:
            connection.send(_Failure(call.id, type(error).__name__, str(error)))
        except (KeyError, msgspec.MsgspecError) as error:
            connection.send(_Failure(call.id, "BackendError", f"{call.verb}: {error!r}"))
        else:
            if call.id:
                connection.send(_Answer(call.id, Raw(_encode(value))))


class Channel:
    """The caller's side. `run` is its task: it connects, and connects again."""

    def __init__(
        self,
        path: Path,
        *,
        pushed: Callable[[str], None] | None = None,
        greet: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._path = path
        self._pushed = pushed
        #: Called after every connect, before calls that waited are sent.
        self._greet = greet
        self._writer: asyncio.StreamWriter | None = None
        self._ready = asyncio.Event()
        self._waiting: dict[int, asyncio.Future[Raw]] = {}
        self._last_id = 0
        #: Frames of this turn of the loop: they travel together, so the other side wakes once.
        self._unsent: list[bytes] = []

    async def run(self) -> None:
        """Keep the connection up until cancelled."""
        try:
            while True:
                try:
                    reader, self._writer = await asyncio.open_unix_connection(self._path)
                except OSError:
                    await asyncio.sleep(_RECONNECT_S)
                    continue
                await self._talk(reader)
        finally:
            self._drop()

    async def call(self, verb_name: str, arguments: tuple[Any, ...], type_: type[T]) -> T:
        """Ask, and wait for the answer however long the other side is away."""
        while True:
            await self._ready.wait()
            try:
                raw = await self._ask(verb_name, arguments)
            except ConnectionError:
                continue
            return msgspec.msgpack.decode(raw, type=type_)

    def post(self, verb_name: str, arguments: tuple[Any, ...]) -> None:
        """Tell without waiting; lost if the other side is away."""
        if self._ready.is_set():
            self._send(_Call(0, verb_name, Raw(_encode(arguments))))

    async def _talk(self, reader: asyncio.StreamReader) -> None:
        listening = asyncio.ensure_future(self._listen(reader))
        try:
            if self._greet is not None:
                greeting = asyncio.ensure_future(self._greet())
                await asyncio.wait({greeting, listening}, return_when=asyncio.FIRST_COMPLETED)
                if not greeting.done():
                    greeting.cancel()
            self._ready.set()
            await listening
        finally:
            listening.cancel()
            self._drop()

    async def ask_now(self, verb_name: str, arguments: tuple[Any, ...], type_: type[T]) -> T:
        """Ask over the present connection only; for use while greeting."""
        return msgspec.msgpack.decode(await self._ask(verb_name, arguments), type=type_)

    async def _ask(self, verb_name: str, arguments: tuple[Any, ...]) -> Raw:
        self._last_id += 1
        number = self._last_id
        future: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            self._send(_Call(number, verb_name, Raw(_encode(arguments))))
            return await future
        finally:
            self._waiting.pop(number, None)

    def _send(self, call: _Call) -> None:
        if self._writer is None:
            raise ConnectionResetError
        frame = _encode(call)
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self._flush)
        self._unsent += (_LENGTH.pack(len(frame)), frame)

    def _flush(self) -> None:
        frames, self._unsent = self._unsent, []
        if frames and self._writer is not None:
            self._writer.writelines(frames)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while (message := await _read(reader)) is not None:
            if isinstance(message, _Call):
                if self._pushed is not None:
                    self._pushed(message.verb)
                continue
            future = self._waiting.get(message.id)
            if future is None or future.done():
                continue
            if isinstance(message, _Answer):
                future.set_result(message.value)
            else:
                future.set_exception(_error_of(message))

    def _drop(self) -> None:
        self._ready.clear()
        self._unsent.clear()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ConnectionResetError())


async def _read(reader: asyncio.StreamReader) -> _Call | _Answer | _Failure | None:
    """The next message; None when the other side is gone."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > _MAX_FRAME_BYTES:
            return None
        message: _Call | _Answer | _Failure = _decode(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError, msgspec.MsgspecError):
        return None
    return message


def _error_of(failure: _Failure) -> Exception:
    kind = getattr(errors, failure.error, BackendError)
    return (
        kind(failure.message) if issubclass(kind, SkitterError) else BackendError(failure.message)
    )
