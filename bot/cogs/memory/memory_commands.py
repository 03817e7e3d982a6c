"""Commands on memory: the notes of a thread, and facts that are remembered; owners decide which facts are used."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import discord
from discord import app_commands
from discord.ext import commands

from bot.access.permissions import may
from bot.access.thread_access import OutOfReach, Stand, require
from bot.cogs.commands.autocomplete import threads_for
from bot.cogs.commands.control import THREAD
from bot.cogs.commands.replies import answer, answer_at_length, begin, proposed
from bot.history import summaries
from bot.lessons import fact_text
from bot.messages import report_text
from bot.messages.lesson_text import safe
from bot.rendering.discord_text import inline, one_line
from reflexion.lessons.fact import Fact, approved, forgotten, living

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context, Interaction
    from reflexion.ports import FactsChange, LessonStore

FACT = "Its id, as `memory list` shows it"
DESCRIPTION = "The agent's notes in a thread, and facts it remembers"
REFLECTIONS = 3
NO_SUCH = "There is no fact {id} here. `memory list` shows them."
NOT_KEPT = "Facts are not kept here."


class MemoryCommands(commands.Cog):
    """Lists, shows, approves and forgets."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_group(description=DESCRIPTION, fallback="list")
    @app_commands.describe(thread=THREAD)
    async def memory(self, ctx: Context, thread: str = "") -> None:
        """What the agent noted for itself in a thread, its to-do list, what it learned, and facts that hold here."""
        if ctx.interaction is None and thread == "list":
            thread = ""
        stand = await self._stand(ctx)
        facts = fact_text.listed(await self._seen(stand)) if self.bot.backstage.lessons else NOT_KEPT
        try:
            notes = await self._notes(stand, thread)
        except OutOfReach:
            if thread:
                raise
            notes = ""
        parts = [*((notes, "") if notes else ()), "**Facts**", facts]
        await answer_at_length(ctx, "Memory of this thread" if notes else "Memory", "\n".join(parts), "memory.md")

    @memory.command(description="One fact: what it says and where it is from")
    @app_commands.describe(fact=FACT)
    async def show(self, ctx: Context, fact: str) -> None:
        """One fact: what it says and where it is from."""
        found = await self._fact(await self._stand(ctx), fact)
        await answer_at_length(ctx, f"Fact {found.id}", fact_text.shown(found), "fact.md")

    @memory.command(description="Use a fact from now on")
    @app_commands.describe(fact=FACT)
    async def approve(self, ctx: Context, fact: str) -> None:
        """Let a fact be used from now on."""
        stand, found = await self._owned(ctx, fact)
        who, at = stand.speaker.id, discord.utils.utcnow()
        await self._change(found, lambda known: approved(known, found.id, who, at))
        await answer(ctx, f"Fact `{found.id}` is used from now on: {safe(found.text)}")

    @memory.command(description="Forget a fact for good")
    @app_commands.describe(fact=FACT)
    async def forget(self, ctx: Context, fact: str) -> None:
        """Delete a fact."""
        _, found = await self._owned(ctx, fact)
        await self._change(found, partial(forgotten, id=found.id))
        await answer(ctx, f"Forgotten: {safe(found.text)}")

    async def _notes(self, stand: Stand, thread: str) -> str:
        row = await self.bot.reach.thread(stand, thread)
        logs = await self.bot.records.logs(row.thread)
        notes = list(dict.fromkeys(note for log in logs for note in summaries.notes(log)))
        todo = summaries.todo(logs[-1]) if logs else []
        store = self.bot.backstage.lessons
        learned = await store.reflections(row.guild, row.thread, REFLECTIONS) if store else ()
        left_out = await self.bot.expiry.of_thread(row.thread)
        return "\n".join(filter(None, (report_text.memory(notes, todo, learned), left_out)))

    async def _owned(self, ctx: Context, id: str) -> tuple[Stand, Fact]:
        stand = await self._stand(ctx)
        require(stand, "lessons")
        return stand, await self._fact(stand, id)

    async def _change(self, fact: Fact, change: FactsChange) -> None:
        def changed(known: tuple[Fact, ...]) -> tuple[Fact, ...]:
            if fact.id not in {each.id for each in known}:
                raise OutOfReach(NO_SUCH.format(id=inline(fact.id)))
            return change(known)

        await self._store().change_facts(fact.scope, changed)

    async def _fact(self, stand: Stand, id: str) -> Fact:
        wanted = id.strip().strip("`")
        found = next((fact for fact in await self._seen(stand) if fact.id == wanted), None)
        if found is None:
            raise OutOfReach(NO_SUCH.format(id=inline(one_line(id, 40))))
        return found

    async def _seen(self, stand: Stand) -> tuple[Fact, ...]:
        """The facts of this server; those of a repository in its own threads, and for owners everywhere."""
        held = living(await self._store().facts(stand.guild_id), discord.utils.utcnow())
        if stand.alone_in:
            return tuple(fact for fact in held if fact.scope.thread == stand.alone_in)
        workshop, all_of_them = self.bot.backstage.workshop, may(stand.speaker.level, "lessons") and not stand.openly
        here = workshop.workplace(str(stand.channel)) if workshop is not None else None
        own = {"", here.repository if here is not None else ""}
        return tuple(fact for fact in held if all_of_them or fact.scope.repository in own)

    async def _stand(self, ctx: Context) -> Stand:
        await begin(ctx)
        name = ctx.command.qualified_name if ctx.command else ""
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, name)
        require(stand, "see")
        return stand

    def _store(self) -> LessonStore:
        if self.bot.backstage.lessons is None:
            raise OutOfReach(NOT_KEPT)
        return self.bot.backstage.lessons

    async def _threads(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        return await threads_for(self.bot, interaction, current)

    async def _facts(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        stand = await self.bot.reach.stand(interaction)
        command = interaction.command.name if interaction.command else ""
        if not may(stand.speaker.level, "see" if command == "show" else "lessons"):
            return []
        found = await self._seen(stand)
        if command == "approve":
            found = tuple(fact for fact in found if not fact.approved_by)
        return [(f"{fact_text.SIGNS[fact.status]} {one_line(safe(fact.text), 70)}", fact.id) for fact in found]

    memory.autocomplete("thread")(proposed(_threads))
    for _command in (show, approve, forget):
        _command.autocomplete("fact")(proposed(_facts))
    del _command


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(MemoryCommands(bot))
