"""The status line of a task: what it does now, context used, cost, cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentic.core.claims import confidence
from agentic.core.fold.people import MACHINE
from agentic.core.state.execution import Execution
from bot.history.payments import after_the_end

if TYPE_CHECKING:
    from bot.console.logs.task_log import TaskLog


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """The status in figures and words."""

    state: str
    """running, asks, paused, or how it ended."""
    words: str
    turn: int
    tier: int
    usd: float
    """What it cost, with failed requests, helpers, and what was asked after its end to learn from it."""
    tokens: int
    """Of all that."""
    context: int
    """Tokens of the last request."""
    cached: float
    """Share of the input tokens that came from the provider's cache, 0-1."""
    confidence: str
    copied_usd: float
    """What the part had cost that was copied from another task, which paid it; not in ``usd``."""
    learned_usd: float
    """What of it was asked after the end."""


def status_of(log: TaskLog) -> TaskStatus:
    """The status after the log's last event."""
    execution, figures, later = log.folded, log.story.figures, after_the_end(log.outcome)
    learned = sum(paid.usd for paid in later)
    state, words = state_of(log.folded)
    shown = (
        ""
        if execution.confidence is None or execution.talk
        else str(confidence.told(execution.confidence, execution.finished) or "")
    )
    return TaskStatus(
        state, words, execution.turn.number, execution.tier, figures.usd + learned,
        figures.tokens + sum(paid.tokens for paid in later), execution.extent.tokens, figures.own.cache_share or 0.0, shown,
        figures.copied_usd, learned,
    )  # fmt: skip


def state_of(execution: Execution) -> tuple[str, str]:
    """Say what it does now: a word for programs and styles, and words for people."""
    if execution.finished is not None:
        return execution.finished.reason, execution.finished.reason.replace("_", " ").capitalize()
    if execution.quarantined is not None:
        return "set_aside", "Set aside: it ended the bot's process too often. Write in its thread to go on"
    if execution.question is not None:
        return "asks", "Waiting for an approval" if execution.question.sort == "approval" else "Waiting for an answer"
    if execution.paused is not None:
        return "paused", "Paused" if execution.paused.author.id != MACHINE.id else f"Paused: {execution.paused.text}"
    if calls := execution.calls_in_flight:
        return "running", f"Running {calls[0].block.tool}"
    return "running", "Thinking"
