"""Advice of a stronger model, before it takes over."""

from __future__ import annotations

from agentic.core.conversation import Prompt, ToolSpec
from agentic.core.execution import Execution


def prompt(execution: Execution, tools: tuple[ToolSpec, ...]) -> Prompt:
    """What the stronger model is asked."""
    return Prompt(system="", tools=(), messages=(), tail=execution.task)
