"""What an execution says of the lessons that fitted it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentic.core.events.execution_events import ChosenLesson
from reflexion.evaluation.score import evaluate
from reflexion.evaluation.trajectory import Trajectory, read_trajectory
from reflexion.lessons.lesson import Verdict
from reflexion.lessons.lifecycle import (
    Arm,
    Baseline,
    Life,
    Showing,
)
from reflexion.measurement.showings import (
    SIMILAR,
    arms_of,
    known_outcome,
    showing_of,
    similar,
    verdict_of,
)
from tests.unit.reflexion.logs import EPOCH, Did, Log, edit

PASSES = Did("pytest -q", 0, "3 passed", tests=(3, 0))
FAILS = Did("pytest -q", 1, "1 failed", tests=(2, 1))
SHOWN = (
    ChosenLesson(id="r1", kind="reflection", text="…"),
    ChosenLesson(id="l2", kind="pitfall", text="…"),
    ChosenLesson(id="l1", kind="pitfall", text="…"),
)


def read(log: Log) -> Trajectory:
    return read_trajectory(log.events)


@pytest.mark.parametrize(
    ("log", "ok"),
    [
        (Log().does(edit("a.py")).does(PASSES).ends(), True),
        (Log().does(edit("a.py")).does(FAILS).ends("failed"), False),
        (Log().does(edit("a.py")).ends(), None),
        (Log().does(FAILS).ends("stopped"), None),
        (Log().does(FAILS).ends("cancelled"), None),
        (Log().does(FAILS).fails_to_ask().ends("failed"), None),
    ],
    ids=["passes", "fails", "nothing verified", "stopped", "cancelled", "outage"],
)
def test_only_what_ran_to_its_end_and_was_looked_at_says_something(log: Log, ok: bool | None) -> None:
    assert known_outcome(read(log)) is ok


def test_the_verdict_says_how_many_lessons_were_shown_and_reflections_are_none() -> None:
    trajectory = read(Log(lessons=SHOWN).does(edit("a.py")).does(PASSES).ends())
    assert arms_of(trajectory) == {"l2": "shown", "l1": "shown"}
    verdict = verdict_of(trajectory, evaluate(trajectory), None, "g1", EPOCH)
    assert (verdict.lessons_shown, verdict.ok, verdict.verifier, verdict.judge) == (2, True, "pass", None)


def verdict(execution: str, *, ok: bool | None = True, **more: object) -> Verdict:
    known = {"guild": "g1", "thread": "900", "model": "m", "role": "coder", "at": EPOCH}
    return Verdict.model_validate({**known, "execution": execution, "ok": ok, **more})


def showing(number: int, *, ok: bool, arm: Arm = "held_back") -> Showing:
    at = EPOCH + timedelta(hours=number)
    return Showing(lesson="l", execution=f"s{number}", guild="g1", arm=arm, ok=ok, at=at)


def test_similar_are_first_the_executions_that_this_lesson_fitted_and_to_which_no_lesson_was_shown() -> None:
    withheld = [showing(number, ok=False) for number in range(SIMILAR)]
    crowded = [showing(99, ok=True, arm="crowded")]
    shown = [showing(200 + number, ok=True, arm="shown") for number in range(9)]
    unaided = [verdict(f"u{number}") for number in range(50)] + [verdict(each.execution, ok=False) for each in withheld]
    base = similar(verdict("now"), [*withheld, *crowded, *shown], unaided)
    assert base == Baseline(tries=SIMILAR, ok=0)
    beside_another = similar(verdict("now"), crowded, ())
    assert beside_another == Baseline(), (
        "where another lesson stood in its place, nothing is known of how it goes without"
    )


def test_then_come_those_by_the_same_model_in_the_same_role_and_then_by_the_same_model() -> None:
    unaided = [
        *(verdict(f"other{number}", ok=False, model="n") for number in range(2 * SIMILAR)),
        *(verdict(f"role{number}", ok=False, role="planner") for number in range(SIMILAR // 2)),
        *(verdict(f"same{number}") for number in range(SIMILAR // 2 + 1)),
    ]
    assert similar(verdict("now"), [], unaided) == Baseline(tries=SIMILAR, ok=SIMILAR // 2 + 1)


def test_neither_itself_nor_another_server_nor_another_direct_message_is_similar() -> None:
    others = [verdict("now"), verdict("x", guild="g2"), verdict("y", ok=None)]
    assert similar(verdict("now"), (), others) == Baseline()
    direct = [verdict("a", guild="", thread="dm1"), verdict("b", guild="", thread="dm2")]
    assert similar(verdict("now", guild="", thread="dm1"), [], direct) == Baseline(tries=1, ok=1)


def test_a_lesson_that_stood_after_another_is_expected_to_find_the_task_helped_already() -> None:
    helped = Life(shown=9, shown_ok=9, evidence=5.0, helps=(4.0, 6.0), harms=-8.0)
    alone = showing_of(verdict("now"), "l", "shown", Baseline(tries=10, ok=3), ())
    beside = showing_of(verdict("now"), "l", "shown", Baseline(tries=10, ok=3), (helped,))
    assert (alone.unaided, alone.place, beside.place) == (None, 0, 1)
    assert beside.unaided == alone.expected < beside.expected
