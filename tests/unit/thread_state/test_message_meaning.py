"""What people do means one thing in each phase of a thread, also where it is read twice."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

import pytest

from agentic.core.events.execution_events import Asked, InboxItem, Person, Sort
from agentic.core.fold.people import MACHINE
from bot.thread_state.message_meaning import ACTS, MEANINGS, Deliver, Input, Refuse, input_of, meaning_of
from bot.thread_state.session_state import ExecutionState, Phase, SessionState, Stage

INPUTS: tuple[Input, ...] = tuple(MEANINGS)
LATER: dict[Sort, Input] = {"pause": "late pause", "resume": "late resume"}
ANN = Person(id="7", name="Ann")
WORKING = SessionState((ExecutionState("x1", Stage.RUNNING),), "x1", requester="7")
ASKING = SessionState((ExecutionState("x1", question=Asked(question="q1", text="Really?")),), "x1", requester="7")


def item(kind: Sort, *, by: Person = ANN, target: str = "", message: str = "8") -> InboxItem:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    return InboxItem(id="8", thread="100", sort=kind, author=by, at=at, target=target, message=message)


def test_each_kind_of_inbox_item_has_a_row() -> None:
    assert set(get_args(Sort)) <= set(INPUTS)


def test_whatever_is_done_has_a_meaning_in_every_phase() -> None:
    meanings = [meaning_of(done, phase) for done in INPUTS for phase in Phase]
    assert all(isinstance(meaning, Deliver) or meaning.text for meaning in meanings)


def test_what_is_read_a_second_time_in_the_same_phase_means_the_same() -> None:
    for done in INPUTS:
        for phase in Phase:
            meaning = meaning_of(done, phase)
            if isinstance(meaning, Deliver):
                assert meaning_of(LATER.get(meaning.kind, meaning.kind), phase) == meaning


@pytest.mark.parametrize("phase", sorted(set(Phase) - {Phase.UNKNOWN, Phase.IDLE}, key=str))
def test_a_stop_is_obeyed_in_every_phase_in_which_anything_is_open(phase: Phase) -> None:
    assert meaning_of("stop", phase) == Deliver("stop")


@pytest.mark.parametrize("phase", Phase)
def test_words_of_who_may_steer_are_never_refused(phase: Phase) -> None:
    assert isinstance(meaning_of("message", phase), Deliver)


@pytest.mark.parametrize("phase", sorted(set(Phase) - {Phase.IDLE, Phase.UNKNOWN}, key=str))
def test_nothing_begins_a_task_at_once_where_something_is_open(phase: Phase) -> None:
    assert [done for done in INPUTS if meaning_of(done, phase) == Deliver("task")] == []


def test_acts_are_what_waits_for_the_end_of_all_that_is_open() -> None:
    acts = {done for done in get_args(Sort) if meaning_of(done, Phase.IDLE) == Deliver(done)}
    assert {done for done in acts if isinstance(meaning_of(done, Phase.WORKING), Refuse)} == ACTS


def test_a_task_that_comes_while_something_runs_is_guidance_for_ones_own_and_waits_behind_another_persons() -> None:
    ben, chief = Person(id="8", name="Ben"), Person(id="9", name="Chief", level="operator")
    meanings = [meaning_of(input_of(item("task", by=who), WORKING), WORKING.phase) for who in (ANN, ben, chief)]
    assert meanings == [Deliver("guidance"), Deliver("queue"), Deliver("guidance")]


@pytest.mark.parametrize(
    ("target", "message", "state", "meant"),
    [
        ("q1", "8", ASKING, "answer"),
        ("q1#2", "5", ASKING, "answer"),
        ("q0", "5", ASKING, ""),
        ("q1", "8", WORKING, "guidance"),
        ("q1", "5", WORKING, ""),
        ("", "8", WORKING, "guidance"),
        ("q1", "8", SessionState(), ""),
        ("", "8", SessionState(), "task"),
    ],
)
def test_an_answer_counts_for_the_question_that_is_open_and_words_are_never_lost_on_what_runs(
    target: str, message: str, state: SessionState, meant: str
) -> None:
    meaning = meaning_of(input_of(item("answer", target=target, message=message), state), state.phase)
    assert (meaning.kind if isinstance(meaning, Deliver) else "") == meant


@pytest.mark.parametrize("by", [ANN, MACHINE])
def test_a_pause_that_comes_as_it_asks_holds_over_the_answer(by: Person) -> None:
    assert isinstance(meaning_of("pause", ASKING.phase), Refuse)
    assert meaning_of(input_of(item("pause", by=by), ASKING), ASKING.phase) == Deliver("pause")


def test_what_the_bot_itself_paused_a_person_may_pause_as_well() -> None:
    assert meaning_of("pause", Phase.SUSPENDED) == Deliver("pause")
    assert isinstance(meaning_of("pause", Phase.PAUSED), Refuse)
