"""The part of the fold that makes the history shorter: what stood before the kept turns becomes the summary."""

from __future__ import annotations

from dataclasses import replace

from agentic.core.events.execution_events import Compacted, Envelope
from agentic.core.fold.prompt_size import characters
from agentic.core.prompt.summary import room_of
from agentic.core.prompt.user_messages import shortened
from agentic.core.state.conversation import Message
from agentic.core.state.execution import Execution
from agentic.core.state.replace import changed
from agentic.core.state.work_log import advanced, bounded
from agentic.core.text.foreign_text import mark_of


def compacted(execution: Execution, event: Compacted, envelope: Envelope) -> Execution:
    """The history begins with its head and the summary, and what was kept follows."""
    history = execution.history
    cut = len(history) - event.kept
    kept = history[cut:]
    if event.longest:
        kept = tuple(trimmed(message, event.longest) for message in kept)
    begins = event.opening + len("…\n\n") if event.opening else 0
    summary = f"{event.summary[:begins]}{mark_of(execution.started)} {event.summary[begins:]}"
    shorter = (*history[: event.head], Message("user", text=summary, landmark=True), *kept)
    chronicle = advanced(execution.mind.chronicle, history[event.head : cut], asking(execution))
    return changed(
        execution,
        history=shorter,
        extent=changed(execution.extent, history=characters(shorter)),
        mind=changed(execution.mind, compacted=event, chronicle=bounded(chronicle, room_of(execution))),
        turn=changed(execution.turn, longest=event.longest),
        failure=changed(execution.failure, last=None, compacted=True) if event.why == "overflow" else execution.failure,
        consulted=None,
    )


def asking(execution: Execution) -> frozenset[str]:
    """The tools that put a question to a person."""
    return frozenset(tool.name for tool in execution.started.tools if tool.asks) if execution.started else frozenset()


def trimmed(message: Message, longest: int) -> Message:
    """The message with its results cut; the same one where there is nothing to cut."""
    if all(len(answer.text) <= longest for answer in message.answers):
        return message
    return replace(
        message, answers=tuple(replace(answer, text=shortened(answer.text, longest)) for answer in message.answers)
    )
