"""Commands on skills: what there is here, what one holds, and letting tasks use it.

A skill of a thread's workspace is approved by an owner of the server, and counts in that server for that repository.  Those
of the home are the machine's, whatever server uses them: an owner approves only where the bot is in no other; else whoever
runs the bot does, with `threadwright skills`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import discord
from discord import app_commands
from discord.ext import commands

from bot.access.permissions import may
from bot.access.thread_access import OutOfReach, Stand, require
from bot.cogs.commands.command_errors import UnknownSubcommand
from bot.cogs.commands.replies import answer, answer_at_length, begin, proposed
from bot.cogs.personal_view import PersonalView
from bot.equipment import skill_text
from bot.equipment.skill_folder import SkillUnusable
from bot.equipment.skill_store import HOME, FoundSkill
from bot.rendering.discord_text import Attached, inline, one_line, plain

if TYPE_CHECKING:
    from agentic.ports.runtime import SessionRow
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context, Interaction
    from bot.equipment.thread_skills import ThreadSkills

DESCRIPTION = "Skills: guides for kinds of work, and which are approved"
NAME = "Its name, as /skills shows it"
NONE = "There are no skills here."
NO_SUCH = "There is no skill {name} here. `/skills` shows them; those of a thread's workspace are found in that thread."
SEVERAL = (
    "The bot is in several servers, which share the skills of its home. Whoever runs the bot approves one, with "
    "`threadwright skills approve {name}`."
)
CHANGED = "Not approved: it changed since you looked. Use `/skills approve` again."
NOT_WRITTEN = "{what}: {why}. Whoever runs the bot can run `threadwright doctor`."
NOT_YOU = "Only the person who opened this can use it. Use `/skills approve` yourself."
OVER = "Not approved: nobody pressed the button in time. Use `/skills approve` again."
LOOK = "Read the file first: from then on tasks follow it where it fits. It widens no rights."
APPROVE_SECONDS = 600.0
FILE = "skill.txt"


class SkillCommands(commands.Cog):
    """What people equip tasks with in `SKILL.md` folders."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_group(description=DESCRIPTION)
    async def skills(self, ctx: Context, *, rest: str = "") -> None:
        """Skills: guides for kinds of work, and which are approved."""
        if rest:
            raise UnknownSubcommand(rest.split()[0], self.skills.all_commands)
        await self._list(ctx)

    @skills.command(name="list", description=DESCRIPTION)
    async def list_(self, ctx: Context) -> None:
        """Skills: guides for kinds of work, and which are approved."""
        await self._list(ctx)

    @skills.command(description="One skill whole: its guide, its files, what changed since it was approved")
    @app_commands.describe(name=NAME)
    async def show(self, ctx: Context, name: str) -> None:
        """One skill whole: its guide, its files, what changed since it was approved."""
        stand = await self._owner(ctx)
        one = await self._named(stand, name)
        await answer(ctx, _head(one), files=[await self._whole(one)])

    @skills.command(description="Let tasks use a skill as it is now; you see it whole first")
    @app_commands.describe(name=NAME)
    async def approve(self, ctx: Context, name: str) -> None:
        """Let tasks use a skill as it is now; you see it whole first."""
        stand = await self._owner(ctx)
        one = await self._named(stand, name)
        self._require_place(one)
        if one.skill is None or one.state == "approved":
            await answer(ctx, _head(one))
            return
        view = Approving(self, stand, one.name, one.skill.sha)
        view.message = await answer(ctx, f"{_head(one)}\n{LOOK}", files=[await self._whole(one)], view=view)

    @skills.command(description="Stop using a skill; tasks that have it keep it")
    @app_commands.describe(name=NAME)
    async def remove(self, ctx: Context, name: str) -> None:
        """Stop using a skill; tasks that have it keep it."""
        stand = await self._owner(ctx)
        one = await self._named(stand, name)
        self._require_place(one)
        try:
            was = await self._held().remove(one)
        except (SkillUnusable, OSError) as error:
            raise OutOfReach(NOT_WRITTEN.format(what="Not removed", why=plain(str(error), 300))) from error
        named = inline(one_line(one.name, 64))
        done = f"The skill {named} isn't used from the next task on; its folder stays."
        await answer(ctx, done if was else f"The skill {named} wasn't approved. Nothing changed.")

    async def approved(self, interaction: Interaction, name: str, sha: str) -> str:
        """Approve what somebody saw, if it still reads so; what they are told."""
        stand = await self.bot.reach.stand(interaction, "skills approve")
        try:
            require(stand, "settings")
            one = await self._named(stand, name)
            self._require_place(one)
        except OutOfReach as refused:
            return str(refused)
        if one.skill is None or one.skill.sha != sha:
            return CHANGED
        try:
            await self._held().approve(one, discord.utils.utcnow())
        except (SkillUnusable, OSError) as error:
            return NOT_WRITTEN.format(what="Not approved", why=plain(str(error), 300))
        return f"✅ The skill {inline(one.name)} is used from the next task on."

    async def _list(self, ctx: Context) -> None:
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "skills")
        require(stand, "see")
        found = await self._held().found(await self._row(stand))
        trouble = await asyncio.to_thread(lambda: self._held().store.trouble)
        text = skill_text.listed(found)
        await answer_at_length(ctx, "Skills", f"⚠️ {plain(trouble, 400)}\n{text}" if trouble else text, "skills.txt")

    async def _owner(self, ctx: Context) -> Stand:
        await begin(ctx)
        stand = await self.bot.reach.stand(
            ctx.interaction or ctx.message, ctx.command.qualified_name if ctx.command else ""
        )
        require(stand, "settings")
        return stand

    async def _named(self, stand: Stand, name: str) -> FoundSkill:
        wanted = name.strip().strip("`")
        one = next((one for one in await self._held().found(await self._row(stand)) if one.name == wanted), None)
        if one is None:
            raise OutOfReach(NO_SUCH.format(name=inline(one_line(name, 64))))
        return one

    async def _row(self, stand: Stand) -> SessionRow | None:
        """The thread where the command is used; None elsewhere."""
        try:
            return await self.bot.reach.thread(stand)
        except OutOfReach:
            return None

    async def _whole(self, one: FoundSkill) -> Attached:
        """The skill in full, as a file for whoever approves it."""
        store = self._held().store

        def text() -> bytes:
            return skill_text.whole(one, store.before(one)).encode()

        return Attached(FILE, await asyncio.to_thread(text))

    def _require_place(self, one: FoundSkill) -> None:
        if one.place == HOME and self.bot.servers > 1:
            raise OutOfReach(SEVERAL.format(name=one.name))

    def _held(self) -> ThreadSkills:
        if self.bot.backstage.skills is None:
            raise OutOfReach(NONE)
        return self.bot.backstage.skills

    async def _names(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        stand = await self.bot.reach.stand(interaction)
        if not may(stand.speaker.level, "settings"):
            return []
        command = interaction.command.name if interaction.command else ""
        found = await self._held().found(await self._row(stand))
        if command == "approve":
            found = tuple(one for one in found if one.state in ("new", "changed", "damaged"))
        if command == "remove":
            found = tuple(one for one in found if one.approval is not None)
        return [(f"{one_line(one.name, 64)}: {skill_text.MEANING[one.state]}", one.name) for one in found]

    for _command in (show, approve, remove):
        _command.autocomplete("name")(proposed(_names))
    del _command


class Approving(PersonalView):
    """The button under a skill that somebody looks at; what it approves is what they see."""

    def __init__(self, cog: SkillCommands, stand: Stand, name: str, sha: str) -> None:
        super().__init__(stand.speaker.id, APPROVE_SECONDS, NOT_YOU, OVER)
        self._cog, self._name, self._sha = cog, name, sha

    @discord.ui.button(label="Approve it as it is now", style=discord.ButtonStyle.success)
    async def approve(self, interaction: Interaction, _: discord.ui.Button[Approving]) -> None:
        """Let tasks use it."""
        await interaction.response.defer()
        self.stop()
        done = await self._cog.approved(interaction, self._name, self._sha)
        said = interaction.client.desk.discreet_text(done)
        await interaction.edit_original_response(content=said, attachments=[], view=None)


def _head(one: FoundSkill) -> str:
    about = (
        f"\n> {plain(one.skill.description, 300)}\n-# {plain(one.where, 200)}, files: {len(one.skill.files)}"
        if one.skill
        else ""
    )
    return f"The skill {inline(one_line(one.name, 64))}: {skill_text.said(one)}.{about}"
