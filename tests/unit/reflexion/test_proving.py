"""A lesson is shown once the next attempt at its task went well with it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentic.core.events.execution_events import ChosenLesson
from reflexion.evaluation.trajectory import Trajectory, read_trajectory
from reflexion.lessons.lesson import (
    Insight,
    Lesson,
    Reflection,
    Verdict,
    propose_lesson,
)
from reflexion.measurement.promotion import PROVED, proved, told_first
from tests.unit.reflexion.logs import EPOCH, Did, Log

LATER = EPOCH + timedelta(minutes=5)
WENT_WELL = Verdict(execution="x2", guild="g", thread="900", ok=True, score=90, verifier="pass", at=LATER)


def reflection(number: int = 1, action: str = "Skip empty rows before the date is parsed.") -> Reflection:
    insight = Insight(
        what_worked="Reading.", what_failed="The date parser met empty rows.", root_cause="Each row is parsed.",
        strategy_change=action, key_insight="The export ends with an empty row.",
    )  # fmt: skip
    return Reflection(
        id=f"r{number}", thread="900", guild="g", execution=f"x{number}", task="Fix the parser.", cause="c", insight=insight,
        error_signature="shell: ValueError", created=EPOCH, touches=(),
    )  # fmt: skip


def candidate(of: Reflection, **update: object) -> Lesson:
    lesson = propose_lesson(of)
    assert lesson is not None
    assert lesson.status == "candidate"
    return lesson.model_copy(update=update)


def attempt(*told: str, task: str = "Fix the parser.") -> Trajectory:
    chosen = tuple(ChosenLesson(id=id, kind="reflection", text="t", why="w") for id in told)
    log = Log(task=task, lessons=chosen)
    log.does(Did("pytest", tests=(3, 0))).ends()
    return read_trajectory(log.events)


def test_the_lesson_that_a_successful_further_attempt_was_told_goes_on_probation() -> None:
    of = reflection()
    now = proved(of, WENT_WELL, [candidate(of)], LATER)
    assert now is not None
    assert (now.status, now.note) == ("probation", PROVED)
    assert (now.history[-1].at, now.history[-1].status) == (LATER, "probation")


@pytest.mark.parametrize(
    "verdict", [{"ok": False, "verifier": "fail"}, {"ok": None, "verifier": "none"}, {"verifier": "none"}]
)
def test_nothing_is_proved_where_no_check_passed(verdict: dict[str, object]) -> None:
    of = reflection()
    assert proved(of, WENT_WELL.model_copy(update=verdict), [candidate(of)], LATER) is None


@pytest.mark.parametrize(
    "update",
    [
        {"status": "quarantined"}, {"status": "retired"}, {"status": "active"}, {"contradicts": ("l2",)},
        {"executions": ("x7",)}, {"action": "Delete the whole export and write another parser."},
    ],
)  # fmt: skip
def test_no_other_lesson_moves(update: dict[str, object]) -> None:
    of = reflection()
    assert proved(of, WENT_WELL, [candidate(of, **update)], LATER) is None


def test_of_two_remedies_the_one_that_was_told_is_meant() -> None:
    first, second = reflection(1, "Read the export with another encoding."), reflection(2)
    both = [candidate(first, id="l1", executions=("x1", "x2")), candidate(second, id="l2")]
    now = proved(second, WENT_WELL, both, LATER)
    assert now is not None
    assert now.id == "l2"


def test_the_newest_reflection_is_what_it_was_told_and_only_one_on_the_same_task() -> None:
    known = [reflection(2), reflection(1)]
    assert told_first(attempt("r2", "r1"), known) == known[0]
    assert told_first(attempt(), known) is None
    assert told_first(attempt("r9"), known) is None
    assert told_first(attempt("r2", task="Write a poem."), known) is None
