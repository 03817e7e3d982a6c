"""Cogs that only people need: after a crash they are loaded once what was running goes on, or with the first use.

Nobody notices: a slash command, a press and a message that may hold a command wait until all of them are there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import discord
from discord import app_commands

if TYPE_CHECKING:
    from bot.client import ThreadwrightBot


class LateCogs:
    """Loads them, once."""

    def __init__(self, bot: ThreadwrightBot, names: Sequence[str]) -> None:
        self._bot = bot
        self._left = [*names]
        self._loading = asyncio.Lock()

    @property
    def are_there(self) -> bool:
        """Nothing is left to be loaded."""
        return not self._left

    async def load(self) -> None:
        """Return when they are there; they are imported by another thread, so that what comes in meanwhile is heard."""
        if self.are_there:
            return
        async with self._loading:
            while self._left:
                await asyncio.to_thread(import_module, self._left[0])
                await self._bot.load_extension(self._left[0])
                del self._left[0]

    async def load_for(self, message: discord.Message) -> None:
        """Load them if the message may hold a command."""
        text, own = message.content, message.author == self._bot.user
        if not own and (self._bot.options.prefix in text or "/" in text):
            await self.load()


class CommandTree(app_commands.CommandTree["ThreadwrightBot"]):
    """Slash commands, of which none is unknown only because it is not there yet."""

    async def interaction_check(self, interaction: discord.Interaction[ThreadwrightBot], /) -> bool:
        """Asked before a command is looked up."""
        await self.client.late.load()
        return True
