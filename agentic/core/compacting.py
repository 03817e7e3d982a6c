"""Compaction: what the history becomes when it is longer than pays, with a bounded result."""

from __future__ import annotations

from agentic.core.actions import Action
from agentic.core.conversation import Message, Prompt, ToolSpec
from agentic.core.events import Compacted, Envelope
from agentic.core.execution import Execution
from agentic.core.frozen import changed


def compact(execution: Execution) -> Action | None:
    """The history is longer than pays, or than the model reads."""
    return None


def compacted(execution: Execution, event: Compacted, envelope: Envelope) -> Execution:
    """The history begins with the summary, and what was kept follows."""
    kept = execution.history[len(execution.history) - event.kept :] if event.kept else ()
    summary = Message("user", text=event.summary)
    return changed(execution, history=(summary, *kept), mind=changed(execution.mind, compacted=event), consulted=None)


def prompt(execution: Execution, tools: tuple[ToolSpec, ...]) -> Prompt:
    """What a model is asked to make of the history."""
    return Prompt(system="", tools=tools, messages=execution.history)
