"""Cuts a byte stream into the data of its server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

DATA = b"data:"


async def event_data(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """The data of each event, as soon as its line is complete.

    Each event of the protocols here has one data line; names and comments are passed over.
    """
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(DATA):
                yield line[len(DATA) :].strip()
    if rest.startswith(DATA):
        yield rest[len(DATA) :].strip()
