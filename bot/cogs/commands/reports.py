"""Commands that only look: sessions, cost, confidence, escalation, logs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import discord
from discord import app_commands
from discord.ext import commands

from agentic.core.events.execution_events import Envelope, SubagentFinished
from bot.access.thread_access import Stand, require
from bot.cogs.commands.autocomplete import threads_for
from bot.cogs.commands.control import THREAD
from bot.cogs.commands.replies import (
    answer_at_length,
    begin,
    proposed,
    reads_much,
)
from bot.messages import report_text
from bot.messages.escalation_text import escalation as told_of
from bot.messages.escalation_text import rises, turns_by_tier
from bot.messages.log_text import story
from bot.messages.report_text import of_today
from reflexion.text.secrets import redact

if TYPE_CHECKING:
    from agentic.ports.runtime import SessionRow
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context, Interaction

SESSIONS = 10
"""On one page."""
COUNTED = 200
"""Costs are summed over so many threads."""
REFLECTIONS = 3

Grouping = Literal["here", "threads", "people"]
Lines = commands.Range[int, 1, report_text.MOST_LINES]
Page = commands.Range[int, 1, 1_000]


class ReportCommands(commands.Cog):
    """What happened in a thread, from its logs."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_command(description="The threads you can see, and what each is doing")
    @reads_much()
    @app_commands.describe(page=f"{SESSIONS} threads a page, last used first")
    async def sessions(self, ctx: Context, page: Page = 1) -> None:
        """The threads you can see, and what each is doing."""
        stand = await self._stand(ctx)
        rows = await self.bot.reach.threads(stand, page * SESSIONS + 1)
        shown = rows[(page - 1) * SESSIONS : page * SESSIONS]
        told = [report_text.ThreadLine(row, await self.bot.conversation.status(row.thread)) for row in shown]
        more = page + 1 if len(rows) > page * SESSIONS else 0
        text = report_text.sessions(told, asker=stand.speaker.id, page=page, more=more)
        await answer_at_length(ctx, report_text.title_of_sessions(openly=stand.openly), text, "threads.md")

    @commands.hybrid_command(description="What this thread, all threads, or each person's tasks cost")
    @reads_much()
    @app_commands.describe(of="What to add up: here (this thread), threads or people (all you can see)", thread=THREAD)
    async def cost(self, ctx: Context, of: Grouping = "here", thread: str = "") -> None:
        """What this thread, all threads, or each person's tasks cost."""
        if of == "here" or thread:
            row = await self._row(ctx, thread)
            costs = await self.bot.records.costs([row.thread])
            left_out = await self.bot.expiry.of_thread(row.thread)
            told = _lines(report_text.cost_of_thread(costs), left_out, await self._today(ctx, row.guild))
            await answer_at_length(ctx, "Cost of this thread", told, "cost.md")
            return
        stand = await self._stand(ctx)
        rows = await self.bot.reach.threads(stand, COUNTED)
        costs = await self.bot.records.costs([row.thread for row in rows])
        if of == "people":
            told = _lines(report_text.cost_by_person(costs), self.bot.expiry.always)
            await answer_at_length(ctx, "Cost by person", told, "cost.md")
        else:
            told = _lines(report_text.cost_by_thread(costs), self.bot.expiry.always)
            await answer_at_length(ctx, "Cost by thread", told, "cost.md")

    async def _today(self, ctx: Context, guild: str) -> str:
        """How far the caps of the day are used up that concern whoever asks."""
        purse = self.bot.backstage.purse
        return (
            of_today(await purse.today(str(ctx.author.id), guild, discord.utils.utcnow())) if purse is not None else ""
        )

    @commands.hybrid_command(description="How sure the agent is, turn by turn")
    @app_commands.describe(thread=THREAD)
    async def confidence(self, ctx: Context, thread: str = "") -> None:
        """How sure the agent is, and how that went turn by turn."""
        row = await self._row(ctx, thread)
        trends = await self.bot.records.trends(row.thread)
        text = _lines(report_text.confidence(trends), await self.bot.expiry.of_thread(row.thread))
        await answer_at_length(ctx, "Confidence", text, "confidence.md")

    @commands.hybrid_command(description="When a stronger model took over, and why")
    @app_commands.describe(thread=THREAD)
    async def escalation(self, ctx: Context, thread: str = "") -> None:
        """When a stronger model took over, and why."""
        row = await self._row(ctx, thread)
        newest = await self.bot.records.newest(row.thread)
        links = self.bot.feed.links
        logs, _ = await self.bot.records.streams(row.thread)
        found = [replace(rise, details=links.task(row.thread, log[0].execution)) for log in logs for rise in rises(log)]
        status = await self.bot.conversation.status(row.thread)
        text = told_of(found, status, report_text.tiers_of(newest) or self.bot.backstage.policy.tiers)
        text = _lines(f"{text}\n{turns_by_tier(logs)}".rstrip(), await self.bot.expiry.of_thread(row.thread))
        await answer_at_length(ctx, "Escalation", text, "escalation.md")

    @commands.hybrid_command(description="The newest lines of a thread's log")
    @reads_much()
    @app_commands.describe(lines="How many lines", thread=THREAD)
    async def logs(self, ctx: Context, lines: Lines = 25, thread: str = "") -> None:
        """The newest lines of a thread's log."""
        row = await self._row(ctx, thread)
        told: list[str] = []
        for log in filter(None, await self.bot.records.logs(row.thread)):
            whole = (*log, *await self.bot.store.read_outcome(log[0].execution))
            for each, said in story(whole):
                told.append(f"{each.at:%H:%M:%S} {each.seq:>4} {redact(said)}")
                told += await self._of_helper(each)
        text = _lines(report_text.log(told[-lines:]), await self.bot.expiry.of_thread(row.thread))
        await answer_at_length(ctx, report_text.title_of_log(len(told), lines), text, "log.md")

    async def _of_helper(self, ended: Envelope) -> list[str]:
        """Return the log of a helper, where it ended."""
        if not isinstance(ended.event, SubagentFinished):
            return []
        log = await self.bot.records.helper(ended.event.child)
        return [f"{each.at:%H:%M:%S} {each.seq:>4}   ↳ {redact(said)}" for each, said in story(log)]

    async def _stand(self, ctx: Context) -> Stand:
        await begin(ctx)
        stand = await self.bot.reach.stand(
            ctx.interaction or ctx.message, ctx.command.qualified_name if ctx.command else ""
        )
        require(stand, "see")
        return stand

    async def _row(self, ctx: Context, thread: str) -> SessionRow:
        return await self.bot.reach.thread(await self._stand(ctx), thread)

    async def _threads(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        return await threads_for(self.bot, interaction, current)

    for _command in (cost, confidence, escalation, logs):
        _command.autocomplete("thread")(proposed(_threads))
    del _command


def _lines(told: str, left_out: str, *more: str) -> str:
    """What is told, and what is left out of it; where that is all, nothing is said to have never been."""
    told = "" if left_out and told in (report_text.NO_EXECUTION, report_text.NO_COST) else told
    return "\n".join(filter(None, (told, left_out, *more)))
