"""Requests beside the turns: triage, advice, a summary.  Each is asked once, and its failure blocks nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentic.core import advising, compacting, triage
from agentic.core.conversation import Prompt, ToolSpec
from agentic.core.events import Purpose
from agentic.core.execution import Execution

PROMPTS: Mapping[Purpose, Callable[[Execution, tuple[ToolSpec, ...]], Prompt]] = {
    "triage": triage.prompt,
    "advice": advising.prompt,
    "summary": compacting.prompt,
}


def prompt_of(execution: Execution, purpose: Purpose, tools: tuple[ToolSpec, ...]) -> Prompt:
    """What is asked, for this purpose."""
    return PROMPTS[purpose](execution, tools)
