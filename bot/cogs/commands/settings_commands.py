"""Commands on settings: what applies here and from where, choosing for a thread, a channel or the server; and `/model`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import discord
from discord import app_commands
from discord.ext import commands

from bot.access.permissions import Act
from bot.access.thread_access import OutOfReach, Stand, require
from bot.cogs.commands.command_errors import UnknownSubcommand
from bot.cogs.commands.replies import answer, begin, proposed
from bot.config.models import checked_start, is_askable, start_with, startable, usual_start
from bot.config.preferences import AUTO, CHOICES, Scope, checked
from bot.messages import report_text

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context, Interaction

Where = Literal["thread", "channel", "server"]
MODEL = "model"
HERE = "For this thread, this channel or the whole server; without it, the nearest"
NAME, SCOPE = "Which setting", "For this thread, this channel or the whole server"
NOT_IN_A_THREAD = "This is not a thread. Use the command in one, or choose `channel` or `server`."
ONLY_HERE = "A direct message has no channel or server. Choose `thread`: this conversation."
_PLACES = {
    "default": "default",
    "guild": "set for the server",
    "channel": "set for the channel",
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
        await self.bot.preferences.put(place, id, known, kept)
        await answer(ctx, f"`{known}` is now **{kept}** for {_said(scope, stand)}: {CHOICES[known].meaning(kept)}.")

    @settings.command(description="Remove a setting, so that the wider one applies")
    @app_commands.describe(name=NAME, scope=SCOPE)
    async def reset(self, ctx: Context, name: str, scope: Where = "channel") -> None:
        """Take a choice back, so that the wider one counts."""
        known = name.strip().lower()
        checked(known, CHOICES[known].default if known in CHOICES else "")
        stand, place, id = await self._place(ctx, scope, CHOICES[known].act)
        await self.bot.preferences.put(place, id, known, "")
        value, origin = (await self.bot.preferences.origins(*_ids(ctx)))[known]
        await answer(ctx, f"Removed for {_said(scope, stand)}. `{known}` is now **{value}** here ({_PLACES[origin]}).")

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
        scope = scope or ("thread" if _ids(ctx)[0] else "channel")
        stand, place, id = await self._place(ctx, scope, CHOICES[MODEL].act)
        kept = checked_start(self.bot.backstage.policy, name)
        await self.bot.preferences.put(place, id, MODEL, kept)
        where = _said(scope, stand)
        told = f"New tasks in {where} start with **{kept}**." if kept != AUTO else f"Nothing is chosen for {where} now."
        await answer(ctx, f"{told} What runs now is not changed.\n{await self._models(ctx)}")

    async def _models(self, ctx: Context) -> str:
        """Which models there are, and which one a new task here starts with."""
        policy = self.bot.backstage.policy
        chosen, origin = (await self.bot.preferences.origins(*_ids(ctx)))[MODEL]
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
        for name, (value, origin) in (await self.bot.preferences.origins(*_ids(ctx))).items():
            lines.append(f"`{name}` is **{value}** ({_PLACES[origin]}): {CHOICES[name].meaning(value)}.")
            others = [f"{other} ({about})" for other, about in CHOICES[name].offered.items() if other != value]
            lines.append(f"-# {CHOICES[name].about}. It can also be: {'; '.join(others)}.")
        lines.append(f"Your level here: **{stand.speaker.level}**.")
        await answer(ctx, "\n".join(lines))

    async def _place(self, ctx: Context, scope: Where, chooses: Act) -> tuple[Stand, Scope, str]:
        """Where it is chosen for; raises ``OutOfReach`` without the right to, or where there is no such place."""
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "settings")
        thread, channel, guild = _ids(ctx)
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
        choices = [CHOICES[named]] if named in CHOICES else [*CHOICES.values()]
        return [(f"{value}: {about}", value) for choice in choices for value, about in choice.values.items()]

    async def _startable(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        policy = self.bot.backstage.policy
        usual = (f"{AUTO}: {CHOICES[MODEL].values[AUTO]}", AUTO)
        able = [(name, tier) for name, tier in startable(policy.tiers).items() if is_askable(policy, name)]
        return [usual, *((report_text.start_of(policy, name, tier), name) for name, tier in able)]

    reset.autocomplete("name")(_names)
    model.autocomplete("name")(proposed(_startable))


def _ids(ctx: Context) -> tuple[str, str, str]:
    """(thread, channel, guild) of where it is used; of a direct message only the first."""
    here = str(ctx.channel.id)
    if ctx.guild is None:
        return here, "", ""
    if isinstance(ctx.channel, discord.Thread):
        return here, str(ctx.channel.parent_id), str(ctx.guild.id)
    return "", here, str(ctx.guild.id)


def _said(scope: Where, stand: Stand) -> str:
    if stand.guild is None:
        return "this conversation"
    return {"thread": "this thread", "channel": "this channel", "server": "the whole server"}[scope]
