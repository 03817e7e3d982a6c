"""``/watchers``: who may look on, who does here, and what is wrong with their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discord.ext import commands

from bot.access.thread_access import OutOfReach, require
from bot.cogs.commands.replies import answer_at_length, begin
from bot.cogs.commands.settings_commands import ids_of
from bot.equipment.watcher_files import FOLDER, OFF
from bot.equipment.watcher_text import shown
from bot.rendering.discord_text import inline, plain

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context

NONE = "There are no watchers here."
HOW = (
    "Watchers are small agents that look on; each look is a request to a cheap model, so they are off until an owner turns "
    "them on: `/settings set name:watchers value:on`, or their names as the value."
)
OWN = f"Whoever runs the bot can add their own as Markdown files in `{FOLDER}/`; the guide shows how."


class WatcherCommands(commands.Cog):
    """Small agents that look on."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_command(description="Small agents that look on: which there are, and which are on here")
    async def watchers(self, ctx: Context) -> None:
        """Small agents that look on: which there are, and which are on here."""
        await begin(ctx)
        require(await self.bot.reach.stand(ctx.interaction or ctx.message, "watchers"), "see")
        files = self.bot.backstage.watchers
        if files is None:
            raise OutOfReach(NONE)
        found = await files.found()
        value, _ = (await self.bot.preferences.origins(*ids_of(ctx)))["watchers"]
        here = {one.name for one in found.chosen(value)}
        lines = [shown(one, on=one.name in here, own=one.name in found.own) for one in found.watchers]
        lines += [f"⚠️ {inline(name)} is chosen here, but there is no such watcher" for name in found.missing(value)]
        lines += [f"⚠️ {plain(str(mistake), 300)}" for mistake in found.mistakes]
        lines.append(f"-# {HOW} {OWN}" if value == OFF else f"-# {OWN}")
        await answer_at_length(ctx, "Watchers", "\n".join(lines), "watchers.txt")
