"""Requests beside the turns: triage, advice, a summary.  Each is asked once, and its failure blocks nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentic.core.events.execution_events import Purpose
from agentic.core.rules import compaction, escalation, triage
from agentic.core.state.conversation import Prompt, ToolSpec
from agentic.core.state.execution import Execution

PROMPTS: Mapping[Purpose, Callable[[Execution, tuple[ToolSpec, ...]], Prompt]] = {
    "triage": triage.prompt,
    "advice": escalation.prompt,
    "summary": compaction.prompt,
}


def prompt_of(execution: Execution, purpose: Purpose, tools: tuple[ToolSpec, ...]) -> Prompt:
    """What is asked, for this purpose."""
    return PROMPTS[purpose](execution, tools)
