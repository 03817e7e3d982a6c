"""What the report says of a store, in numbers and in plain words."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from reflexion.lessons.judge_trust import LABELLED
from reflexion.lessons.lesson import (
    Change,
    Lesson,
    Scope,
    Verdict,
)
from reflexion.lessons.lifecycle import Arm, Showing
from reflexion.measurement.report import lessons_report
from tests.unit.reflexion.logs import EPOCH


def lesson(id: str = "l1", **update: object) -> Lesson:
    scope = Scope(kind="guild", guild="g")
    return Lesson.model_validate(
        {"id": id, "scope": scope, "kind": "fact", "trigger": "t", "action": "a", "status": "active", "created": EPOCH}
        | update
    )


def showings(arm: Arm, ok: int, of: int, id: str = "l1") -> list[Showing]:
    return [
        Showing(lesson=id, execution=f"{arm}{n}", guild="g", arm=arm, ok=n < ok, at=EPOCH + timedelta(hours=n))
        for n in range(of)
    ]


def verdicts(*rows: tuple[float | None, bool | None], model: str = "judge") -> list[Verdict]:
    return [
        Verdict(
            execution=f"x{n}", guild="g", thread="1", ok=right, right=right, judge=share, judge_model=model, at=EPOCH
        )
        for n, (share, right) in enumerate(rows)
    ]


def test_the_uplift_is_what_was_shown_against_what_was_held_back_and_not_against_what_was_crowded_out() -> None:
    made = lessons_report(
        [lesson()], [*showings("shown", 8, 10), *showings("held_back", 2, 4), *showings("crowded", 0, 50)], []
    )
    assert made.overall is not None
    assert made.overall.difference == pytest.approx(0.3)
    assert (made.shown.ok, made.shown.of, made.held_back.ok, made.held_back.of) == (8, 10, 2, 4)
    assert made.shown.low < 0.8 < made.shown.high
    assert made.lessons[0].uplift == made.overall
    assert re.fullmatch(r"Uplift \+30 points, 95% interval −\d+ to \+\d+\.", made.summary)


def test_too_little_is_said_with_what_there_is_and_what_it_takes() -> None:
    few = lessons_report([lesson()], showings("shown", 6, 10) + showings("held_back", 1, 2), [])
    assert few.too_little.startswith("Known outcomes so far: 10 with a lesson, 2 with it withheld. About ")
    assert 150 <= few.pairs_needed <= 200
    one = lessons_report([lesson()], showings("shown", 1, 1), [])
    assert one.too_little.startswith("Known outcomes so far: 1 with a lesson, 0 with it withheld.")
    assert one.overall is None
    assert one.summary == one.too_little
    many = lessons_report([lesson()], showings("shown", 300, 500) + showings("held_back", 100, 200), [])
    assert many.too_little == ""


def test_showings_of_different_lessons_make_no_pair() -> None:
    made = lessons_report(
        [lesson("l1"), lesson("l2")], showings("shown", 300, 500) + showings("held_back", 1, 300, id="l2"), []
    )
    assert made.pairs == 0
    assert made.overall is None
    assert made.too_little


def test_a_lesson_has_its_status_from_change_to_change() -> None:
    at = [EPOCH + timedelta(days=day) for day in range(5)]
    changes = (
        Change(at=at[1], what="Seen again.", status="probation"), Change(at=at[2], by="Anna", what="Reworded."),
        Change(at=at[3], what="It helps.", status="active"),
    )  # fmt: skip
    told = lessons_report([lesson(history=changes)], [], []).lessons[0]
    assert told.stretches(at[0], at[4]) == (
        (at[0], at[1], "candidate"), (at[1], at[3], "probation"), (at[3], at[4], "active"),
    )  # fmt: skip
    still = lessons_report([lesson(created=at[2], status="quarantined")], [], []).lessons[0]
    assert still.stretches(at[0], at[4]) == ((at[2], at[4], "quarantined"),)


def test_each_judge_is_told_apart_and_by_labelled_readings_alone() -> None:
    good = verdicts(*[(0.9, True), (0.1, False)] * 30, (0.5, None), (None, True))
    made = lessons_report([], [], good + [each.model_copy(update={"judge_model": "coin"}) for each in good[:10]])
    assert [(each.model, each.read, each.labelled) for each in made.judges] == [("judge", 61, 60), ("coin", 10, 10)]
    assert (made.judges[0].auc, made.judges[0].weight, made.judges[0].missing) == (1.0, 1.0, 0)
    assert (made.judges[1].weight, made.judges[1].missing) == (0.0, LABELLED - 10)
    assert made.judges[0].points[0].came < made.judges[0].points[-1].came
    assert (made.known, len(made.verdicts)) == (71, 72)


def test_of_nothing_there_is_a_report_too() -> None:
    made = lessons_report([], [], [])
    assert (made.overall, made.judges, made.first, made.pairs, made.count("active")) == (None, (), None, 0, 0)
    assert made.summary.endswith(" of each are needed to see a 10-point effect.")
