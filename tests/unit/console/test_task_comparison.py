"""Two tasks side by side: aligned by what they did, with the first step in which they part."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agentic.core.events.execution_events import (
    ChosenLesson,
    Envelope,
    Finished,
    ModelRequested,
    Policy,
    WithheldLesson,
)
from bot.console.hindsight.task_comparison import (
    Row,
    aligned,
    beginnings,
    cost_split,
    lesson_rows,
    parting,
    prompt_difference,
    side_names,
    steps_of,
)
from tests.integration.console import logs


def task(*commands: str, reason: str = "done") -> list[Envelope]:
    turns = [event for number, command in enumerate(commands, 1) for event in logs.turn(number, command)]
    return logs.enveloped("x1", [logs.started(), *turns, *logs.end(reason)])


def shape(rows: Sequence[Row]) -> list[tuple[int, int, bool]]:
    return [(row.left.turn if row.left else 0, row.right.turn if row.right else 0, row.same) for row in rows]


def compared(left: list[Envelope], right: list[Envelope]) -> list[Row]:
    return aligned(steps_of(left), steps_of(right))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("abc", "abc", [(1, 1, True), (2, 2, True), (3, 3, True)]),
        ("abc", "axc", [(1, 1, True), (2, 2, False), (3, 3, True)]),
        ("abcd", "abxxcd", [(1, 1, True), (2, 2, True), (0, 3, False), (0, 4, False), (3, 5, True), (4, 6, True)]),
        ("ab", "a", [(1, 1, True), (2, 0, False)]),
        ("a", "b", [(1, 1, False)]),
        ("axbycz", "abc", [(1, 1, True), (2, 0, False), (3, 2, True), (4, 0, False), (5, 3, True), (6, 0, False)]),
        ("", "", []),
    ],
)
def test_turns_stand_beside_each_other_by_what_they_did(
    left: str, right: str, expected: list[tuple[int, int, bool]]
) -> None:
    assert shape(compared(task(*left), task(*right))) == expected


def test_the_first_step_that_differs_is_where_they_part() -> None:
    left, right = task("a", "b", "c"), task("a", "x", "c")
    parted = parting(compared(left, right), left, right)
    assert parted is not None
    assert parted.row == 1
    answers = [log[seq - 1].event for log, seq in ((left, parted.left_seq), (right, parted.right_seq))]
    assert [event.kind for event in answers] == ["model_answered", "model_answered"]
    assert [event.turn for event in (left[parted.left_seq - 2].event,) if isinstance(event, ModelRequested)] == [2]
    assert "another step" in parted.what


def test_an_end_that_differs_is_where_they_part_and_equal_tasks_do_not() -> None:
    left, right = task("a"), task("a", reason="failed")
    parted = parting(compared(left, right), left, right)
    assert parted is not None
    assert isinstance(left[parted.left_seq - 1].event, Finished)
    assert "ended differently" in parted.what
    assert parting(compared(left, left), left, left) is None
    longer = task("a", "b")
    went_on = parting(compared(left, longer), left, longer)
    assert went_on is not None
    assert isinstance(left[went_on.left_seq - 1].event, Finished)
    assert isinstance(longer[went_on.right_seq - 1].event, ModelRequested)


@pytest.mark.parametrize(("left", "right"), [("abc", "axbc"), ("abc", "xabc"), ("abcd", "abxxcd")])
def test_a_step_in_between_is_no_end_of_the_other_one_which_is_shown_with_its_next_step(left: str, right: str) -> None:
    place = next(n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b)
    for swapped in (False, True):
        logs_of = task(*(right if swapped else left)), task(*(left if swapped else right))
        parted = parting(compared(*logs_of), logs_of[0], logs_of[1], ("attempt 1", "attempt 2"))
        assert parted is not None
        on, off = ("attempt 1", "attempt 2") if swapped else ("attempt 2", "attempt 1")
        assert parted.what == f"{on} took a step that {off} did not; {off} went on with its next one"
        assert parted.row == place
        shown = [step.key[0] for step in (parted.left, parted.right) if step is not None]
        assert [key.split('"')[-2] for key in shown] == ([*"x", left[place]] if swapped else [left[place], *"x"])
        for log, step, seq in zip(
            logs_of, (parted.left, parted.right), (parted.left_seq, parted.right_seq), strict=True
        ):
            assert step is not None
            assert (step.answered, log[seq - 1].event.kind) == (seq, "model_answered")


def test_one_that_only_went_on_is_named() -> None:
    left, right = task("a"), task("a", "b")
    parted = parting(compared(left, right), left, right, ("source", "fork"))
    assert parted is not None
    assert (parted.what, parted.left) == ("fork went on, and source did not", None)
    nothing = parting(compared(task(), right), task(), right)
    assert nothing is not None
    assert nothing.what == "only right took a turn"


@pytest.mark.parametrize(
    ("left", "right", "names"),
    [
        ({}, {"attempt": 2, "trial_of": "a"}, ("attempt 1", "attempt 2")),
        ({"attempt": 3, "trial_of": "0"}, {"attempt": 2, "trial_of": "0"}, ("attempt 3", "attempt 2")),
        ({}, {"attempt": 2, "trial_of": "other"}, ("left", "right")),
        ({}, {"forked_from": ("a", 9)}, ("source", "fork")),
        ({"forked_from": ("b", 9)}, {}, ("fork", "source")),
        ({"forked_from": ("0", 9)}, {"forked_from": ("0", 4)}, ("one fork", "the other fork")),
        ({}, {}, ("left", "right")),
    ],
)
def test_two_tasks_are_called_by_how_they_are_related(
    left: dict[str, object], right: dict[str, object], names: tuple[str, str]
) -> None:
    assert side_names(logs.started("Fix it", **left), logs.started("Fix it", **right), ("a", "b")) == names


def test_another_model_at_the_parting_is_named() -> None:
    left, right = task("a"), task("b")
    right = [
        e.model_copy(update={"event": e.event.model_copy(update={"tier": 3, "model": "large"})})
        if isinstance(e.event, ModelRequested)
        else e
        for e in right
    ]
    parted = parting(compared(left, right), left, right)
    assert parted is not None
    assert "large (tier 3)" in parted.what


def test_the_same_step_with_another_result_is_marked() -> None:
    events = [logs.started(), *logs.turn(1, "a", result="2 failed"), *logs.end()]
    row = compared(task("a"), logs.enveloped("x2", events))[0]
    assert (row.same, row.other_result) == (True, True)
    assert not compared(task("a"), task("a"))[0].other_result


def test_thousands_of_equal_turns_with_some_between_them_are_aligned_quickly() -> None:
    left = steps_of(task(*"a" * 1_500))
    right = steps_of(task(*"a" * 700, "x", *"a" * 400, "y", *"a" * 600))
    rows = aligned(left, right)
    assert len(rows) >= 1_702
    assert shape(rows)[699:701] == [(700, 700, True), (0, 701, False)]


def test_cost_is_split_by_model() -> None:
    assert cost_split(task("a", "b")) == {"anthropic/claude-haiku-4-5": pytest.approx(0.0062)}


def test_lessons_that_only_one_was_told_come_first() -> None:
    both = ChosenLesson(id="l1", kind="fact", text="Tests need the database.", why="it fits")
    one = ChosenLesson(id="l2", kind="strategy", text="Run the linter first.")
    left = logs.started(lessons=(both, one))
    right = logs.started(lessons=(both,), withheld=(WithheldLesson(id="l2", arm="held_back"),))
    rows = lesson_rows(left, right)
    assert [(row.text, row.left, row.right) for row in rows] == [
        ("Run the linter first.", "told", "not told: held back to measure it"),
        ("Tests need the database.", "told: it fits", "told: it fits"),
    ]


def test_what_differed_at_the_beginning_is_listed_and_nothing_else() -> None:
    left, right = logs.started(), logs.started(attempt=2, policy=Policy(max_usd=9.0))
    assert beginnings(left, right) == [("attempt", "1", "2"), ("policy: max usd", "5.0", "9.0")]
    assert beginnings(left, left) == []


def test_the_difference_of_prompts_is_bounded() -> None:
    difference = [("@", "@ -1,3 +1,3 @@"), ("", "a"), ("-", "b"), ("+", "x"), ("", "c")]
    assert prompt_difference("a\nb\nc", "a\nx\nc") == (difference, False)
    assert prompt_difference("a", "a") == ([], False)
    lines, cut = prompt_difference("\n".join(map(str, range(9_000))), "other")
    assert cut
    assert len(lines) <= 400
