"""Commands, as slash commands and with the prefix: status, stop, help; and what is said when one fails."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import discord
from discord import app_commands
from discord.ext import commands

from agentic.core.events import InboxItem
from bot.embeds import help_embed, status_embed
from bot.reading import scene_of
from bot.refusals import NOTHING_RUNS, VIEWER
from bot.rights import at_least

if TYPE_CHECKING:
    from bot.client import ThreadwrightBot

    Context = commands.Context[ThreadwrightBot]

OURS = "Something of mine broke. It is in the log; please try again, or tell the operator."

log = logging.getLogger(__name__)


class Commands(commands.Cog):
    """Hybrid commands; answers are private where Discord allows it."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot
        bot.tree.on_error = self._slash_failed

    @commands.hybrid_command(description="What this thread is doing, and what it cost so far")
    async def status(self, ctx: Context) -> None:
        """What this thread is doing, and what it cost so far."""
        view = await self.bot.conversation.status(str(ctx.channel.id))
        await ctx.send(embed=status_embed(view), ephemeral=True)

    @commands.hybrid_command(description="Stop what is running in this thread")
    async def stop(self, ctx: Context) -> None:
        """Stop what is running in this thread."""
        thread = str(ctx.channel.id)
        speaker = self.bot.reader.speaker(ctx.author, ctx.guild)
        scene = await scene_of(self.bot.conversation, thread)
        if not at_least(speaker.level, "executor"):
            await ctx.send(VIEWER, ephemeral=True)
            return
        if scene.state not in ("busy", "asking"):
            await ctx.send(NOTHING_RUNS, ephemeral=True)
            return
        id = str(ctx.interaction.id if ctx.interaction else ctx.message.id)
        message = "" if ctx.interaction else id
        item = InboxItem(
            id=id, thread=thread, sort="stop", author=speaker.person(), at=ctx.message.created_at, message=message
        )
        receipt = await self.bot.intake.deliver(item, str(ctx.guild.id) if ctx.guild else "")
        await ctx.send(receipt.text or "🛑 Stopping.", ephemeral=True)

    @commands.hybrid_command(description="How to work with me")
    async def help(self, ctx: Context) -> None:
        """How to work with me."""
        await ctx.send(embed=help_embed(self.bot.options.prefix), ephemeral=True)

    @commands.Cog.listener()
    async def on_command_error(self, ctx: Context, error: commands.CommandError) -> None:
        """Say in plain words why a command did nothing."""
        if isinstance(error, commands.CommandNotFound):
            return
        await ctx.send(in_plain_words(error, ctx.command.name if ctx.command else "command"), ephemeral=True)

    async def _slash_failed(self, interaction: discord.Interaction, error: app_commands.AppCommandError) -> None:
        name = interaction.command.name if interaction.command else "command"
        text = in_plain_words(error, name)
        if interaction.response.is_done():
            await interaction.followup.send(text, ephemeral=True)
        else:
            await interaction.response.send_message(text, ephemeral=True)


def in_plain_words(error: Exception, command: str) -> str:
    """What a person can do about a failed command; what is our fault goes to the log."""
    match error:
        case commands.UserInputError():
            return f"I did not understand that. `help` says how `{command}` is used."
        case commands.CheckFailure() | app_commands.CheckFailure():
            return f"You may not use `{command}` here. An operator of this server can give you the right to."
        case commands.CommandOnCooldown() | app_commands.CommandOnCooldown():
            return f"That was too fast. Try `{command}` again in {error.retry_after:.0f} s."
        case _:
            log.error("command %s failed", command, exc_info=error)
            return OURS


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(Commands(bot))
