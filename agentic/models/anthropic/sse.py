"""Cuts a byte stream into the data of its server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

from agentic.models.providers.provider_errors import NoAnswer

DATA = b"data:"
LONGEST = 32 * 1024 * 1024
"""Bytes of one event, which no provider comes near."""


async def event_data(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """The data of each event, as soon as its line is complete.  Raises ``NoAnswer`` where one does not end.

    Each event of the protocols here has one data line; names and comments are passed over.
    """
    begun: list[bytes] = []
    size = 0
    async for piece in pieces:
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = b"".join((*begun, lines[0]))
            begun, size = [], 0
        begun.append(rest)
        size += len(rest)
        if size > LONGEST:
            raise NoAnswer("an event without an end")
        for line in lines:
            if line.startswith(DATA):
                yield line[len(DATA) :].strip()
    last = b"".join(begun)
    if last.startswith(DATA):
        yield last[len(DATA) :].strip()
