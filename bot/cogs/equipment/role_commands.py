"""`/role`: which role the agent has, which roles there are, and writing one of a server's own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import discord
from discord import app_commands
from discord.ext import commands

from agentic.stores.shared_files import NotShared
from bot.access.thread_access import OutOfReach, Stand, require
from bot.cogs.commands.autocomplete import threads_for
from bot.cogs.commands.command_errors import UnknownSubcommand
from bot.cogs.commands.control import THREAD
from bot.cogs.commands.replies import answer, answer_at_length, begin, proposed
from bot.cogs.equipment.equipment_form import held, place_of, write
from bot.equipment import equipment_text
from bot.equipment.equipment import RulePlace, role_doubts
from bot.messages import report_text
from bot.rendering.discord_text import inline, plain
from bot.rendering.unicode_safety import boxed

if TYPE_CHECKING:
    from agentic.core.events.execution_events import RuleScope
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context, Interaction

DESCRIPTION = "Which role the agent has in a thread, or what one says"
FILE = "The Markdown file; without one, a form opens"
NO_ROLE = "There is no role {name}. `/role list` shows which there are."
SHIPPED = "The role {name} comes with me and can't be removed. `/role edit` makes one of your own that takes its place."
REMOVED = (
    "✅ The role {name} is removed. Running tasks keep it; where it was chosen, new tasks choose one by themselves."
)


class RoleCommands(commands.Cog):
    """Roles: looking at them is for everybody, writing them for owners."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_group(description=DESCRIPTION)
    async def role(self, ctx: Context, *, rest: str = "") -> None:
        """Which role the agent has in a thread."""
        if rest:
            raise UnknownSubcommand(rest.split()[0], self.role.all_commands)
        await self._show(ctx, "")

    @role.command(name="show", description=DESCRIPTION)
    @app_commands.describe(name="A role, to see its file", thread=THREAD)
    async def show_(self, ctx: Context, name: str = "", thread: str = "") -> None:
        """Which role the agent has in a thread, or what one says."""
        if not name:
            await self._show(ctx, thread)
            return
        await self._stand(ctx)
        text = await held(self.bot).role_text(self._home(ctx), name.strip().lower())
        if text is None:
            raise OutOfReach(NO_ROLE.format(name=inline(name)))
        await answer_at_length(ctx, f"The role {inline(name)}", boxed(text, "markdown"), "role.md")

    @role.command(name="list", description="Which roles there are, and what each may do")
    async def list_(self, ctx: Context) -> None:
        """Which roles there are, and what each may do."""
        await self._stand(ctx)
        equipment, home = held(self.bot), self._home(ctx)
        own, rules = await equipment.roles(home), await equipment.rules(RulePlace(guild=home))
        doubts = await asyncio.to_thread(
            lambda: [each for role in own.roles for each in role_doubts(role, rules.every)]
        )
        await answer_at_length(ctx, "Roles", equipment_text.roles(own, doubts), "roles.md")

    @role.command(description="Add a role of your own")
    @app_commands.describe(file=FILE)
    async def add(self, ctx: Context, file: discord.Attachment | None = None) -> None:
        """Add a role of your own."""
        await write(ctx, "role", _scope(ctx), None, file)

    @role.command(description="Change a role; a shipped one gets a copy of your own")
    @app_commands.describe(name="Which role", file=FILE)
    async def edit(self, ctx: Context, name: str, file: discord.Attachment | None = None) -> None:
        """Change a role."""
        text = await held(self.bot).role_text(self._home(ctx), name.strip().lower())
        if text is None:
            raise OutOfReach(NO_ROLE.format(name=inline(name)))
        await write(ctx, "role", _scope(ctx), text, file)

    @role.command(description="Remove a role of your own")
    @app_commands.describe(name="Which role")
    async def remove(self, ctx: Context, name: str) -> None:
        """Remove a role of your own."""
        await begin(ctx)
        require(await self.bot.reach.stand(ctx.interaction or ctx.message, "role"), "settings")
        equipment, home, known = held(self.bot), self._home(ctx), name.strip().lower()
        every = (await equipment.roles(home)).all
        try:
            removed = await equipment.remove_role(home, known)
        except NotShared as why:
            raise OutOfReach(f"I removed nothing: {plain(str(why), 600)}.") from why
        if not removed:
            raise OutOfReach((SHIPPED if known in every else NO_ROLE).format(name=inline(name)))
        await answer(ctx, REMOVED.format(name=inline(name)))

    async def _show(self, ctx: Context, thread: str) -> None:
        row = await self.bot.reach.thread(await self._stand(ctx), thread)
        own = await held(self.bot).roles(self._home(ctx))
        await answer(ctx, report_text.role(await self.bot.records.newest(row.thread), own.all))

    async def _stand(self, ctx: Context) -> Stand:
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "role")
        require(stand, "see")
        return stand

    def _home(self, source: Context | Interaction) -> str:
        place = place_of(source.channel, source.guild)
        return place.guild or place.thread

    @show_.autocomplete("thread")
    @proposed
    async def _threads(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        return await threads_for(self.bot, interaction, current)

    @show_.autocomplete("name")
    @proposed
    async def _names(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        every = (await held(self.bot).roles(self._home(interaction))).all
        return [(f"{name}: {role.description}", name) for name, role in every.items()]

    edit.autocomplete("name")(_names)

    @remove.autocomplete("name")
    @proposed
    async def _own(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        own = (await held(self.bot).roles(self._home(interaction))).roles
        return [(f"{role.name}: {role.description}", role.name) for role in own]


def _scope(ctx: Context) -> RuleScope:
    return "guild" if ctx.guild is not None else "thread"
