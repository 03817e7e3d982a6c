"""Commands on what runs in a thread: status, stop, pause.  ``resume`` stands with what goes back (``checkpoints``).

What is said by a command goes the same way as a sign or a word in the thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from discord import app_commands
from discord.ext import commands

from agentic.core.events.execution_events import InboxItem, Sort
from bot.access.thread_access import OutOfReach, require
from bot.cogs.commands.autocomplete import threads_for
from bot.cogs.commands.replies import answer, begin, proposed
from bot.inbound.events import Reply
from bot.inbound.intake import NOTED, RECEIPTS
from bot.inbound.interpret_reaction import commanded
from bot.inbound.parse import scene_of
from bot.messages.embeds import status_embed

if TYPE_CHECKING:
    from agentic.ports.runtime import SessionRow
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context, Interaction


THREAD = "A task's thread. Default: this one"
Complete = Callable[[InboxItem, "SessionRow"], Awaitable[InboxItem]]
"""What the item says beyond its sort, once the thread is known; raises ``OutOfReach``."""


async def steer(ctx: Context, sort: Sort, named: str, complete: Complete | None = None) -> None:
    """Deliver it to the thread that is named, or answer why not."""
    bot = ctx.bot
    await begin(ctx)
    stand = await bot.reach.stand(ctx.interaction or ctx.message, ctx.command.qualified_name if ctx.command else sort)
    require(stand, "stop" if sort == "stop" else "steer")
    row = await bot.reach.thread(stand, named)
    speaker = await bot.reach.speaker(stand, row)
    scene = await scene_of(bot.conversation, row.thread, wholly=True)
    scene = replace(scene, bot_writes=await bot.reach.bot_writes(stand, row))
    id = str(ctx.interaction.id if ctx.interaction else ctx.message.id)
    item = InboxItem(
        id=id, thread=row.thread, sort=sort, author=speaker.person(), at=ctx.message.created_at,
        message="" if ctx.interaction else id,
    )  # fmt: skip
    outcome = commanded((sort, ""), scene, speaker, item)
    if isinstance(outcome, InboxItem):
        if complete is not None:
            outcome = await complete(outcome, row)
        receipt = await bot.intake.deliver(outcome, stand.guild_id)
        await answer(ctx, receipt.text or RECEIPTS.get(sort, NOTED))
    elif isinstance(outcome, Reply):
        await answer(ctx, outcome.text)
    else:
        raise OutOfReach("That can't be done here.")


WITHOUT_LESSONS = (
    "Lessons can't be read right now, so tasks run without them. Whoever runs the bot can find the cause with "
    "`threadwright doctor`."
)
LEFT = (
    "{count} from an earlier start could not be stopped. Whoever runs the bot can see more with `threadwright doctor`."
)


class ControlCommands(commands.Cog):
    """What a thread is doing, and how to hold or end it."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_command(description="What a thread is doing, and what it cost so far")
    @app_commands.describe(thread=THREAD)
    async def status(self, ctx: Context, thread: str = "") -> None:
        """What a thread is doing, and what it cost so far."""
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "status")
        known = thread or await self.bot.conversation.knows(str(ctx.channel.id))
        name = (await self.bot.reach.thread(stand, thread)).thread if known else str(ctx.channel.id)
        status = await self.bot.conversation.status(name)
        details = self.bot.feed.links.task(name, status.execution)
        embed = status_embed(status, self.bot.backstage.held_up(), details, self.bot.backstage.sandbox())
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

    @commands.hybrid_command(description="Pause a thread after its current step")
    @app_commands.describe(thread=THREAD)
    async def pause(self, ctx: Context, thread: str = "") -> None:
        """Let a thread finish its current step and then wait."""
        await steer(ctx, "pause", thread)

    async def _threads(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        return await threads_for(self.bot, interaction, current)

    for _command in (status, stop, pause):
        _command.autocomplete("thread")(proposed(_threads))
    del _command
