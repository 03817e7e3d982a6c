"""Commands on lessons: what this server taught the agent; owners decide what counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discord import app_commands
from discord.ext import commands

from bot import lesson_words
from bot.cogs.commands.answering import answer, answer_at_length, begin, proposed
from bot.cogs.commands.failures import UnknownSubcommand
from bot.reach import OutOfReach, Stand, require
from bot.render import one_line
from bot.rights import may
from reflexion.lessons import Lesson, screened

if TYPE_CHECKING:
    from bot.client import ThreadwrightBot
    from bot.cogs.commands.answering import Context, Interaction
    from reflexion.ports import LessonStore

LESSON = "Its id, as `lessons list` shows it"
NO_LESSONS = "Lessons are not kept here."
NO_SUCH = "There is no lesson {id} here. `lessons list` shows them."
EVERYWHERE = "That lesson counts in all servers; only who runs me can change it, on my machine."
MOST = 500
DESCRIPTION = "What was learned in this server"


class Lessons(commands.Cog):
    """Lists, shows, approves, amends and retires lessons of the guild."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_group(description=DESCRIPTION)
    async def lessons(self, ctx: Context, *, rest: str = "") -> None:
        """What was learned in this server."""
        if rest:
            raise UnknownSubcommand(rest.split()[0], self.lessons.all_commands)
        await self._list(ctx)

    @lessons.command(name="list", description=DESCRIPTION)
    async def list_(self, ctx: Context) -> None:
        """What was learned in this server."""
        await self._list(ctx)

    @lessons.command(description="One lesson: what it says, where it comes from, how it fared")
    @app_commands.describe(lesson=LESSON)
    async def show(self, ctx: Context, lesson: str) -> None:
        """One lesson: what it says, where it comes from, how it fared."""
        stand, _ = await self._store(ctx)
        found = await self._lesson(stand, lesson)
        text = lesson_words.shown(found, whole=may(stand.speaker.level, "lessons"))
        await answer_at_length(ctx, f"Lesson {found.id}", text, "lesson.md")

    @lessons.command(description="Let a lesson count from now on")
    @app_commands.describe(lesson=LESSON)
    async def approve(self, ctx: Context, lesson: str) -> None:
        """Let a lesson count from now on."""
        stand, store = await self._changing(ctx)
        found = await self._changeable(stand, lesson)
        note = f"Approved by {stand.speaker.name}."
        await store.amend(found.model_copy(update={"status": "active", "author_trust": "operator", "note": note}))
        await answer(ctx, f"Lesson `{found.id}` counts from now on: tasks that it fits are told of it.")

    @lessons.command(description="Let a lesson count no longer")
    @app_commands.describe(lesson=LESSON)
    async def retire(self, ctx: Context, lesson: str) -> None:
        """Let a lesson count no longer."""
        stand, store = await self._changing(ctx)
        found = await self._changeable(stand, lesson)
        note = f"Retired by {stand.speaker.name}."
        await store.amend(found.model_copy(update={"status": "retired", "note": note}))
        await answer(ctx, f"Lesson `{found.id}` no longer counts. `lessons approve` brings it back.")

    @lessons.command(description="Say better what a lesson is about, or what to do")
    @app_commands.describe(lesson=LESSON, action="What to do", trigger="When that holds; without it, as it is")
    async def edit(
        self, ctx: Context, lesson: str, action: commands.Range[str, 1, MOST],
        trigger: commands.Range[str, 0, MOST] = "",
    ) -> None:  # fmt: skip
        """Say better what a lesson is about, or what to do."""
        stand, store = await self._changing(ctx)
        found = await self._changeable(stand, lesson)
        words = {"action": action, "trigger": trigger or found.trigger, "author_trust": "operator"}
        amended = screened(found.model_copy(update={**words, "note": f"Amended by {stand.speaker.name}."}))
        await store.amend(amended)
        held = f" {amended.note} `lessons approve` does that." if amended.status == "quarantined" else ""
        await answer(ctx, f"Lesson `{found.id}` now says: {lesson_words.said(amended)}{held}")

    async def _list(self, ctx: Context) -> None:
        stand, store = await self._store(ctx)
        found = [each for each in await store.lessons(stand.guild_id) if await self._may_see(stand, each)]
        await answer_at_length(ctx, "Lessons of this server", lesson_words.listed(found), "lessons.md")

    async def _store(self, ctx: Context) -> tuple[Stand, LessonStore]:
        await begin(ctx)
        stand = await self.bot.reach.stand(
            ctx.interaction or ctx.message, ctx.command.qualified_name if ctx.command else ""
        )
        require(stand, "see")
        return stand, self._kept()

    async def _changing(self, ctx: Context) -> tuple[Stand, LessonStore]:
        stand, store = await self._store(ctx)
        require(stand, "lessons")
        return stand, store

    def _kept(self) -> LessonStore:
        if self.bot.backstage.lessons is None:
            raise OutOfReach(NO_LESSONS)
        return self.bot.backstage.lessons

    async def _lesson(self, stand: Stand, id: str) -> Lesson:
        found = await self._kept().lesson(stand.guild_id, id.strip().strip("`"))
        if found is None or not await self._may_see(stand, found):
            raise OutOfReach(NO_SUCH.format(id=f"`{one_line(id, 40)}`"))
        return found

    async def _changeable(self, stand: Stand, id: str) -> Lesson:
        found = await self._lesson(stand, id)
        if found.scope.kind == "global":
            raise OutOfReach(EVERYWHERE)
        return found

    async def _may_see(self, stand: Stand, lesson: Lesson) -> bool:
        """A lesson of one thread is seen by who sees the thread."""
        if lesson.scope.kind != "thread":
            return True
        try:
            await self.bot.reach.thread(stand, lesson.scope.thread)
        except OutOfReach:
            return False
        return True

    async def _lessons(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        stand = await self.bot.reach.stand(interaction)
        command = interaction.command.name if interaction.command else ""
        if not may(stand.speaker.level, "see" if command == "show" else "lessons"):
            return []
        found = [each for each in await self._kept().lessons(stand.guild_id) if await self._may_see(stand, each)]
        if command != "show":
            found = [each for each in found if each.scope.kind != "global"]
        if command == "approve":
            found = [each for each in found if each.status != "active"]
        if command == "retire":
            found = [each for each in found if each.status != "retired"]
        return [(f"{each.status}: {one_line(each.trigger, 70)}", each.id) for each in found]

    for _command in (show, approve, retire, edit):
        _command.autocomplete("lesson")(proposed(_lessons))
    del _command
