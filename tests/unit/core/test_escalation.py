"""When it moves up a tier: every trigger at its threshold and below it, the rest afterwards, advice, the top, the way back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentic.core.display.outbox_items import visible
from agentic.core.events.execution_events import (
    Confidence,
    DeadlinePassed,
    Intervened,
    ModelFailed,
    StrongerWanted,
    ToolFinished,
    Triaged,
    TurnEnded,
)
from agentic.core.fold.escalation_signs import LEARNED_TURNS
from agentic.core.rules import escalation
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Consult, Record, Think
from tests.unit.core.building import Log
from tests.unit.core.climbing_logs import (
    changes_of_tier,
    consulted,
    new,
    requested,
    same_error,
    turn,
)
from tests.unit.core.test_confidence import parts


def low(log: Log) -> None:
    turn(log, score=29)


def no_change(log: Log) -> None:
    log.answer(("shell", {"command": f"do {log.execution.seq}"}))
    log.add(ToolFinished(call=log.start(), outcome="ok", preview="(no output)"))
    log.add(TurnEnded(turn=log.execution.turn.number, confidence=Confidence(shown=90, heuristic=90, parts=parts())))


def correction(log: Log) -> None:
    log.say("correction", "no")
    turn(log)


TRIGGERS: list[tuple[str, Callable[[Log], None], int, str]] = [
    ("low_confidence", low, 2, "confidence below 30 for 2 turns"),
    ("same_error", same_error, 3, "same error 3 times"),
    ("no_change", no_change, 5, "5 turns without a file change"),
    ("corrections", correction, 2, "corrected 2 times"),
]


@pytest.mark.parametrize(("rule", "step", "times", "words"), TRIGGERS, ids=[row[0] for row in TRIGGERS])
def test_each_trigger_fires_at_its_threshold_not_below_it_and_counts_from_the_last_escalation(
    rule: str, step: Callable[[Log], None], times: int, words: str
) -> None:
    log = new(stale_turns_escalate=99, repeats_escalate=99, repeats_nudged=98)
    for _ in range(times - 1):
        step(log)
        assert changes_of_tier(log) == []
    step(log)
    (first,) = changes_of_tier(log)
    assert (first.rule, first.from_tier, first.to_tier) == (rule, 2, 3)
    assert words in first.trigger
    assert (first.from_model, first.to_model, first.turn) == ("lab/m2", "lab/m3", times)
    assert first.tokens == log.execution.spent.tokens > 0
    for _ in range(max(times, 3) - 1):
        step(log)
        assert len(changes_of_tier(log)) == 1
    step(log)
    assert [change.to_tier for change in changes_of_tier(log)] == [3, 4]


def test_what_is_just_within_the_thresholds_moves_nothing() -> None:
    log = new()
    for score in (29, 30, 29, 31, 29, 30):
        turn(log, score=score)
    assert changes_of_tier(log) == []
    assert escalation.trigger(log.execution) is None


def learns(log: Log, what: str) -> None:
    """A turn that looks at one thing, with the confidence that the rules give it."""
    log.answer(("look", {"path": what}))
    text = f"def {what}():\n    return {what!r}\n"
    log.add(ToolFinished(call=log.start(), outcome="ok", preview=text))
    log.settle()


@pytest.mark.parametrize("named", ["readers", "errors"])
def test_what_was_learned_is_progress_up_to_fifteen_turns(named: str) -> None:
    """New files read, or new errors seen: then the change is made, and nothing was handed over."""
    log = new()
    for number in range(LEARNED_TURNS):
        what = f"{named}_{chr(ord('a') + number) * 3}"
        learns(log, what) if named == "readers" else turn(log, changed=False, error=f"NameError: {what}")
        assert escalation.trigger(log.execution) is None, number
    turn(log)
    assert changes_of_tier(log) == []
    assert log.execution.judged.climb.learned_turns == 0


def test_reading_on_and_on_is_no_progress() -> None:
    log = new()
    for number in range(LEARNED_TURNS + 5):
        assert changes_of_tier(log) == []
        learns(log, f"part_{chr(ord('a') + number) * 3}")
    (first,) = changes_of_tier(log)
    assert (first.rule, first.turn) == ("no_change", LEARNED_TURNS + 5)
    assert (first.counted["unchanged_turns"], first.counted["learned_turns"]) == (5, LEARNED_TURNS)


def test_a_task_that_changes_no_files_may_go_on_without_changing_any() -> None:
    log = new(stale_turns_escalate=99)
    log.add(Triaged(talk=False, changes_files=False))
    for _ in range(8):
        no_change(log)
    assert changes_of_tier(log) == []


@pytest.mark.parametrize(("status", "moves"), [("stuck", True), ("progressing", False)])
def test_a_report_of_being_stuck_moves_and_one_of_progress_does_not(status: str, moves: bool) -> None:
    log = new()
    turn(log, status=status)
    assert [change.rule for change in changes_of_tier(log)] == ["reported_stuck"] * moves


def test_the_model_may_ask_for_a_stronger_one_with_its_reason() -> None:
    log = new()
    log.answer(("shell", {"command": "ls"}))
    log.add(StrongerWanted(reason="the  lock\norder"))
    log.use(0)
    (change,) = changes_of_tier(log)
    assert (change.rule, change.trigger) == ("asked_for", "it asked for help (“the lock order”)")


def test_repetition_moves_up() -> None:
    log = new(repeats_nudged=2)
    for _ in range(4):
        log.answer(("look", {"path": "a"}))
        log.use(0)
        log.settle()
    assert [change.rule for change in changes_of_tier(log)] == ["repetition"]


def test_only_empty_answers_move_up_also_right_after_an_escalation() -> None:
    log = new()
    for expected in (0, 0, 1, 1, 1, 2):
        log.answer()
        assert len(changes_of_tier(log)) == expected
    assert {change.rule for change in changes_of_tier(log)} == {"empty_answers"}


def test_after_an_escalation_nothing_fires_for_two_turns() -> None:
    log = new()
    turn(log, status="stuck")
    assert log.settle().tier == 3
    for tier in (3, 3, 4):
        turn(log, status="stuck")
        assert log.settle().tier == tier


def test_advice_comes_first_then_the_same_model_goes_on_and_only_then_the_stronger_one_takes_over() -> None:
    log = new(advise_first=True, advice_tokens=321)
    for _ in range(3):
        same_error(log)
        log.settle()
    asked = decide(log.execution)
    assert isinstance(asked, Consult)
    assert (asked.purpose, asked.tier, asked.model, asked.max_tokens) == ("advice", 3, "lab/m3", 321)
    consulted(log, asked, "Look at the lock.")
    told = decide(log.execution)
    assert isinstance(told, Record)
    (advice,) = told.events
    assert isinstance(advice, Intervened)
    assert (advice.rule, "Look at the lock." in advice.text, "m3" in advice.text) == ("advice", True, True)
    before = log.execution
    log.add(advice)
    (notice,) = visible(before, log.envelopes[-1])
    assert "m3" in notice.text
    assert "same error 3 times" in notice.text
    assert "Look at the lock." in log.execution.told.texts[-1]
    assert isinstance(log.settle(), object)
    assert log.execution.tier == 2
    for tier in (2, 2, 3):
        same_error(log)
        assert log.settle().tier == tier
    assert changes_of_tier(log)[0].counted["advised"] == 1


def test_a_failed_advice_is_a_takeover_at_once() -> None:
    log = new(advise_first=True)
    turn(log, status="stuck")
    log.settle()
    asked = decide(log.execution)
    assert isinstance(asked, Consult)
    request = requested(log, asked)
    log.add(ModelFailed(request=request, failure="unavailable", message="down"))
    (change,) = changes_of_tier(log)
    assert (change.rule, change.to_tier) == ("reported_stuck", 3)
    assert log.execution.consulted is None
    assert isinstance(decide(log.execution), Think)


def test_what_a_person_wants_is_no_matter_of_advice_nor_of_resting() -> None:
    log = new(advise_first=True)
    turn(log, score=90)
    log.say("escalate")
    assert [change.rule for change in changes_of_tier(log)] == ["person"]
    assert "you asked for it" in log.execution.told.texts[-1]
    turn(log)
    log.say("escalate")
    assert [change.to_tier for change in changes_of_tier(log)] == [3, 4]
    turn(log)
    log.say("escalate")
    assert len(changes_of_tier(log)) == 2
    assert log.execution.question is None


def test_a_wish_before_the_first_turn_and_during_a_question_is_kept() -> None:
    log = new()
    log.say("escalate")
    assert log.settle().tier == 3
    log.answer(("ask_user", {}))
    log.start(0)
    from agentic.core.events.execution_events import Asked

    log.add(Asked(question="q1", call=log.execution.turn.calls[0].id, text="Which?"))
    log.say("escalate")
    log.add(StrongerWanted(reason="mine"))
    log.say("answer", "the first")
    log.settle()
    assert log.execution.tier == 4
    assert changes_of_tier(log)[-1].trigger == "you asked for it"


def test_nothing_is_handed_over_in_the_middle_of_a_turn() -> None:
    log = new()
    log.fail("unavailable")
    log.add(DeadlinePassed(ref="retry:r"))
    log.say("escalate")
    action = decide(log.execution)
    assert isinstance(action, Think)
    assert action.tier == 2
