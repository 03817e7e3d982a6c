"""The form in which an owner writes a role or a rule, and taking in what was written there or sent as a file.

What is to be changed stands in the form's id, with a digest of the text as it was shown: so the form may come back to another
process, and what somebody else changed meanwhile is not written over.  Rights are looked at again when it comes back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, cast

import discord
from discord import ui
from discord.ext import commands

from agentic.core.events.execution_events import RuleScope
from agentic.core.events.ids import digest
from agentic.core.prompt.role_file import read_role
from agentic.core.prompt.rule_files import read_rule
from agentic.text.head_fields import HeadMistakes
from bot.access.thread_access import OutOfReach, require
from bot.cogs.commands.replies import answer, begin
from bot.cogs.feedback_form import written_in
from bot.cogs.private_replies import quietly, tell, think
from bot.equipment import equipment_text
from bot.equipment.equipment import Equipment, RulePlace, RuleRefused
from bot.equipment.markdown_folder import FolderFull
from bot.rendering.discord_text import plain, storable

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context

Kind = Literal["role", "rule"]
FORM = re.compile(r"tw:equip:(?P<kind>role|rule):(?P<scope>[a-z]+):(?P<seen>[0-9a-f]{8}|new)")
NEW = "new"
FORM_CHARACTERS = 4_000
"""Discord's own limit."""
FILE_BYTES = 64_000
NONE_HERE = "There are no roles and rules of one's own here."
TOO_LONG = "This file is too long for a form. Change it on your machine, and send it with `/{kind} edit` as a file."
NEEDS_FILE = "Attach the file to this message, or use `/{command}`, which shows a form."
NO_TEXT_FILE = "That file is not a text of at most {most} KB. Send the Markdown file."
THERE = "There is a {kind} of that name already. Change it with `/{command} edit`."
MEANWHILE = "It was changed meanwhile. Look at it again, and change it once more."


def held(bot: ThreadwrightBot) -> Equipment:
    """The roles and rules.  Raises ``OutOfReach`` where there are none."""
    if bot.backstage.equipment is None:
        raise OutOfReach(NONE_HERE)
    return bot.backstage.equipment


def place_of(channel: object, guild: discord.Guild | None) -> RulePlace:
    """Where something is used."""
    id = str(getattr(channel, "id", ""))
    if guild is None:
        return RulePlace(thread=id)
    if isinstance(channel, discord.Thread):
        return RulePlace(id, str(channel.parent_id), str(guild.id))
    return RulePlace(channel=id, guild=str(guild.id))


async def write(
    ctx: Context, kind: Kind, scope: RuleScope, before: str | None, file: discord.Attachment | None
) -> None:
    """Show the form, or take in the file; ``before`` is the text to be changed, None for a new one."""
    bot = ctx.bot
    require(await bot.reach.stand(ctx.interaction or ctx.message, "settings"), "settings")
    seen = NEW if before is None else digest(before, length=8)
    if file is not None:
        await begin(ctx)
        await answer(ctx, await taken(bot, kind, scope, place_of(ctx.channel, ctx.guild), await _read(file), seen))
        return
    if ctx.interaction is None:
        raise OutOfReach(NEEDS_FILE.format(command=ctx.command.qualified_name if ctx.command else kind))
    form = equipment_text.ROLE_FORM if kind == "role" else equipment_text.RULE_FORM
    if len(before or "") > FORM_CHARACTERS:
        raise OutOfReach(TOO_LONG.format(kind=_command(kind)))
    shown = EquipmentForm(kind, scope, seen, before if before is not None else form)
    await quietly(ctx.interaction.response.send_modal(shown))
    shown.stop()


async def taken(bot: ThreadwrightBot, kind: Kind, scope: RuleScope, place: RulePlace, text: str, seen: str) -> str:
    """Keep what was written; what to tell of it.  Raises ``OutOfReach``, which says what is wrong with it."""
    equipment, home = held(bot), place.guild or place.thread
    await equipment.fresh()
    try:
        name = read_role(text).name if kind == "role" else read_rule(text, scope).name
        if kind == "role":
            before = await equipment.role_text(home, name)
        else:
            found = await equipment.rule_text(place, name, scope)
            before = found[1] if found is not None else None
        if seen == NEW and before is not None:
            raise OutOfReach(THERE.format(kind=kind, command=_command(kind)))
        if before is not None and digest(before, length=8) != seen:
            raise OutOfReach(MEANWHILE)
        if kind == "role":
            return equipment_text.kept_role(*await equipment.put_role(home, text))
        return equipment_text.kept_rule(*await equipment.put_rule(place, scope, text))
    except HeadMistakes as wrong:
        lines = "\n".join(f"- {plain(mistake, 300)}" for mistake in wrong.mistakes[:10])
        raise OutOfReach(f"I kept nothing, because of {_count(wrong.mistakes)} in it:\n{lines}") from wrong
    except (RuleRefused, FolderFull) as wrong:
        raise OutOfReach(f"I kept nothing. {plain(str(wrong), 800)}") from wrong
    except OSError as wrong:
        raise OutOfReach(
            f"I kept nothing: it could not be written ({wrong.strerror or type(wrong).__name__})."
        ) from wrong


class EquipmentForms(commands.Cog):
    """Takes forms in."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.Cog.listener()
    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """A form that came back."""
        data = cast("dict[str, object]", interaction.data or {})
        filled = FORM.fullmatch(str(data.get("custom_id", "")))
        if interaction.type is not discord.InteractionType.modal_submit or filled is None:
            return
        await think(interaction)
        text = storable(written_in(data.get("components"), "text"))
        try:
            require(await self.bot.reach.stand(interaction, "settings"), "settings")
            place = place_of(interaction.channel, interaction.guild)
            scope = cast("RuleScope", filled["scope"])
            if scope not in dict(place.scoped()):
                raise OutOfReach(NONE_HERE)
            said = await taken(self.bot, cast("Kind", filled["kind"]), scope, place, text, filled["seen"])
        except OutOfReach as why:
            said = str(why)
        await tell(interaction, self.bot.desk.discreet_text(said))


class EquipmentForm(ui.Modal):
    """One field with the whole file."""

    def __init__(self, kind: Kind, scope: RuleScope, seen: str, text: str) -> None:
        super().__init__(title=f"A {kind}, as Markdown", custom_id=f"tw:equip:{kind}:{scope}:{seen}", timeout=None)
        field: ui.TextInput[EquipmentForm] = ui.TextInput(
            custom_id="text", style=discord.TextStyle.paragraph, max_length=FORM_CHARACTERS, default=text
        )
        self.add_item(ui.Label(text="Its fields between the dashes, then the text", component=field))


async def _read(file: discord.Attachment) -> str:
    if file.size > FILE_BYTES:
        raise OutOfReach(NO_TEXT_FILE.format(most=FILE_BYTES // 1000))
    try:
        return (await file.read()).decode("utf-8").replace("\r\n", "\n")
    except (UnicodeDecodeError, discord.HTTPException) as error:
        raise OutOfReach(NO_TEXT_FILE.format(most=FILE_BYTES // 1000)) from error


def _command(kind: Kind) -> str:
    return "role" if kind == "role" else "rules"


def _count(mistakes: tuple[str, ...]) -> str:
    return "a mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
