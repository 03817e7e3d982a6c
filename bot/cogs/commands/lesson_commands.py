"""Commands on lessons: what this server taught the agent; owners decide what counts."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol

import discord
from discord import app_commands
from discord.ext import commands

from bot.access.permissions import may
from bot.access.thread_access import (
    ELSEWHERE,
    OutOfReach,
    Stand,
    require,
)
from bot.cogs.commands.command_errors import UnknownSubcommand
from bot.cogs.commands.replies import (
    answer,
    answer_at_length,
    begin,
    proposed,
    reads_much,
)
from bot.lessons.decisions import said_anew
from bot.lessons.effect_text import in_short, overall
from bot.lessons.export import JSON, MARKDOWN, exported
from bot.lessons.skill_export import NotExported, skill_of
from bot.lessons.usage import known_of
from bot.messages import lesson_text
from bot.rendering.discord_text import Attached, one_line
from reflexion.lessons.changes import approved, retired
from reflexion.lessons.lesson import Lesson, LessonStatus
from reflexion.lessons.lifecycle import Showing
from reflexion.text.secrets import redact

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context, Interaction
    from reflexion.ports import LessonStore

LESSON = "Its id, as `lessons list` shows it"
NO_SUCH = "There is no lesson {id} here. `lessons list` shows them."
MOST = 500
DESCRIPTION = "What was learned in this server"
SIZE = 8
"""Lessons on one page."""
Wanted = Literal["all", "waiting", "active", "probation", "candidate", "retired"]
STATUSES: dict[Wanted, LessonStatus | None] = {
    "all": None, "waiting": "quarantined", "active": "active", "probation": "probation", "candidate": "candidate",
    "retired": "retired",
}  # fmt: skip
Page = commands.Range[int, 1, 1_000]


class LessonChange(Protocol):
    """What a person does to a lesson."""

    def __call__(self, lesson: Lesson, /, *, by: str, at: datetime) -> Lesson:
        """The lesson afterwards."""
        ...


class LessonCommands(commands.Cog):
    """Lists, shows, approves, amends, retires and exports lessons of the guild."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_group(description=DESCRIPTION)
    async def lessons(self, ctx: Context, *, rest: str = "") -> None:
        """What was learned in this server."""
        if rest:
            raise UnknownSubcommand(rest.split()[0], self.lessons.all_commands)
        await self._list(ctx)

    @lessons.command(name="list", description=DESCRIPTION)
    @reads_much()
    @app_commands.describe(
        status="Only those of one status", page=f"{SIZE} lessons a page; those waiting for an owner come first"
    )
    async def list_(self, ctx: Context, status: Wanted = "all", page: Page = 1) -> None:
        """What was learned in this server."""
        await self._list(ctx, status, page)

    @lessons.command(description="One lesson: what it says, whether it helps, where it was used, its history")
    @app_commands.describe(lesson=LESSON)
    async def show(self, ctx: Context, lesson: str) -> None:
        """One lesson: what it says, whether it helps, where it was used, what was done to it."""
        stand, store = await self._store(ctx)
        found = await self._lesson(stand, lesson)
        known = await known_of(self.bot.store, self.bot.reach, store, stand, found)
        whole = may(stand.speaker.level, "lessons") and not stand.openly
        await answer_at_length(ctx, f"Lesson {found.id}", lesson_text.shown(found, known, whole=whole), "lesson.md")

    @lessons.command(description="Use a lesson from now on")
    @app_commands.describe(lesson=LESSON)
    async def approve(self, ctx: Context, lesson: str) -> None:
        """Let a lesson count from now on."""
        found = await self._changed(ctx, lesson, approved)
        await answer(ctx, lesson_text.decided(found))

    @lessons.command(description="Stop using a lesson")
    @app_commands.describe(lesson=LESSON)
    async def retire(self, ctx: Context, lesson: str) -> None:
        """Let a lesson count no longer."""
        found = await self._changed(ctx, lesson, retired)
        await answer(ctx, lesson_text.decided(found))

    @lessons.command(description="Reword when a lesson applies, or what to do")
    @app_commands.describe(lesson=LESSON, action="What to do", trigger="When it applies; unchanged if left out")
    async def edit(
        self, ctx: Context, lesson: str, *, action: commands.Range[str, 1, MOST],
        trigger: commands.Range[str, 0, MOST] = "",
    ) -> None:  # fmt: skip
        """Say better what a lesson is about, or what to do; with the prefix the whole rest of the line is what to do."""
        better = partial(said_anew, action=_unquoted(action), trigger=trigger)
        found = await self._changed(ctx, lesson, better)
        held = f" {found.note} `/lessons approve lesson:{found.id}` does that." if found.status == "quarantined" else ""
        await answer(ctx, f"Lesson `{found.id}` now says: {lesson_text.said(found)}{held}")

    @lessons.command(description="All lessons of this server as files, or a proven one as a skill")
    @reads_much()
    @app_commands.describe(lesson="One that is proven, as a SKILL.md; all lessons if left out")
    async def export(self, ctx: Context, lesson: str = "") -> None:
        """All lessons of this server as files, for programs and for people; or a proven one as a skill."""
        stand, store = await self._store(ctx)
        require(stand, "lessons")
        if stand.openly:
            raise OutOfReach(ELSEWHERE.format(command="lessons export"))
        if lesson:
            text, file = await self._as_skill(stand, store, lesson)
            await answer(ctx, text, files=[file])
            return
        found = [each for each in await store.lessons(stand.guild_id) if await self._may_see(stand, each)]
        if not found:
            raise OutOfReach(lesson_text.NONE)
        count = lesson_text.times(len(found), "lesson")
        text = f"{count}: `{JSON}` has all data, `{MARKDOWN}` is for reading."
        await answer(ctx, text, files=exported(found, discord.utils.utcnow()))

    async def _as_skill(self, stand: Stand, store: LessonStore, id: str) -> tuple[str, Attached]:
        found = await self._lesson(stand, id)
        try:
            made = skill_of(found, await store.showings(stand.guild_id, found.id, thread=stand.alone_in))
        except NotExported as refused:
            raise OutOfReach(f"Lesson `{found.id}` was not exported: {refused}.") from refused
        text = f"Lesson `{found.id}` as a skill: put the file into a folder `{made.name}` in `.agents/skills/`."
        return text, Attached(made.files[0].path, made.files[0].content)

    async def _list(self, ctx: Context, status: Wanted = "all", page: int = 1) -> None:
        stand, store = await self._store(ctx)
        found = [each for each in await store.lessons(stand.guild_id) if await self._may_see(stand, each)]
        wanted = STATUSES[status]
        ids = {each.id for each in found}
        lived = [each for each in await store.showings(stand.guild_id, thread=stand.alone_in) if each.lesson in ids]
        of_each: dict[str, list[Showing]] = {}
        for showing in lived:
            of_each.setdefault(showing.lesson, []).append(showing)
        effects = {each.id: in_short(each.life, of_each.get(each.id, ())) for each in found}
        text = lesson_text.listed(found, effects, overall(lived), of=wanted, page=page, size=SIZE)
        title = "Lessons of this server" if stand.guild_id else "Lessons of this conversation"
        await answer_at_length(ctx, title, text, "lessons.md")

    async def _changed(self, ctx: Context, id: str, change: LessonChange) -> Lesson:
        """Change a lesson in the name of whoever asks, who has to be an owner now."""
        stand, _ = await self._store(ctx)
        require(stand, "lessons")
        found = await self._changeable(stand, id)
        at = discord.utils.utcnow()
        new = await self.bot.approving.change(
            stand.guild_id, found.id, lambda known: change(known, by=stand.speaker.name, at=at)
        )
        if new is None:
            raise OutOfReach(NO_SUCH.format(id=f"`{found.id}`"))
        return new

    async def _store(self, ctx: Context) -> tuple[Stand, LessonStore]:
        await begin(ctx)
        stand = await self.bot.reach.stand(
            ctx.interaction or ctx.message, ctx.command.qualified_name if ctx.command else ""
        )
        require(stand, "see")
        return stand, self._kept()

    def _kept(self) -> LessonStore:
        if self.bot.backstage.lessons is None:
            raise OutOfReach(lesson_text.NO_LESSONS)
        return self.bot.backstage.lessons

    async def _lesson(self, stand: Stand, id: str) -> Lesson:
        found = await self._kept().lesson(stand.guild_id, id.strip().strip("`"))
        if found is None or not await self._may_see(stand, found):
            raise OutOfReach(NO_SUCH.format(id=f"`{one_line(id, 40)}`"))
        return found

    async def _changeable(self, stand: Stand, id: str) -> Lesson:
        found = await self._lesson(stand, id)
        if found.scope.kind == "global":
            raise OutOfReach(lesson_text.EVERYWHERE)
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
        return [(f"{lesson_text.SIGNS[each.status]}: {one_line(redact(each.trigger), 70)}", each.id) for each in found]

    for _command in (show, approve, retire, edit):
        _command.autocomplete("lesson")(proposed(_lessons))
    del _command


def _unquoted(text: str) -> str:
    """Without the quotes that other commands ask for around several words."""
    inner = text[1:-1].strip()
    return inner if text[:1] == text[-1:] == '"' and inner and '"' not in inner else text
