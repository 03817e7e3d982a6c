"""The owner's end of the supervisor's pipe: many requests at once, each with its answer, over one framed stream.

A frame is two big-endian lengths, a JSON header and a payload (see ``supervisor/frames.py``).  When the stream ends,
every open request ends with ``SandboxLost``: what it did is then unknown, and the caller has to say so.
"""

from __future__ import annotations

import asyncio
import json
import logging
import struct
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from agentic.ports.errors import (
    EditConflict,
    OutputGone,
    PathRefused,
    SandboxError,
    SandboxLost,
)
from agentic.sandbox.protocol.frame_writer import FrameOutput

LENGTHS = struct.Struct("!II")
MAX_FRAME = 128 * 1024 * 1024

log = logging.getLogger(__name__)

Header = dict[str, JsonValue]


class Transport(Protocol):
    """A byte stream to a supervisor, and the means to end what is behind it."""

    async def read(self, size: int) -> bytes:
        """Up to ``size`` bytes of the supervisor's stdout, b'' at the end."""
        ...

    @property
    def outlet(self) -> FrameOutput:
        """The way to the supervisor's stdin."""
        ...

    async def close(self) -> str:
        """End the sandbox for sure and release everything; returns why it had ended, where that is known.

        Raises where it cannot be ended from here; then its supervisor ends it without our heartbeat.
        """
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """A header without its id, and the bytes that came with it."""

    header: Header
    payload: bytes

    def text(self, name: str) -> str:
        """A string field, '' where it is missing."""
        value = self.header.get(name, "")
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int:
        """A whole number, 0 where it is missing."""
        value = self.header.get(name, 0)
        return int(value) if isinstance(value, int | float) else 0

    def seconds(self, name: str) -> float:
        """A number, 0.0 where it is missing."""
        value = self.header.get(name, 0.0)
        return float(value) if isinstance(value, int | float) else 0.0

    def optional(self, name: str) -> int | None:
        """A whole number or None."""
        value = self.header.get(name)
        return value if isinstance(value, int) else None

    def flag(self, name: str) -> bool:
        """A truth value."""
        return self.header.get(name) is True

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        value = self.header.get(name)
        return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()

    def rows(self, name: str) -> list[list[JsonValue]]:
        """A list of lists."""
        value = self.header.get(name)
        return [row for row in value if isinstance(row, list)] if isinstance(value, list) else []


@dataclass(slots=True)
class _Open:
    future: asyncio.Future[Reply]
    on_output: Callable[[bytes], None] | None


def pack(header: Mapping[str, JsonValue], payload: bytes = b"") -> bytes:
    """One frame."""
    head = json.dumps(header, ensure_ascii=True, separators=(",", ":")).encode()
    return LENGTHS.pack(len(head), len(payload)) + head + payload


class Channel:
    """Requests and answers over a transport; owned by one ``Sandbox``."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._open: dict[int, _Open] = {}
        self._next = 0
        self._buffer = bytearray()
        self._lost: str | None = None
        self._reader = asyncio.create_task(self._read_frames(), name="sandbox-reader")

    @property
    def lost(self) -> str | None:
        """Why the supervisor is gone, None while it is there."""
        return self._lost

    async def request(
        self,
        header: Mapping[str, JsonValue],
        payload: bytes = b"",
        *,
        timeout: float,
        on_output: Callable[[bytes], None] | None = None,
    ) -> Reply:
        """Ask and wait for the answer; no answer in ``timeout`` seconds means that the sandbox is lost."""
        if self._lost is not None:
            raise SandboxLost(self._lost)
        self._next += 1
        number = self._next
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._open[number] = _Open(future, on_output)
        try:
            self._transport.outlet.write(pack({"id": number, **header}, payload))
            async with asyncio.timeout(timeout):
                await self._transport.outlet.drain()
                reply = await future
        except TimeoutError:
            self.fail(f"the sandbox did not answer {header.get('op')} within {timeout:.0f} s")
            raise SandboxLost(self._lost or "") from None
        except (ConnectionError, OSError) as broken:
            self.fail(f"the pipe to the sandbox broke: {broken}")
            raise SandboxLost(self._lost or "") from broken
        finally:
            self._open.pop(number, None)
        if "error" in reply.header:
            raise _as_error(reply)
        return reply

    def lasting(
        self, header: Mapping[str, JsonValue], on_output: Callable[[bytes], None]
    ) -> Coroutine[None, None, Reply]:
        """Ask at once for what runs as long as the sandbox may: its answer is its end."""
        self._next += 1
        number = self._next
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._open[number] = _Open(future, on_output)
        try:
            self.tell({"id": number, **header}, b"")
        except SandboxLost:
            del self._open[number]
            raise

        async def end() -> Reply:
            try:
                reply = await future
            finally:
                self._open.pop(number, None)
            if "error" in reply.header:
                raise _as_error(reply)
            return reply

        return end()

    def tell(self, header: Mapping[str, JsonValue], payload: bytes) -> None:
        """Say something that has no answer."""
        if self._lost is not None:
            raise SandboxLost(self._lost)
        try:
            self._transport.outlet.write(pack(header, payload))
        except (ConnectionError, OSError) as broken:
            self.fail(f"the pipe to the sandbox broke: {broken}")
            raise SandboxLost(self._lost or "") from broken

    def fail(self, reason: str) -> None:
        """Give up on this supervisor: every open request ends with ``SandboxLost``, and it hears of its owner no more."""
        if self._lost is not None:
            return
        self._lost = reason
        self._transport.outlet.close()
        for entry in self._open.values():
            if not entry.future.done():
                entry.future.set_exception(SandboxLost(reason))

    async def close(self) -> None:
        """Stop reading; never raises for what reading ended with."""
        self.fail("it was closed")
        self._reader.cancel()
        await asyncio.wait((self._reader,))
        if not self._reader.cancelled() and (trouble := self._reader.exception()) is not None:
            log.error("what came from a sandbox could not be read", exc_info=trouble)

    async def _read_frames(self) -> None:
        try:
            while chunk := await self._transport.read(1 << 18):
                self._buffer += chunk
                self._take_frames()
        except (ConnectionError, OSError, ValueError) as broken:
            self.fail(f"the pipe to the sandbox broke: {broken}")
        finally:
            self.fail("the sandbox ended; what ran in it has an unknown outcome")

    def _take_frames(self) -> None:
        start = 0
        while len(self._buffer) - start >= LENGTHS.size:
            head_size, size = LENGTHS.unpack_from(self._buffer, start)
            if head_size + size > MAX_FRAME:
                raise ValueError("a frame of the supervisor is too long")
            begin = start + LENGTHS.size
            end = begin + head_size + size
            if len(self._buffer) < end:
                break
            header: Header = json.loads(self._buffer[begin : begin + head_size])
            self._dispatch(header, bytes(self._buffer[begin + head_size : end]))
            start = end
        del self._buffer[:start]

    def _dispatch(self, header: Header, payload: bytes) -> None:
        number = header.pop("id", None)
        entry = self._open.get(number) if isinstance(number, int) else None
        if entry is None:
            return
        if header.get("event") == "output":
            if entry.on_output is not None:
                entry.on_output(payload)
        elif not entry.future.done():
            entry.future.set_result(Reply(header, payload))


def _as_error(reply: Reply) -> SandboxError:
    kind, message, path = reply.text("error"), reply.text("message"), reply.text("path")
    if kind == "refused":
        barred = reply.text("barred")
        if barred == "outside" or barred == "hidden":
            return PathRefused(path, message, barred, reply.text("place"))
        return PathRefused(path, message)
    if kind == "conflict":
        return EditConflict(path, reply.text("sha"))
    if kind == "gone":
        return OutputGone(message)
    return SandboxError(message or kind)
