"""A server that runs in a sandbox, as a transport of the SDK: one JSON message a line, each way, within bounds.

What is no message is passed over, and the first of it is kept for whoever wonders why nothing works.  Notifications end here
but for the one that says that the list of tools changed: the SDK would start a task for each.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio
import mcp_types as types
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from agentic.ports.errors import SandboxError
from agentic.sandbox.sandbox import Pipe, Sandbox

MOST_LINE = 8 << 20
"""Bytes of one message."""
MOST_BETWEEN = 32 << 20
"""Bytes that may come between two messages of ours."""
WAITING = 256
"""Messages that wait to be read."""
WORDS = 600
TOOLS_CHANGED = "notifications/tools/list_changed"


@dataclass(slots=True)
class Lines:
    """What comes from a server, cut into messages; ``broken`` says what was wrong with it."""

    take: Callable[[types.JSONRPCMessage], bool]
    """Passes a message on; False where too many wait."""
    broken: str = ""
    stray: str = ""
    """The beginning of the first line that was no message."""
    _buffer: bytearray = field(default_factory=bytearray)
    _since: int = 0

    def asked(self) -> None:
        """A message of ours was sent: so much may come again."""
        self._since = 0

    def feed(self, data: bytes) -> bool:
        """Take a piece; False where the server must be ended."""
        if self.broken:
            return False
        self._since += len(data)
        begin = len(self._buffer)
        self._buffer += data
        while (end := self._buffer.find(b"\n", begin)) >= 0:
            line = bytes(self._buffer[:end]).strip()
            del self._buffer[: end + 1]
            begin = 0
            if line and not self._line(line):
                return False
        if len(self._buffer) > MOST_LINE:
            self.broken = f"it sent a message of more than {MOST_LINE >> 20} MB"
        elif self._since > MOST_BETWEEN:
            self.broken = f"it sent more than {MOST_BETWEEN >> 20} MB for one request"
        return not self.broken

    def _line(self, line: bytes) -> bool:
        if len(line) > MOST_LINE:
            self.broken = f"it sent a message of more than {MOST_LINE >> 20} MB"
            return False
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except (ValueError, RecursionError):
            self.stray = self.stray or line[:WORDS].decode("utf-8", "replace")
            return True
        if isinstance(message, types.JSONRPCNotification) and message.method != TOOLS_CHANGED:
            return True
        if self.take(message):
            return True
        self.broken = "it sent messages faster than they could be read"
        return False


@dataclass(slots=True)
class SandboxServer:
    """Starts a server in a sandbox; afterwards it knows why that ended."""

    sandbox: Sandbox
    argv: tuple[str, ...]
    environment: dict[str, str]
    cwd: str = "."
    _lines: Lines | None = None
    _end: str = ""

    @property
    def why(self) -> str:
        """What is known of why it does not answer, '' for nothing."""
        lines = self._lines
        broken = lines.broken if lines is not None else ""
        stray = f"it wrote what is no message: {lines.stray}" if lines is not None and lines.stray else ""
        return "; ".join(part for part in (broken, self._end, stray) if part)

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[TransportStreams]:
        """The transport; at its end nothing of the server is left."""
        to_session, read = anyio.create_memory_object_stream[SessionMessage | Exception](WAITING)
        write, from_session = anyio.create_memory_object_stream[SessionMessage](0)
        over = asyncio.Event()

        def take(message: types.JSONRPCMessage) -> bool:
            try:
                to_session.send_nowait(SessionMessage(message))
            except anyio.WouldBlock:
                return False
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                over.set()
            return True

        lines = self._lines = Lines(take)

        def came(data: bytes) -> None:
            if not lines.feed(data):
                over.set()

        pipe = self.sandbox.pipe(self.argv, came, cwd=self.cwd, env=self.environment)
        passing = asyncio.create_task(_pass_on(from_session, pipe, lines, over), name="mcp input")
        ending = asyncio.create_task(self._ends(pipe, over), name="mcp end")
        closing = asyncio.create_task(_close(over, to_session), name="mcp close")
        try:
            yield read, write
        finally:
            await asyncio.shield(asyncio.ensure_future(self._stop(pipe, passing, ending, closing)))
            for stream in (to_session, read, write, from_session):
                stream.close()

    async def _ends(self, pipe: Pipe, over: asyncio.Event) -> None:
        try:
            end = await asyncio.shield(pipe.ended)
        except SandboxError as error:
            self._end = str(error)
        except asyncio.CancelledError:
            if not pipe.ended.cancelled():
                raise
        else:
            how = f"signal {end.signal}" if end.signal is not None else f"exit code {end.exit_code}"
            said = end.words.decode("utf-8", "replace").strip()[-WORDS:]
            self._end = f"it ended ({end.killed_reason or how})" + (f" and said: {said}" if said else "")
        finally:
            over.set()

    async def _stop(self, pipe: Pipe, *tasks: asyncio.Task[None]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await pipe.kill()


async def _pass_on(
    messages: anyio.abc.ObjectReceiveStream[SessionMessage], pipe: Pipe, lines: Lines, over: asyncio.Event
) -> None:
    async for message in messages:
        lines.asked()
        text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            pipe.feed(text.encode("utf-8", "replace") + b"\n")
        except SandboxError:
            over.set()
            return


async def _close(over: asyncio.Event, to_session: anyio.abc.ObjectSendStream[SessionMessage | Exception]) -> None:
    """Whoever waits for an answer hears that none will come."""
    await over.wait()
    with suppress(anyio.ClosedResourceError):
        await to_session.aclose()
