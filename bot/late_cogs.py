"""Cogs that only people need: after a crash they are loaded once what was running goes on, or with the first use.

Nobody notices: a slash command, a press and a message that may hold a command wait until all of them are there.  One that
cannot be loaded, since the installation is broken, costs what it does and nothing else: the log says so once, what people
write is taken in as if there were no commands, and whoever uses what is missing reads that it is, and what to do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, cast

import discord
from discord import app_commands

from bot.access.denials import NO_LESSONS, UNLOADED
from bot.cogs.private_replies import quietly, tell

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot

COMMANDS, LESSONS = "bot.cogs.commands", "bot.cogs.lesson_buttons"
FORM = "tw:amend:"
"""What the id of a form about a lesson begins with."""

log = logging.getLogger(__name__)


class LateCogs:
    """Loads them, once."""

    def __init__(self, bot: ThreadwrightBot, names: Sequence[str]) -> None:
        self._bot = bot
        self._left = [*names]
        self._missing: set[str] = set()
        self._loading = asyncio.Lock()

    @property
    def are_there(self) -> bool:
        """Nothing is left to be loaded."""
        return not self._left

    @property
    def without_commands(self) -> bool:
        """The commands cannot be loaded."""
        return COMMANDS in self._missing

    async def load(self, *, needed: bool = False) -> None:
        """Return when they are there; they are imported by another thread, so that what comes in meanwhile is heard.

        What cannot be loaded is logged and done without, or raised where it is ``needed``.
        """
        if self.are_there:
            return
        async with self._loading:
            while self._left:
                try:
                    await self._load(self._left[0])
                except Exception:  # importing a module runs all of it; without this part the rest still works
                    if needed:
                        raise
                    self._do_without(self._left[0])
                del self._left[0]

    async def load_for(self, message: discord.Message) -> None:
        """Load them if the message may hold a command."""
        text, own = message.content, message.author == self._bot.user
        if not own and (self._bot.options.prefix in text or "/" in text):
            await self.load()

    async def refuse(self, interaction: discord.Interaction) -> None:
        """Say that a command cannot be loaded; nothing is proposed while one is typed."""
        if interaction.type is discord.InteractionType.autocomplete:
            await quietly(interaction.response.autocomplete([]))
            return
        data = cast("dict[str, object]", interaction.data or {})
        await tell(interaction, UNLOADED.format(command=f"/{data.get('name', '')}"))

    async def _load(self, name: str) -> None:
        await asyncio.to_thread(import_module, name)
        await self._bot.load_extension(name)

    def _do_without(self, name: str) -> None:
        log.exception(
            "%s cannot be loaded, so what it does is missing until Threadwright is installed anew and started again; "
            "messages, reactions and what runs go on", name,
        )  # fmt: skip
        self._missing.add(name)
        if name == LESSONS:
            self._bot.add_listener(_unheard_press, "on_lesson_pressed")
            self._bot.add_listener(_unheard_form, "on_interaction")


class CommandTree(app_commands.CommandTree["ThreadwrightBot"]):
    """Slash commands, of which none is unknown only because it is not there yet."""

    async def interaction_check(self, interaction: discord.Interaction[ThreadwrightBot], /) -> bool:
        """Asked before a command is looked up."""
        late = self.client.late
        await late.load()
        if late.without_commands:
            await late.refuse(interaction)
        return not late.without_commands


async def _unheard_press(interaction: discord.Interaction, _: object) -> None:
    await tell(interaction, NO_LESSONS)


async def _unheard_form(interaction: discord.Interaction) -> None:
    data = cast("dict[str, object]", interaction.data or {})
    if interaction.type is discord.InteractionType.modal_submit and str(data.get("custom_id", "")).startswith(FORM):
        await tell(interaction, NO_LESSONS)
