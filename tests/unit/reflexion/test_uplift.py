"""Uplift: the difference that lessons make, with the intervals of the literature."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflexion.lessons.lifecycle import Arm, Showing
from reflexion.measurement.uplift import Uplift, overall_uplift, uplift_of

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def showings(shown: tuple[int, int], held: tuple[int, int], lesson: str = "l1") -> list[Showing]:
    """(ok, of) with the lesson, and without it."""
    arms: tuple[tuple[Arm, tuple[int, int]], ...] = (("shown", shown), ("held_back", held))
    return [
        Showing(lesson=lesson, execution=f"{arm}{n}", guild="g", arm=arm, ok=n < ok, at=NOW)
        for arm, (ok, of) in arms
        for n in range(of)
    ]


@pytest.mark.parametrize(
    ("shown", "held", "difference", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17 (1998) 873-890, table II, method 10.
        ((56, 70), (48, 80), 0.2, 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.6, 0.1705, 0.8090),
        ((5, 56), (0, 29), 0.0893, -0.0381, 0.1926),
        ((10, 10), (0, 10), 1.0, 0.6075, 1.0),
    ],
)
def test_one_lesson_has_newcombes_interval(
    shown: tuple[int, int], held: tuple[int, int], difference: float, low: float, high: float
) -> None:
    uplift = uplift_of(showings(shown, held))
    assert uplift is not None
    assert (uplift.difference, uplift.low, uplift.high) == pytest.approx((difference, low, high), abs=6e-5)
    assert (uplift.shown_ok, uplift.shown, uplift.held_back_ok, uplift.held_back) == (*shown, *held)


def test_nothing_is_said_of_a_lesson_that_was_never_held_back() -> None:
    assert uplift_of(showings((3, 4), (0, 0))) is None
    assert overall_uplift(showings((3, 4), (0, 0)) + showings((0, 0), (2, 3), "l2")) is None


def test_tasks_of_which_nobody_knows_how_they_went_are_no_comparison() -> None:
    known = showings((3, 4), (1, 4))
    silent = [each.model_copy(update={"says": False}) for each in showings((0, 9), (9, 9))]
    assert uplift_of([*known, *silent]) == uplift_of(known)


def test_what_was_crowded_out_is_no_comparison() -> None:
    crowded = [each.model_copy(update={"arm": "crowded"}) for each in showings((0, 50), (0, 0))]
    assert uplift_of(showings((3, 4), (1, 4))) == uplift_of(showings((3, 4), (1, 4)) + crowded)


def test_each_lesson_is_compared_with_itself() -> None:
    """Simpson's: the lesson for easy tasks is mostly shown, that for hard ones mostly held back, and neither helps."""
    easy, hard = showings((72, 80), (18, 20), "easy"), showings((2, 20), (8, 80), "hard")
    overall = overall_uplift(easy + hard)
    assert overall is not None
    assert overall.difference == pytest.approx(0.0, abs=1e-9)
    assert overall.low < 0 < overall.high < 0.2


def test_no_variance_is_no_certainty() -> None:
    overall = overall_uplift(showings((2, 2), (1, 1)) + showings((3, 3), (1, 1), "l2"))
    assert overall is not None
    assert overall.low < -0.3
    assert overall.high > 0.3


def test_the_interval_over_many_lessons_holds_the_truth_as_often_as_it_says() -> None:
    rng, hits, rounds = random.Random(6), 0, 150
    for _ in range(rounds):
        drawn: list[Showing] = []
        for number in range(40):
            without, of, held = rng.uniform(0.1, 0.5), rng.randint(1, 12), rng.randint(1, 2)
            counts = [sum(rng.random() < p for _ in range(n)) for p, n in ((without + 0.3, of), (without, held))]
            drawn += showings((counts[0], of), (counts[1], held), f"l{number}")
        overall = overall_uplift(drawn)
        hits += overall is not None and overall.low <= 0.3 <= overall.high
    assert 0.91 <= hits / rounds <= 0.99


@given(st.tuples(*[st.integers(0, 30)] * 4))
def test_an_interval_holds_its_difference_and_turns_round_with_the_arms(counts: tuple[int, int, int, int]) -> None:
    one, more, other, others = counts
    shown, held = (one, one + more + 1), (other, other + others + 1)
    straight, turned = uplift_of(showings(shown, held)), uplift_of(showings(held, shown))
    assert isinstance(straight, Uplift)
    assert isinstance(turned, Uplift)
    assert -1 <= straight.low <= straight.difference + 1e-9
    assert straight.difference <= straight.high + 1e-9 <= 1 + 1e-8
    assert (turned.low, turned.high) == pytest.approx((-straight.high, -straight.low))
