"""Commands on settings: what applies here and from where, choosing for a thread, a channel or the server; and `/model`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import discord
from discord import app_commands
from discord.ext import commands

from agentic.core.prompt.role_file import shipped
from agentic.core.prompt.roles import only_reads
from bot.access.permissions import Act
from bot.access.thread_access import OutOfReach, Stand, require
from bot.cogs.commands.command_errors import UnknownSubcommand
from bot.cogs.commands.replies import answer, begin, proposed
from bot.config.models import checked_start, is_askable, start_with, startable, usual_start
from bot.config.preferences import AUTO, CHOICES, Scope, UnknownChoice, checked
from bot.messages import report_text
from bot.rendering.discord_text import inline

if TYPE_CHECKING:
    from agentic.core.events.execution_events import RoleTemplate
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context, Interaction

Where = Literal["thread", "channel", "server"]
MODEL, ROLE = "model", "role"
HERE = "For this thread, this channel or the whole server. Default: the nearest"
NAME, SCOPE = "Which setting", "For this thread, this channel or the whole server"
NOT_IN_A_THREAD = "This is not a thread. Use the command in one, or choose `channel` or `server`."
ONLY_HERE = "A direct message has no channel or server. Choose `thread`: this conversation."
_PLACES = {
    "default": "default",
    "guild": "set for the server",
    "channel": "set for this channel",
    "thread": "set for this thread",
}
DESCRIPTION = "What applies here, and where it was set"


class SettingsCommands(commands.Cog):
    """What people may choose; each choice counts for the nearest place it was made for."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_group(description=DESCRIPTION)
    async def settings(self, ctx: Context, *, rest: str = "") -> None:
        """What applies here, and where that was chosen."""
        if rest:
            raise UnknownSubcommand(rest.split()[0], self.settings.all_commands)
        await self._show(ctx)

    @settings.command(name="show", description=DESCRIPTION)
    async def show_(self, ctx: Context) -> None:
        """What applies here, and where that was chosen."""
        await self._show(ctx)

    @settings.command(name="set", description="Set something for this thread, this channel or the server")
    @app_commands.describe(name=NAME, value="The new value", scope=SCOPE)
    async def set_(self, ctx: Context, name: str, value: str, scope: Where = "channel") -> None:
        """Choose for this thread, this channel or the server."""
        known = name.strip().lower()
        kept = checked_start(self.bot.backstage.policy, value) if known == MODEL else checked(name, value)
        stand, place, id = await self._place(ctx, scope, CHOICES[known].act)
        if known == ROLE and kept != AUTO and kept not in (roles := await self._roles(ctx)):
            raise UnknownChoice(f"There is no role {inline(kept)}. There is: {', '.join((AUTO, *roles))}.")
        if known == MODEL:
            await answer(ctx, await self._choose_model(ctx, kept, place, id, _said(scope, stand)))
            return
        await self.bot.preferences.put(place, id, known, kept)
        await answer(ctx, f"`{known}` is now **{kept}** for {_said(scope, stand)}: {CHOICES[known].meaning(kept)}.")

    @settings.command(description="Go back to the server's or default value")
    @app_commands.describe(name=NAME, scope=SCOPE)
    async def reset(self, ctx: Context, name: str, scope: Where = "channel") -> None:
        """Take a choice back, so that the wider one counts."""
        known = name.strip().lower()
        checked(known, CHOICES[known].default if known in CHOICES else "")
        _, place, id = await self._place(ctx, scope, CHOICES[known].act)
        await self.bot.preferences.put(place, id, known, "")
        value, origin = (await self.bot.preferences.origins(*ids_of(ctx)))[known]
        await answer(ctx, f"`{known}` is back to **{value}** ({_PLACES[origin]}) here.")

    @commands.hybrid_command(description="Which model answers here, what it costs, and choosing another")
    @app_commands.describe(name="A model or tier that new tasks start with; `auto` for the usual one", scope=HERE)
    async def model(self, ctx: Context, name: str = "", scope: Where | None = None) -> None:
        """Which model answers here, what it costs, and choosing another."""
        await begin(ctx)
        if not name:
            stand = await self.bot.reach.stand(ctx.interaction or ctx.message, MODEL)
            require(stand, "see")
            await answer(ctx, await self._models(ctx))
            return
        scope = scope or ("thread" if ids_of(ctx)[0] else "channel")
        stand, place, id = await self._place(ctx, scope, CHOICES[MODEL].act)
        kept = checked_start(self.bot.backstage.policy, name)
        told = await self._choose_model(ctx, kept, place, id, _said(scope, stand))
        await answer(ctx, f"{told}\n{await self._models(ctx)}")

    async def _choose_model(self, ctx: Context, kept: str, place: Scope, id: str, where: str) -> str:
        """Choose what tasks of a place start with, or withdraw that choice; what is told."""
        await self.bot.preferences.put(place, id, MODEL, "" if kept == AUTO else kept)
        if kept != AUTO:
            return f"New tasks in {where} start with **{kept}**. Running tasks keep their model."
        value, origin = (await self.bot.preferences.origins(*ids_of(ctx)))[MODEL]
        back = "the default" if origin == "default" else f"{inline(value)}, {_PLACES[origin]}"
        return f"{where[0].upper()}{where[1:]} is back to {back}. Running tasks keep their model."

    async def _models(self, ctx: Context) -> str:
        """Which models there are, and which one a new task here starts with."""
        policy = self.bot.backstage.policy
        chosen, origin = (await self.bot.preferences.origins(*ids_of(ctx)))[MODEL]
        begins = start_with(policy.tiers, chosen)
        tiers, start = begins or (policy.tiers, usual_start(policy.tiers))
        status = await self.bot.conversation.status(str(ctx.channel.id))
        now = (status.tier, status.model) if status.model and not status.finished else None
        why = report_text.Start(start, chosen, _PLACES[origin], there=begins is not None or chosen == AUTO)
        return report_text.models(policy.model_copy(update={"tiers": tiers}), why, now)

    async def _show(self, ctx: Context) -> None:
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "settings")
        require(stand, "see")
        lines = ["**What applies here**"]
        for name, (value, origin) in (await self.bot.preferences.origins(*ids_of(ctx))).items():
            others = _of_roles(await self._roles(ctx)) if name == ROLE else _others(name, value)
            lines.append(f"**{name}**: {CHOICES[name].shown(value)} ({_PLACES[origin]}){others}")
        lines.append(f"Your level here: **{stand.speaker.level}**.")
        await answer(ctx, "\n".join(lines))

    async def _roles(self, source: Context | Interaction) -> Mapping[str, RoleTemplate]:
        """The roles that there are where it is used."""
        equipment = self.bot.backstage.equipment
        place = str(getattr(source.guild or source.channel, "id", ""))
        return (await equipment.roles(place)).all if equipment is not None else shipped()

    async def _place(self, ctx: Context, scope: Where, chooses: Act) -> tuple[Stand, Scope, str]:
        """Where it is chosen for; raises ``OutOfReach`` without the right to, or where there is no such place."""
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "settings")
        thread, channel, guild = ids_of(ctx)
        if not guild:
            if scope != "thread":
                raise OutOfReach(ONLY_HERE)
            require(stand, "start" if chooses == "verbosity" else chooses)
            return stand, "thread", thread
        require(stand, "settings" if scope == "server" else chooses)
        if scope == "thread" and not thread:
            raise OutOfReach(NOT_IN_A_THREAD)
        id = {"thread": thread, "channel": channel, "server": guild}[scope]
        return stand, "guild" if scope == "server" else scope, id

    @set_.autocomplete("name")
    @proposed
    async def _names(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        return [(f"{choice.name}: {choice.about}", choice.name) for choice in CHOICES.values()]

    @set_.autocomplete("value")
    @proposed
    async def _values(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        named = str(getattr(interaction.namespace, "name", "") or "").strip().lower()
        if named == MODEL:
            return await self._startable(interaction, current)
        if named == ROLE:
            own = [(f"{name}: {role.description}", name) for name, role in (await self._roles(interaction)).items()]
            return [(f"{AUTO}: {CHOICES[ROLE].values[AUTO]}", AUTO), *own]
        choices = [CHOICES[named]] if named in CHOICES else [*CHOICES.values()]
        return [(f"{value}: {about}", value) for choice in choices for value, about in choice.values.items()]

    async def _startable(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        policy = self.bot.backstage.policy
        usual = (f"{AUTO}: {CHOICES[MODEL].values[AUTO]}", AUTO)
        able = [(name, tier) for name, tier in startable(policy.tiers).items() if is_askable(policy, name)]
        return [usual, *((report_text.start_of(policy, name, tier), name) for name, tier in able)]

    reset.autocomplete("name")(_names)
    model.autocomplete("name")(proposed(_startable))


def ids_of(ctx: Context) -> tuple[str, str, str]:
    """(thread, channel, guild) of where it is used; of a direct message only the first."""
    here = str(ctx.channel.id)
    if ctx.guild is None:
        return here, "", ""
    if isinstance(ctx.channel, discord.Thread):
        return here, str(ctx.channel.parent_id), str(ctx.guild.id)
    return "", here, str(ctx.guild.id)


def _others(name: str, value: str) -> str:
    """Say what else a setting can be."""
    if name == MODEL:
        return " · others: see `/model`"
    others = [CHOICES[name].shown(other) for other in CHOICES[name].offered if other != value]
    return f" · others: {', '.join(others)}"


def _of_roles(roles: Mapping[str, RoleTemplate]) -> str:
    """Say which roles there are, by what they may do."""
    looking = [name for name, role in roles.items() if only_reads(role)]
    doing = [name for name in roles if name not in looking]
    return f"\n-# Read-only: {', '.join(looking)}. Can do more: {', '.join(doing)}."


def _said(scope: Where, stand: Stand) -> str:
    if stand.guild is None:
        return "this conversation"
    return {"thread": "this thread", "channel": "this channel", "server": "the whole server"}[scope]
