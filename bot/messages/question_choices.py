"""A question as a message, made from its outbox item and its execution's log."""

from __future__ import annotations

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.errors import StoreCorrupt
from agentic.ports.runtime import EventLog
from bot.messages.approval_text import approval, sought
from bot.messages.question_text import Standing, question_words, read
from bot.rendering.discord_text import Rendered, render


async def standing_of(log: EventLog, execution: str, question: str) -> Standing:
    """How far a question has come; one whose log is damaged can be answered no more."""
    try:
        return read([envelope async for envelope in log.read(execution)], question)
    except StoreCorrupt:
        return Standing(way="damaged")


async def question_of(log: EventLog, item: OutboxItem, standing: Standing) -> Rendered:
    """What is asked, or would run, with what was answered so far and how it can be answered or was."""
    if item.asked == "approval" and standing.way != "damaged":
        seeks = sought([envelope async for envelope in log.read(item.execution)], item.question)
        return approval(item, seeks, standing)
    return render(question_words(item, standing), name="question.md")
