"""`/rules`: which rules and limits the agent follows in a place, and writing rules for a thread, a channel or a server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import discord
from discord import app_commands
from discord.ext import commands

from agentic.stores.shared_files import NotShared
from bot.access.thread_access import OutOfReach, require
from bot.cogs.commands.command_errors import UnknownSubcommand
from bot.cogs.commands.replies import answer, answer_at_length, begin, proposed
from bot.cogs.commands.settings_commands import NOT_IN_A_THREAD, ONLY_HERE, SCOPE, Where
from bot.cogs.equipment.equipment_form import held, place_of, write
from bot.equipment import equipment_text
from bot.equipment.equipment import RuleRefused, rule_doubts
from bot.messages import report_text
from bot.rendering.discord_text import inline, plain
from bot.rendering.unicode_safety import boxed

if TYPE_CHECKING:
    from agentic.core.events.execution_events import RuleScope
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context, Interaction

DESCRIPTION = "Which rules and limits the agent follows here"
FILE = "The Markdown file; without one, a form opens"
NEAREST = "For this thread, this channel or the whole server. Default: the nearest that has it"
REMOVED = "✅ The rule {name} is removed from {place}, from the next task on."
OF_THE_MACHINE = "The rule {name} counts in all servers of the bot: whoever runs it changes it, in the folder `rules`."
NO_RULE = "There is no rule {name} for {place}. `/rules list` shows which there are, and for what."


class RuleCommands(commands.Cog):
    """Rules: looking at them is for everybody, writing them for owners."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_group(description=DESCRIPTION)
    async def rules(self, ctx: Context, *, rest: str = "") -> None:
        """Which rules and limits the agent follows here."""
        if rest:
            raise UnknownSubcommand(rest.split()[0], self.rules.all_commands)
        await self._show(ctx)

    @rules.command(name="show", description=DESCRIPTION)
    @app_commands.describe(name="A rule, to see its file")
    async def show_(self, ctx: Context, name: str = "") -> None:
        """Which rules and limits the agent follows here, or what a rule says."""
        if not name:
            await self._show(ctx)
            return
        await self._may_see(ctx)
        found = await held(self.bot).rule_text(place_of(ctx.channel, ctx.guild), name.strip().lower())
        if found is None:
            raise OutOfReach(NO_RULE.format(name=inline(name), place="this place"))
        scope, text = found
        title = f"The rule {inline(name)} for {equipment_text.PLACES[scope]}"
        await answer_at_length(ctx, title, boxed(text, "markdown"), "rule.md")

    @rules.command(name="list", description="The rules here in their order, and what is wrong with any")
    async def list_(self, ctx: Context) -> None:
        """The rules here in their order, and what is wrong with any."""
        await self._may_see(ctx)
        equipment, place = held(self.bot), place_of(ctx.channel, ctx.guild)
        here, roles = await equipment.rules(place), await equipment.roles(place.guild or place.thread)
        doubts = await asyncio.to_thread(lambda: [each for rule in here.every for each in rule_doubts(rule, roles)])
        await answer_at_length(ctx, "Rules", equipment_text.rules(here, doubts), "rules.md")

    @rules.command(description="Add a rule for this thread, this channel or the server")
    @app_commands.describe(scope=SCOPE, file=FILE)
    async def add(self, ctx: Context, scope: Where = "channel", file: discord.Attachment | None = None) -> None:
        """Add a rule."""
        await write(ctx, "rule", self._scope(ctx, scope), None, file)

    @rules.command(description="Change a rule of this thread, this channel or the server")
    @app_commands.describe(name="Which rule", scope=NEAREST, file=FILE)
    async def edit(
        self, ctx: Context, name: str, scope: Where | None = None, file: discord.Attachment | None = None
    ) -> None:
        """Change a rule."""
        wanted, text = await self._found(ctx, name, scope)
        await write(ctx, "rule", wanted, text, file)

    @rules.command(description="Remove a rule of this thread, this channel or the server")
    @app_commands.describe(name="Which rule", scope=NEAREST)
    async def remove(self, ctx: Context, name: str, scope: Where | None = None) -> None:
        """Remove a rule."""
        await begin(ctx)
        require(await self.bot.reach.stand(ctx.interaction or ctx.message, "rules"), "settings")
        wanted, _ = await self._found(ctx, name, scope)
        try:
            await held(self.bot).remove_rule(place_of(ctx.channel, ctx.guild), wanted, name.strip().lower())
        except RuleRefused as why:
            raise OutOfReach(str(why)) from why
        except NotShared as why:
            raise OutOfReach(f"I removed nothing: {plain(str(why), 600)}.") from why
        await answer(ctx, REMOVED.format(name=inline(name), place=equipment_text.PLACES[wanted]))

    async def _found(self, ctx: Context, name: str, scope: Where | None) -> tuple[RuleScope, str]:
        """A rule that can be changed from here: of that scope, or of the nearest place that has it."""
        place, known = place_of(ctx.channel, ctx.guild), name.strip().lower()
        wanted = self._scope(ctx, scope) if scope is not None else None
        found = await held(self.bot).rule_text(place, known, wanted)
        if found is None:
            where = equipment_text.PLACES[wanted] if wanted else "this place"
            raise OutOfReach(NO_RULE.format(name=inline(name), place=where))
        if found[0] == "everywhere":
            raise OutOfReach(OF_THE_MACHINE.format(name=inline(name)))
        return found

    async def _show(self, ctx: Context) -> None:
        await self._may_see(ctx)
        here = await held(self.bot).rules(place_of(ctx.channel, ctx.guild))
        await answer(ctx, f"{report_text.rules(self.bot.backstage.policy)}\n{equipment_text.in_short(here)}")

    async def _may_see(self, ctx: Context) -> None:
        await begin(ctx)
        require(await self.bot.reach.stand(ctx.interaction or ctx.message, "rules"), "see")

    def _scope(self, ctx: Context, scope: Where) -> RuleScope:
        """The scope that is meant.  Raises ``OutOfReach`` where there is no such place."""
        if ctx.guild is None and scope == "server":
            raise OutOfReach(ONLY_HERE)
        if ctx.guild is None:
            return "thread"
        if scope == "thread" and not isinstance(ctx.channel, discord.Thread):
            raise OutOfReach(NOT_IN_A_THREAD)
        return "guild" if scope == "server" else scope

    @show_.autocomplete("name")
    @proposed
    async def _names(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        here = await held(self.bot).rules(place_of(interaction.channel, interaction.guild))
        return [(f"{rule.name} ({equipment_text.PLACES[rule.scope]})", rule.name) for rule in here.every]

    edit.autocomplete("name")(_names)
    remove.autocomplete("name")(_names)
