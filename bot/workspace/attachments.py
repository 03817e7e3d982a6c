"""Download what a person attached, within bounds."""

from __future__ import annotations

import asyncio

import aiohttp

from bot.workspace.sandboxes import AttachmentGone

SECONDS = 60.0


async def download(address: str, most: int) -> bytes:
    """Return the content at an address of Discord's (or the local guild's) file store; raises ``AttachmentGone``."""
    try:
        async with asyncio.timeout(SECONDS), aiohttp.ClientSession() as session, session.get(address) as response:
            return await _content(response, most)
    except (aiohttp.ClientError, TimeoutError) as error:
        raise AttachmentGone(f"it could not be fetched ({type(error).__name__})") from error


async def _content(response: aiohttp.ClientResponse, most: int) -> bytes:
    if response.status != 200:
        raise AttachmentGone(
            f"it can no longer be fetched (status {response.status})", expired=response.status in (403, 404, 410)
        )
    content = bytearray()
    async for piece in response.content.iter_chunked(64 * 1024):
        content += piece
        if len(content) > most:
            raise AttachmentGone("it is larger than announced")
    return bytes(content)
