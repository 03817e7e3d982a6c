"""Remembered facts as people read them; pure. Their words come from agents: they are shown, never obeyed."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.events.execution_events import OutboxItem
from bot.messages.lesson_text import safe
from bot.messages.report_text import stamp
from bot.rendering.discord_text import inline, plain
from reflexion.lessons.fact import ERASED, Fact, FactSource, FactStatus

NONE = "No facts are remembered here yet."
SIGNS: dict[FactStatus, str] = {"waiting": "⚠ waits for approval", "active": "●", "replaced": "✕ replaced"}
ORDER: tuple[FactStatus, ...] = ("waiting", "active", "replaced")
WAITING = (
    "📝 I'd like to remember: {text}\n-# Not used yet: {why}. An owner can use `/memory approve fact:{id}` or "
    "`/memory forget fact:{id}`."
)
DECIDES = "-# An owner decides: `/memory approve` or `/memory forget`, with the fact's id."


def waiting(fact: Fact) -> OutboxItem:
    """The message in the thread that says that a fact waits for a person; one for each call."""
    first = fact.sources[-1]
    text = WAITING.format(text=safe(fact.text), why=plain(fact.note, 300), id=fact.id)
    return OutboxItem(key=f"{first.call}.remember", thread=first.thread, execution="", sort="notice", text=text)


def listed(facts: Sequence[Fact]) -> str:
    """A line for each fact, those that wait first."""
    ordered = sorted(facts, key=lambda fact: (ORDER.index(fact.status), -fact.created.timestamp()))
    lines = [f"{SIGNS[fact.status]} `{fact.id}` {safe(fact.text)}{_of(fact)}" for fact in ordered]
    if any(fact.status == "waiting" for fact in facts):
        lines.append(DECIDES)
    return "\n".join(lines) or NONE


def shown(fact: Fact) -> str:
    """One fact with where it is from."""
    lines = [f"{SIGNS[fact.status]} {safe(fact.text)}{_of(fact)}"]
    lines += [f"Waits because {plain(fact.note, 300)}."] if fact.status == "waiting" else []
    lines += [f"Replaced by `{fact.replaced_by}`."] if fact.replaced_by else []
    lines += [f"Replaces `{fact.replaces}`."] if fact.replaces else []
    if fact.approved_by:
        lines.append("Approved by somebody whose data was erased." if fact.approved_by == ERASED
                     else f"Approved by <@{fact.approved_by}>.")  # fmt: skip
    lines += [_source(source) for source in fact.sources]
    return "\n".join(lines)


def _of(fact: Fact) -> str:
    return f" · of {inline(fact.scope.repository)}" if fact.scope.repository else ""


def _source(source: FactSource) -> str:
    asked = f", asked by <@{source.asked_by}>" if source.asked_by else ""
    read = f", after reading {plain(' and '.join(source.read), 200)}" if source.read else ""
    return f"• said in <#{source.thread}>, turn {source.turn}, {stamp(source.at)}{asked}{read}"
