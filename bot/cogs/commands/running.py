"""Commands on what runs in a thread: status, stop, pause.  ``resume`` stands with what goes back (``returning``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discord import app_commands
from discord.ext import commands

from bot.cogs.commands.answering import answer, begin, proposed
from bot.cogs.commands.proposing import threads_for
from bot.cogs.commands.steering import THREAD, steer
from bot.embeds import status_embed

if TYPE_CHECKING:
    from bot.client import ThreadwrightBot
    from bot.cogs.commands.answering import Context, Interaction


WITHOUT_LESSONS = (
    "They cannot be read or kept at the moment, so tasks run without what was learned before."
    " Whoever runs me finds out why with `threadwright doctor`."
)
LEFT = (
    "What an earlier start left there could not be ended ({count})."
    " Whoever runs me finds out more with `threadwright doctor`."
)


class Running(commands.Cog):
    """What a thread is doing, and how to hold or end it."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_command(description="What a thread is doing, and what it cost so far")
    @app_commands.describe(thread=THREAD)
    async def status(self, ctx: Context, thread: str = "") -> None:
        """What a thread is doing, and what it cost so far."""
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "status")
        known = thread or self.bot.conversation.knows(str(ctx.channel.id))
        name = (await self.bot.reach.thread(stand, thread)).thread if known else str(ctx.channel.id)
        embed = status_embed(await self.bot.conversation.status(name), self.bot.backstage.held_up())
        if self.bot.backstage.lessons_trouble():
            embed.add_field(name="Lessons", value=WITHOUT_LESSONS, inline=False)
        if (workshop := self.bot.backstage.workshop) is not None and (left := workshop.left()):
            embed.add_field(name="Sandboxes", value=LEFT.format(count=len(left)), inline=False)
        await answer(ctx, embed=embed)

    @commands.hybrid_command(description="Stop what is running in a thread, at once")
    @app_commands.describe(thread=THREAD)
    async def stop(self, ctx: Context, thread: str = "") -> None:
        """Stop what is running in a thread, at once."""
        await steer(ctx, "stop", thread)

    @commands.hybrid_command(description="Let a thread finish its current step and then wait")
    @app_commands.describe(thread=THREAD)
    async def pause(self, ctx: Context, thread: str = "") -> None:
        """Let a thread finish its current step and then wait."""
        await steer(ctx, "pause", thread)

    async def _threads(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        return await threads_for(self.bot, interaction, current)

    for _command in (status, stop, pause):
        _command.autocomplete("thread")(proposed(_threads))
    del _command
