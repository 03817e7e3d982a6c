"""The one place through which private words go: to commands, buttons and forms, for nobody but who used them.

They go as answers to the interaction, or not at all.  discord.py's ``Context.send`` would post them to the channel, for
everyone, where it takes an interaction for expired, which it reads from the machine's clock.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING

import aiohttp
import discord
from discord.utils import MISSING

from bot.outbound.request_queue import Crowded, Urgency

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot

    Interaction = discord.Interaction[ThreadwrightBot]

UNSAID = "{person} I couldn't reply to you privately in time. Please try again."
ACKNOWLEDGED = 40060
"""Discord's code where it was acknowledged before, though that was not heard."""
INVALID_TOKEN = 50027
"""Discord's code for an interaction that is over, beside 404."""

log = logging.getLogger(__name__)


class Unsaid(Exception):
    """What was to be said privately could not be; who asked knows."""


async def begin(interaction: Interaction) -> None:
    """Acknowledge it, so that what follows may take its time.  Raises ``Unsaid``."""
    if not interaction.response.is_done():
        try:
            await interaction.response.defer(ephemeral=True)
        except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
            await _left_unsaid(interaction, error)


async def think(interaction: discord.Interaction) -> None:
    """Acknowledge a form that belongs to no message, so that what follows may take its time; too late changes nothing."""
    await quietly(interaction.response.defer(ephemeral=True, thinking=True))


async def say(
    interaction: Interaction, text: str = "", *, embed: discord.Embed = MISSING, files: Sequence[discord.File] = MISSING,
    view: discord.ui.View = MISSING,
) -> discord.Message:  # fmt: skip
    """The answer to a command, for who used it.  Raises ``Unsaid``, and what Discord refuses of the answer itself."""
    try:
        if interaction.response.is_done():
            return await interaction.followup.send(
                text or MISSING, embed=embed, files=files, view=view, ephemeral=True, wait=True
            )
        came = await interaction.response.send_message(
            text or None, embed=embed, files=files, view=view, ephemeral=True
        )
        if isinstance(came.resource, discord.InteractionMessage):
            return came.resource
        return await interaction.original_response()
    except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
        await _left_unsaid(interaction, error)
        raise AssertionError("unreachable: it raises") from error


async def tell(interaction: discord.Interaction, text: str) -> None:
    """Words beside what a button, form or command does; where they come too late, what it did counts without them."""
    if interaction.response.is_done():
        await quietly(interaction.followup.send(text, ephemeral=True))
    else:
        await quietly(_answered(interaction, text))


async def quietly(act: Awaitable[object]) -> None:
    """An acknowledgement that comes too late or twice (10062, 40060) changes nothing of what was delivered."""
    try:
        await act
    except (discord.HTTPException, discord.InteractionResponded, aiohttp.ClientError, OSError) as error:
        log.info("an interaction could not be answered: %s", error)


async def _answered(interaction: discord.Interaction, text: str) -> None:
    try:
        await interaction.response.send_message(text, ephemeral=True)
    except discord.HTTPException as error:
        if error.code != ACKNOWLEDGED:
            raise
        await interaction.followup.send(text, ephemeral=True)


async def _left_unsaid(interaction: Interaction, error: Exception) -> None:
    """Say only that nothing was said, where that is the reason, and raise ``Unsaid``; else raise what it was."""
    over = isinstance(error, discord.NotFound) or getattr(error, "code", 0) == INVALID_TOKEN
    if isinstance(error, discord.HTTPException) and error.status < 500 and not over:
        raise error
    log.warning("interaction %s could not be answered privately, so it is left unsaid: %s", interaction.id, error)
    place = interaction.client.get_partial_messageable(interaction.channel_id or 0, guild_id=interaction.guild_id)
    word, person = UNSAID.format(person=interaction.user.mention), discord.AllowedMentions(users=[interaction.user])
    try:
        await interaction.client.sender.send(
            Urgency.RESULT, lambda: place.send(word, nonce=f"unsaid-{interaction.id}"[:25], allowed_mentions=person),
            lane=str(interaction.channel_id),
        )  # fmt: skip
    except (discord.HTTPException, aiohttp.ClientError, OSError, Crowded) as again:
        log.warning("and that cannot be said either: %s", again)
    raise Unsaid from error
