"""The present address of an attachment: Discord's file addresses run out after a day, messages do not."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

import discord

from agentic.core.events.execution_events import FileRef, InboxItem
from bot.outbound.discord_api import (
    Desk,
    Gone,
    Held,
    Unfit,
)
from bot.rendering.discord_text import named

SECONDS = 15.0

log = logging.getLogger(__name__)


class Refetching:
    """Reads messages through a desk, which exists only once the bot does: ``through`` tells it which."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def __call__(self, item: InboxItem, file: FileRef) -> str:
        """The address of a file of the message that the item came from, '' where it cannot be read."""
        message = item.message or item.id
        if not message.isdecimal():
            return ""
        try:
            async with asyncio.timeout(SECONDS):
                found = await self._desk.look(item.channel or item.thread, partial(_attachments, message=int(message)))
        except (Held, Gone, Unfit, TimeoutError) as error:
            log.info("message %s cannot be read again: %s", message, error or "it is gone")
            return ""
        alike = [address for name, size, address in found if name == file.name and size == file.size]
        return next((address for address in alike if address != file.path), alike[0] if alike else "")


async def _attachments(channel: discord.abc.Messageable, message: int) -> list[tuple[str, int, str]]:
    """(name, size, address) of what is attached to a message."""
    found = await channel.fetch_message(message)
    return [(named(one.filename, "file"), one.size, one.url) for one in found.attachments]
