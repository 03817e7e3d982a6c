"""Buttons: answers to questions, and votes under a final answer.  They work as long as their message stands."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from dataclasses import replace
from typing import TYPE_CHECKING

import aiohttp
import discord
from discord.ext import commands

from agentic.core.events import InboxItem
from agentic.errors import AgenticError
from bot.cogs.reactions import noted
from bot.conversation import Receipt
from bot.gestures import translate_click
from bot.inputs import Clicked, Told
from bot.intake import not_kept
from bot.reading import scene_about

if TYPE_CHECKING:
    from bot.client import ThreadwrightBot

log = logging.getLogger(__name__)


class Questions(commands.Cog):
    """Takes clicks in."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.Cog.listener()
    async def on_choice(self, interaction: discord.Interaction, question: str, label: str) -> None:
        """An option of a question was chosen."""
        clicked = self._clicked(interaction, question=question, label=label)
        await self._take(interaction, clicked)

    @commands.Cog.listener()
    async def on_vote(self, interaction: discord.Interaction, vote: str, key: str) -> None:
        """A final answer was rated."""
        clicked = self._clicked(interaction, vote=vote, target=f"{key.partition('.')[0]}/result")
        receipt = await self._take(interaction, clicked)
        if receipt is not None:
            text = receipt.text or noted(_item(clicked))
            await _quietly(interaction.followup.send(text, ephemeral=True))

    @commands.Cog.listener()
    async def on_halt(self, interaction: discord.Interaction) -> None:
        """The task is to stop."""
        await self._take(interaction, replace(self._clicked(interaction), halt=True))

    async def _take(self, interaction: discord.Interaction, clicked: Clicked) -> Receipt | None:
        """Acknowledge within Discord's three seconds, then deliver; whoever may not is told privately."""
        await _quietly(interaction.response.defer())
        try:
            scene = await scene_about(self.bot.conversation, self.bot.store, clicked.thread, clicked.target)
            outcome = translate_click(clicked, scene)
        except AgenticError as error:
            outcome = Told(not_kept(clicked.id, error))
        if isinstance(outcome, InboxItem):
            receipt = await self.bot.intake.deliver(outcome, str(interaction.guild_id or ""))
            if receipt.accepted:
                return receipt
            outcome = Told(receipt.text)
        if isinstance(outcome, Told) and outcome.text:
            await _quietly(interaction.followup.send(outcome.text, ephemeral=True))
        return None

    def _clicked(
        self, interaction: discord.Interaction, *, question: str = "", label: str = "", vote: str = "", target: str = ""
    ) -> Clicked:
        return Clicked(
            id=str(interaction.id),
            message=str(interaction.message.id) if interaction.message else "",
            thread=str(interaction.channel_id),
            at=interaction.created_at,
            speaker=self.bot.reader.speaker(interaction.user, interaction.guild),
            question=question,
            label=label,
            vote=vote,
            target=target,
        )


def _item(clicked: Clicked) -> InboxItem:
    return InboxItem(
        id=clicked.id, thread=clicked.thread, sort="feedback", author=clicked.speaker.person(), at=clicked.at,
        text=clicked.vote, target=clicked.target,
    )  # fmt: skip


async def _quietly(act: Awaitable[object]) -> None:
    """An acknowledgement that comes too late changes nothing of what was delivered."""
    try:
        await act
    except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
        log.info("an interaction could not be answered: %s", error)


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(Questions(bot))
