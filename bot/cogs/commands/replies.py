"""How commands answer: private where Discord allows it, soon, through the one scheduler, long things as a file."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, TypeVar

import discord
from discord import app_commands
from discord.ext import commands
from discord.utils import MISSING

from bot.cogs import private_replies
from bot.outbound.request_queue import Urgency
from bot.rendering.discord_text import (
    LIMIT,
    Attached,
    clean,
    length,
)

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot

    Context = commands.Context[ThreadwrightBot]
    Interaction = discord.Interaction[ThreadwrightBot]

Cog = TypeVar("Cog", bound=commands.Cog)
Command = TypeVar("Command")
READS, READS_SECONDS = 10, 30.0
"""So often one person may use a command that reads much, in so many seconds."""
PROPOSED = 25
"""Discord shows no more."""
PROPOSING_SECONDS = 2.0
"""After 3 s Discord says that loading failed; an empty list is better."""

log = logging.getLogger(__name__)


def reads_much() -> Callable[[Command], Command]:
    """A bound on how often one person may use a command."""
    return commands.cooldown(READS, READS_SECONDS, commands.BucketType.user)


async def begin(ctx: Context) -> None:
    """Acknowledge a slash command, so that what follows may take its time."""
    if ctx.interaction is not None:
        await private_replies.begin(ctx.interaction)


async def answer(
    ctx: Context, text: str = "", *, embed: discord.Embed = MISSING, files: Sequence[Attached] = (),
    view: discord.ui.View = MISSING,
) -> discord.Message:  # fmt: skip
    """Send it: to a slash command so that only its author sees it, else into the channel.  Raises ``Unsaid``."""
    desk = ctx.bot.desk
    text, embed = desk.discreet_text(text), desk.discreet(embed) if embed is not MISSING else embed

    async def send() -> discord.Message:
        nonce = f"told-{ctx.message.id}"[:25]
        attached = [desk.discreet_file(file) for file in files] or MISSING
        return await ctx.send(text or None, embed=embed, files=attached, view=view, nonce=nonce, silent=True)

    if ctx.interaction is None:
        return await ctx.bot.sender.send(Urgency.RESULT, send)
    attached = [desk.discreet_file(file) for file in files] or MISSING
    return await private_replies.say(ctx.interaction, text, embed=embed, files=attached, view=view)


async def answer_at_length(ctx: Context, title: str, text: str, name: str, *, note: str = "") -> None:
    """A text under a title, and a note on it; as a file where it is longer than a message."""
    head, foot = f"**{title}**", f"\n{note}" if note else ""
    body = f"{head}\n{text}{foot}"
    if length(body) <= LIMIT:
        await answer(ctx, body)
    else:
        await answer(ctx, head + foot, files=[Attached(name, clean(text).encode())])


Proposing = Callable[[Cog, "Interaction", str], Awaitable[Sequence[tuple[str, str]]]]
"""(shown, value) of what could be meant; what does not fit to what was typed is left out afterwards."""
Completion = Callable[[Cog, "Interaction", str], Coroutine[None, None, list[app_commands.Choice[str]]]]


def proposed(ask: Proposing[Cog]) -> Completion[Cog]:
    """Autocompletion that never fails and never takes long: what is not there in time is not proposed."""

    @functools.wraps(ask)  # discord.py reads from the name whether it is a method
    async def propose(cog: Cog, interaction: Interaction, current: str) -> list[app_commands.Choice[str]]:
        try:
            async with asyncio.timeout(PROPOSING_SECONDS):
                found = await ask(cog, interaction, current)
        except Exception:  # any proposer may fail in its own way; the command itself says what is wrong
            log.warning("nothing could be proposed by %s", ask.__qualname__, exc_info=True)
            return []
        fitting = [pair for pair in found if current.strip().lower() in f"{pair[0]} {pair[1]}".lower()]
        return [app_commands.Choice(name=shown[:100], value=value) for shown, value in fitting[:PROPOSED] if value]

    return propose
