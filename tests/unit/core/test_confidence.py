"""The heuristic, with the goldens of its definition."""

from __future__ import annotations

import pytest

from agentic.core.claims.confidence import of_turn, score
from agentic.core.events.execution_events import ConfidenceParts, Reported
from agentic.core.events.values import FileChange
from tests.unit.core.building import Log


def parts(**changes: float) -> ConfidenceParts:
    values = {"self_report": 70.0, "tool_ok": 1.0, "same_error": 0, "tests": 0.5, "progress": 1.0, "corrections": 0}
    return ConfidenceParts.model_validate(values | changes)


@pytest.mark.parametrize(
    ("case", "turn", "expected"),
    [
        (parts(), 0, 83),
        (parts(self_report=100, tests=1.0), 1, 100),
        (parts(self_report=20, tool_ok=0.5, same_error=3, progress=1 - 3 / 5, corrections=1), 6, 12),
        (parts(self_report=0, tool_ok=0, same_error=9, tests=0, progress=0, corrections=5), 2, 0),
    ],
)
def test_the_goldens(case: ConfidenceParts, turn: int, expected: int) -> None:
    assert score(case, turn) == expected


def test_nothing_yet_is_eighty_three() -> None:
    log = Log()
    log.answer("Looking.")
    value = of_turn(log.execution)
    assert value.parts.self_report == 70
    assert value.parts.tool_ok == 1.0
    assert value.parts.tests == 0.5


def test_a_run_that_fails_silently_falls() -> None:
    log = Log(same_error_escalates=99, low_confidence_turns=99, repeats_escalate=99, stale_turns_escalate=99)
    scores: list[int] = []
    for _ in range(6):
        log.answer(("shell", {}))
        log.use(0, "failed", error="it broke")
        log.settle()
        assert log.execution.confidence is not None
        scores.append(log.execution.confidence.heuristic)
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] < 30


def test_from_the_second_turn_without_a_report_the_last_three_turns_speak() -> None:
    log = Log()
    log.answer("confidence: 90", ("look", {}))
    log.use(0)
    log.settle()
    log.answer(("look", {}))
    log.use(0)
    assert of_turn(log.execution).parts.self_report == 90
    log.settle()
    log.answer(("look", {}), ("look", {}))
    log.use(0)
    log.use(1, "failed", error="e")
    assert of_turn(log.execution).parts.self_report == 75
    log.settle()
    for _ in range(3):
        log.answer("thinking")
        log.settle()
    assert of_turn(log.execution).parts.self_report == 90


def test_tests_progress_and_reports_count() -> None:
    log = Log()
    log.answer(("shell", {}))
    log.add(Reported(status="progressing", confidence=40))
    log.use(0, tests=(3, 1), changes=(FileChange(path="a", kind="modified"),))
    value = of_turn(log.execution)
    assert (value.parts.self_report, value.parts.tests, value.parts.progress) == (40, 0.75, 1.0)
    empty = Log()
    empty.answer(("shell", {}))
    empty.use(0, tests=(0, 0))
    assert of_turn(empty.execution).parts.tests == 0.5


def test_done_with_evidence_is_progress_and_without_it_none() -> None:
    log = Log()
    log.answer(("look", {}))
    log.use(0)
    assert of_turn(log.execution, proven=True).parts.progress == 1.0
    assert of_turn(log.execution, proven=False).parts.progress == 0.0
    assert of_turn(log.execution).parts.progress == 0.8
