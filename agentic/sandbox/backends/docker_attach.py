"""The transport to a supervisor in a container: the engine's attach stream, taken over as a socket of ours.

The engine frames what comes out (stream number, length, bytes); what goes in is raw.  It is asked for directly and not
through the SDK, whose streams block and end in objects that are not meant to be taken apart.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
from collections.abc import Awaitable, Callable

from agentic.ports.errors import SandboxUnavailable
from agentic.sandbox.protocol.frame_writer import FrameOutput

PIECE = struct.Struct("!BxxxI")
STDOUT = 1
LAST_WORDS = 4096
CONNECT_SECONDS = 10.0


class AttachTransport:
    """A container's stdin and stdout."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, remove: Callable[[], Awaitable[str]]
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._remove = remove
        self.outlet = FrameOutput(os.dup(writer.get_extra_info("socket").fileno()))
        self._words = bytearray()

    @classmethod
    async def open(cls, socket_path: str, container: str, remove: Callable[[], Awaitable[str]]) -> AttachTransport:
        """Attach to a container that is created and not yet started, so that nothing of its output is missed."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                reader, writer = await asyncio.open_unix_connection(socket_path)
                writer.write(
                    f"POST /containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1 HTTP/1.1\r\n"
                    "Host: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n".encode()
                )
                head = await reader.readuntil(b"\r\n\r\n")
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            raise SandboxUnavailable(f"the Docker engine at {socket_path} does not attach: {error}") from error
        if head.split(b" ", 2)[1] not in (b"101", b"200"):
            writer.close()
            raise SandboxUnavailable(
                f"the Docker engine refused to attach: {head.splitlines()[0].decode('ascii', 'replace')}"
            )
        return cls(reader, writer, remove)

    async def read(self, size: int) -> bytes:
        """Bytes of the supervisor's stdout; ``size`` is up to the engine."""
        while True:
            try:
                stream, length = PIECE.unpack(await self._reader.readexactly(PIECE.size))
                data = await self._reader.readexactly(length)
            except asyncio.IncompleteReadError:
                return b""
            if stream == STDOUT and data:
                return data
            self._words += data[: max(0, LAST_WORDS - len(self._words))]

    async def close(self) -> str:
        """Let go of the stream and remove the container with everything in it."""
        self.outlet.close()
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
        how = await self._remove()
        words = self._words.decode("utf-8", "replace").strip()
        return " ".join(part for part in (how, words) if part)
