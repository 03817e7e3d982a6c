"""Commands on what runs in a thread: status, stop, pause, resume, retry, fork."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discord import app_commands
from discord.ext import commands

from agentic.core.events import InboxItem, Sort
from bot.cogs.commands.answering import answer, begin, proposed
from bot.cogs.commands.proposing import threads_for
from bot.embeds import status_embed
from bot.gestures import commanded
from bot.inputs import Told
from bot.reach import OutOfReach, require
from bot.reading import scene_of

if TYPE_CHECKING:
    from bot.client import ThreadwrightBot
    from bot.cogs.commands.answering import Context, Interaction

THREAD = "A task's thread; without it, this one"
RECEIPTS: dict[Sort, str] = {
    "stop": "🛑 Stopping.",
    "pause": "⏸ Pausing after the current step.",
    "resume": "▶ Going on.",
}
NOTED = "Noted."


class Running(commands.Cog):
    """What is said here goes the same way as a sign or a word in the thread."""

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
        await answer(ctx, embed=status_embed(await self.bot.conversation.status(name)))

    @commands.hybrid_command(description="Stop what is running in a thread, at once")
    @app_commands.describe(thread=THREAD)
    async def stop(self, ctx: Context, thread: str = "") -> None:
        """Stop what is running in a thread, at once."""
        await self._do(ctx, "stop", thread)

    @commands.hybrid_command(description="Let a thread finish its current step and then wait")
    @app_commands.describe(thread=THREAD)
    async def pause(self, ctx: Context, thread: str = "") -> None:
        """Let a thread finish its current step and then wait."""
        await self._do(ctx, "pause", thread)

    @commands.hybrid_command(description="Let a paused thread go on")
    @app_commands.describe(thread=THREAD)
    async def resume(self, ctx: Context, thread: str = "") -> None:
        """Let a paused thread go on."""
        await self._do(ctx, "resume", thread)

    @commands.hybrid_command(description="Try a thread's last task once more")
    @app_commands.describe(thread=THREAD)
    async def retry(self, ctx: Context, thread: str = "") -> None:
        """Try a thread's last task once more."""
        await self._do(ctx, "retry", thread)

    @commands.hybrid_command(description="Go on from a checkpoint in a new thread")
    @app_commands.describe(thread=THREAD)
    async def fork(self, ctx: Context, thread: str = "") -> None:
        """Go on from a checkpoint in a new thread."""
        await self._do(ctx, "fork", thread)

    async def _do(self, ctx: Context, sort: Sort, named: str) -> None:
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, sort)
        require(stand, "stop" if sort == "stop" else "steer")
        row = await self.bot.reach.thread(stand, named)
        speaker = await self.bot.reach.speaker(stand, row)
        scene = await scene_of(self.bot.conversation, row.thread, wholly=True)
        scene = replace(scene, bot_writes=await self.bot.reach.bot_writes(stand, row))
        id = str(ctx.interaction.id if ctx.interaction else ctx.message.id)
        item = InboxItem(
            id=id, thread=row.thread, sort=sort, author=speaker.person(), at=ctx.message.created_at,
            message="" if ctx.interaction else id,
        )  # fmt: skip
        outcome = commanded((sort, ""), scene, speaker, item)
        if isinstance(outcome, InboxItem):
            receipt = await self.bot.intake.deliver(outcome, stand.guild_id)
            await answer(ctx, receipt.text or RECEIPTS.get(sort, NOTED))
        elif isinstance(outcome, Told):
            await answer(ctx, outcome.text)
        else:
            raise OutOfReach("That cannot be done here.")

    async def _threads(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        return await threads_for(self.bot, interaction, current)

    for _command in (status, stop, pause, resume, retry, fork):
        _command.autocomplete("thread")(proposed(_threads))
    del _command
