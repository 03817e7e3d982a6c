"""Commands, as slash commands and with the prefix; answers are private where Discord allows it.

control            status, stop, pause
checkpoints        resume, retry, fork, checkpoints
reports            sessions, cost, confidence, escalation, logs
search             words in all threads that one may see
workspace          list, get, clean
lesson_commands    list, show, approve, edit, retire, export
settings_commands  show, set, reset
privacy            what is stored of whoever asks, and erasing it
help               the guide
command_errors     what is said when one fails
autocomplete       what is proposed while somebody types
replies            how answers are sent
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import discord
from discord import app_commands
from discord.ext import commands

from bot.cogs.commands.checkpoints import CheckpointCommands
from bot.cogs.commands.command_errors import (
    UsedCommand,
    command_error_text,
    example_of,
)
from bot.cogs.commands.control import ControlCommands
from bot.cogs.commands.help import HelpCommands
from bot.cogs.commands.lesson_commands import LessonCommands
from bot.cogs.commands.privacy import PrivacyCommands
from bot.cogs.commands.replies import answer
from bot.cogs.commands.reports import ReportCommands
from bot.cogs.commands.search import SearchCommands
from bot.cogs.commands.settings_commands import SettingsCommands
from bot.cogs.commands.workspace import WorkspaceCommands
from bot.cogs.private_replies import Unsaid, tell
from bot.messages.embeds import FIRST

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context

COGS = (
    ControlCommands,
    CheckpointCommands,
    ReportCommands,
    SearchCommands,
    WorkspaceCommands,
    LessonCommands,
    SettingsCommands,
    PrivacyCommands,
    HelpCommands,
)


class Failures(commands.Cog):
    """The one handler: whatever goes wrong in a command of either kind ends here."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot
        bot.tree.on_error = self._slash_failed

    @commands.Cog.listener()
    async def on_command_error(self, ctx: Context, error: commands.CommandError) -> None:
        """Say in plain words why a command did nothing; words after a prefix that are none of ours are left alone."""
        if isinstance(error, commands.CommandNotFound):
            return  # in a task's thread the cog of messages answers; elsewhere it may be another bot's command
        if _is_unsaid(error):
            return
        name = ctx.command.qualified_name if ctx.command else "command"
        prefix = "/" if ctx.interaction is not None else self.bot.options.prefix
        argument = ctx.current_parameter.name if ctx.current_parameter is not None else ""
        with suppress(Unsaid):
            await answer(ctx, command_error_text(error, UsedCommand(name, example_of(name, prefix), argument)))

    async def _slash_failed(self, interaction: discord.Interaction, error: app_commands.AppCommandError) -> None:
        """What goes wrong before a command is begun, such as one that Discord still shows and that is gone."""
        data = interaction.data or {}
        name = interaction.command.qualified_name if interaction.command else str(data.get("name", "command"))
        text = self.bot.desk.discreet_text(command_error_text(error, UsedCommand(name, example_of(name, "/"))))
        await tell(interaction, text)


def _is_unsaid(error: BaseException | None) -> bool:
    """Whether it is that a command could not be answered privately, within whatever the library wraps it."""
    while isinstance(
        error, commands.HybridCommandError | commands.CommandInvokeError | app_commands.CommandInvokeError
    ):
        error = error.original
    return isinstance(error, Unsaid)


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(Failures(bot))
    for cog in COGS:
        await bot.add_cog(cog(bot))
    _in_order(bot)


def _in_order(bot: ThreadwrightBot) -> None:
    """Those that people look for are registered first, so that they are the first of a list that keeps the order."""
    ranks = {name: rank for rank, name in enumerate(FIRST)}
    typed = bot.tree.get_commands(type=discord.AppCommandType.chat_input)
    ordered = sorted(typed, key=lambda each: ranks.get(each.name, len(ranks)))
    for command in ordered:
        bot.tree.remove_command(command.name)
        bot.tree.add_command(command)
