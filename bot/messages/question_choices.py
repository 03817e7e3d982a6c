"""The message of a question, made from its outbox item and its execution's log."""

from __future__ import annotations

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.errors import StoreCorrupt
from agentic.ports.runtime import EventLog
from bot.messages.approval_text import approval, sought
from bot.messages.question_text import Standing, question_words, read
from bot.rendering.discord_text import Rendered, render


async def standing_of(log: EventLog, execution: str, question: str) -> Standing:
    """Return the state of a question; one whose log is damaged can no longer be answered."""
    try:
        return read([envelope async for envelope in log.read(execution)], question)
    except StoreCorrupt:
        return Standing(way="damaged")


async def question_of(log: EventLog, item: OutboxItem, standing: Standing) -> Rendered:
    """Render a question or an approval with its answers so far, and how it can be or was answered."""
    if item.asked == "approval" and standing.way != "damaged":
        seeks = sought([envelope async for envelope in log.read(item.execution)], item.question)
        return approval(item, seeks, standing)
    return render(question_words(item, standing), name="question.md")
