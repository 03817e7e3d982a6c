"""Cut a byte stream into lines, and into the data of its server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

from agentic.models.providers.provider_errors import NoAnswer

DATA = b"data:"
LONGEST = 32 * 1024 * 1024
"""Bytes of one line, which no provider comes near."""


async def lines(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Each line, as soon as it is complete; the last one may lack its end.  Raises ``NoAnswer`` where one does not end."""
    begun: list[bytes] = []
    size = 0
    async for piece in pieces:
        *complete, rest = piece.split(b"\n")
        if complete:
            complete[0] = b"".join((*begun, complete[0]))
            begun, size = [], 0
        begun.append(rest)
        size += len(rest)
        if size > LONGEST:
            raise NoAnswer("an event without an end")
        for line in complete:
            yield line
    yield b"".join(begun)


async def event_data(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """The data of each event.  Raises ``NoAnswer`` where one does not end.

    Each event of the protocols here has one data line; names and comments are passed over.
    """
    async for line in lines(pieces):
        if line.startswith(DATA):
            yield line[len(DATA) :].strip()
