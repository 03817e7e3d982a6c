"""The part of the fold that notices what repeats itself."""

from __future__ import annotations

from agentic.core.events import ToolFinished
from agentic.core.execution import Execution
from agentic.core.judging import Repeats


def with_result(execution: Execution, event: ToolFinished) -> Repeats:
    """What repeats itself, with this result; the call of it stands in the current turn."""
    return execution.judged.repeats
