"""The heuristic confidence, 0-100, with its parts (behaviour.md).

Success is read from exit codes and typed results, never from words.  The rules read the heuristic; people are shown
the calibrated number once there is a calibrator (until then the same number).
"""

from __future__ import annotations

import re

from agentic.core.events import Confidence, ConfidenceParts, Reported
from agentic.core.execution import Execution, Judged

_STATED = re.compile(r"^\s*confidence:\s*(\d{1,3})\b", re.IGNORECASE | re.MULTILINE)
_BEFORE_ANY_REPORT = 70.0
_PATIENCE = 5
"""Turns without a change after which progress counts nothing."""


def stated_in(text: str) -> Reported | None:
    """The report that a line ``confidence: N`` in the model's text makes; the last such line counts."""
    found = _STATED.findall(text)
    return Reported(status="progressing", confidence=min(int(found[-1]), 100)) if found else None


def score(parts: ConfidenceParts, turn: int) -> int:
    """The heuristic: five weighed parts less the corrections, rounded, within 0-100."""
    repeated = 1 - min(2 * parts.same_error / max(turn, 1), 1)
    value = (
        0.4 * parts.self_report / 100
        + 0.2 * parts.tool_ok
        + 0.2 * repeated
        + 0.1 * parts.tests
        + 0.1 * parts.progress
        - min(0.15 * parts.corrections, 0.3)
    )
    return max(0, min(100, round(100 * value)))


def of_turn(execution: Execution, *, proven: bool | None = None) -> Confidence:
    """The confidence at the end of the current turn, before ``TurnEnded``; ``proven`` where it says that it is done."""
    judged, turn = execution.judged, execution.turn
    unchanged = 0 if turn.changed else judged.turns_unchanged + 1
    progress = 1.0 if turn.changed else max(0.0, 1 - unchanged / _PATIENCE)
    if proven is None and judged.reported_this_turn and judged.reported is not None:
        proven = _tests(judged) == 1.0 if judged.reported.status == "done" else None
    if proven is not None:
        progress = 1.0 if proven else 0.0
    parts = ConfidenceParts(
        self_report=_self_report(execution),
        tool_ok=judged.calls_ok / judged.calls if judged.calls else 1.0,
        same_error=judged.same_error,
        tests=_tests(judged),
        progress=progress,
        corrections=judged.corrections,
    )
    value = score(parts, turn.number)
    return Confidence(shown=value, heuristic=value, parts=parts)


def _tests(judged: Judged) -> float:
    if judged.tests is None or sum(judged.tests) == 0:
        return 0.5
    passed, failed = judged.tests
    return passed / (passed + failed)


def _self_report(execution: Execution) -> float:
    judged, turn = execution.judged, execution.turn
    if judged.reported_this_turn and judged.reported is not None:
        return float(judged.reported.confidence)
    if judged.turns_unreported >= 1:
        ran = [call.result for call in turn.calls if call.result and call.result.outcome in ("ok", "failed")]
        recent = (*judged.recent, (sum(result.outcome == "ok" for result in ran), len(ran)))[-3:]
        all_calls = sum(count for _, count in recent)
        if all_calls:
            return 100 * sum(ok for ok, _ in recent) / all_calls
    return float(judged.reported.confidence) if judged.reported is not None else _BEFORE_ANY_REPORT
