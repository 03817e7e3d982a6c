"""What can be done to a lesson, and how soon a wrong one is given up (row 98)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from reflexion.lessons.changes import (
    amended,
    approved,
    lived_through,
    may_be_shown,
    retired,
    settled,
)
from reflexion.lessons.lesson import Lesson, Trust
from reflexion.lessons.lifecycle import PARAMETERS, Life, Showing
from tests.unit.reflexion.logs import EPOCH
from tests.unit.reflexion.test_merging import lesson


def shown(number: int, *, ok: bool, expected: float) -> Showing:
    at = EPOCH + timedelta(hours=number)
    return Showing(lesson="l1", execution=f"x{number}", guild="g1", model="m", ok=ok, expected=expected, at=at)


def exposures(known: Lesson, goes_well: Callable[[int], bool], expected: float, most: int = 60) -> int:
    """How often it is shown until it is retired; ``most`` where it is not."""
    showings: list[Showing] = []
    for number in range(1, most):
        showings.append(shown(number, ok=goes_well(number), expected=expected))
        known = settled(lived_through(known, showings), now=showings[-1].at, verified=True)
        if known.status == "retired":
            return number
    return most


@pytest.mark.parametrize("expected", [0.05, 0.1, 0.3, 0.5, 0.7, 0.95])
@pytest.mark.parametrize(("trust", "bound"), [("model", 6), ("operator", 9)])
def test_f98_a_lesson_with_which_nothing_succeeds_is_given_up_soon(expected: float, trust: Trust, bound: int) -> None:
    known = lesson(status="active", author_trust=trust)
    assert exposures(known, lambda _: False, expected) <= bound


@pytest.mark.parametrize("expected", [0.05, 0.1, 0.2, 0.3, 0.5, 0.7])
def test_f98_one_that_changes_nothing_is_given_up_within_its_bound_and_one_that_helps_stays(expected: float) -> None:
    def luck(chance: float) -> Callable[[int], bool]:
        return lambda number: number * 7919 % 100 < 100 * chance

    known = lesson(status="probation")
    assert exposures(known, luck(expected), expected) <= PARAMETERS.shown_unproven
    assert exposures(known, luck(min(expected + 0.4, 0.95)), expected) == 60


def test_what_spoke_against_a_lesson_is_forgotten_when_a_person_brings_it_back() -> None:
    showings = [shown(number, ok=False, expected=0.6) for number in range(9)]
    gone = settled(lived_through(lesson(status="active"), showings), now=showings[-1].at, verified=True)
    assert (gone.status, gone.history[-1].status, gone.revision) == ("retired", "retired", 1)
    back = approved(gone, by="ann", at=showings[-1].at + timedelta(minutes=1))
    assert amended(gone, back).life == lived_through(back, showings).life == Life()
    later = [*showings, shown(20, ok=True, expected=0.6)]
    assert lived_through(back, later).life.shown == 1


def test_what_brought_a_lesson_to_an_approval_still_counts_where_nothing_spoke_against_it() -> None:
    showings = [shown(number, ok=True, expected=0.3) for number in range(3)]
    known = approved(lived_through(lesson(status="probation"), showings), by="ann", at=EPOCH + timedelta(days=1))
    assert lived_through(known, showings).life.shown == 3


def test_only_what_was_verified_makes_a_lesson_more_trusted_and_anything_makes_it_less() -> None:
    well = lived_through(lesson(status="probation"), [shown(number, ok=True, expected=0.3) for number in range(9)])
    assert settled(well, now=EPOCH, verified=False).status == "probation"
    assert settled(well, now=EPOCH, verified=True).status == "active"
    held = well.model_copy(update={"contradicts": ("l2",)})
    assert settled(held, now=EPOCH, verified=True).status == "probation"
    badly = lived_through(lesson(status="active"), [shown(number, ok=False, expected=0.6) for number in range(9)])
    assert settled(badly, now=EPOCH, verified=False).status == "retired"


def test_a_person_decides_with_a_line_in_the_history() -> None:
    gone = retired(lesson(status="active", contradicts=("l2",)), by="ann", at=EPOCH, why="the export is gone")
    assert (gone.status, gone.contradicts, may_be_shown(gone)) == ("retired", (), False)
    assert gone.note == gone.history[-1].what == "Retired by ann: the export is gone."
    back = approved(gone, by="ben", at=EPOCH)
    assert [(each.by, each.status) for each in back.history] == [("ann", "retired"), ("ben", "active")]
    assert (back.author_trust, may_be_shown(back)) == ("operator", True)
