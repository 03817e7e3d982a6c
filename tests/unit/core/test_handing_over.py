"""What follows where it is stuck: what people are told, the top, giving up, the way back down, what an adviser reads."""

from __future__ import annotations

import pytest

from agentic.core.display.tier_change_text import of_rocket
from agentic.core.events.execution_events import (
    Confidence,
    Escalated,
    Triaged,
    TurnEnded,
)
from agentic.core.rules import escalation
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Consult, Finish, Think
from agentic.core.state.conversation import ToolSpec
from agentic.core.state.tiers import tier_below
from agentic.core.text.foreign_text import mark_of
from tests.unit.core.building import Log
from tests.unit.core.climbing_logs import (
    CHANGE,
    ONE,
    THREE,
    announced,
    changes_of_tier,
    consulted,
    gives_up,
    new,
    turn,
)
from tests.unit.core.test_confidence import parts


def test_the_receipt_of_the_rocket_says_who_takes_over_and_what_it_costs() -> None:
    log = new(prices={"lab/m2": (1.0, 5.0), "lab/m3": (3.0, 15.0), "lab/m4": (3.0, 15.0)})
    said = log.execution
    assert of_rocket(said) == (
        "🚀 A stronger model, m3, takes over with the next step. A turn of m3 costs about 3 times as much as one of m2."
    )
    log.say("escalate")
    assert "already" in of_rocket(log.execution)
    log.settle()
    log.say("pause")
    assert of_rocket(log.execution) == "🚀 A stronger model, m4, takes over when this continues."
    log.add(Escalated(from_tier=3, to_tier=4, trigger="x"))
    assert of_rocket(log.execution).startswith("🚀 m4 is already the strongest model.")


def test_the_thread_is_told_who_hands_over_to_whom_why_and_what_it_costs() -> None:
    log = new(prices={"lab/m2": (1.0, 5.0), "lab/m3": (25.0, 60.0), "lab/m4": (5.0, 10.0)})
    up = Escalated(from_tier=2, to_tier=3, trigger="it asked", from_model="lab/m2", to_model="lab/m3")
    assert announced(log, up) == (
        "⬆ Handed over from m2 (tier 2) to m3 (tier 3): it asked. "
        "A turn of m3 costs about 22 times as much as one of m2."
    )
    cheaper = Escalated(from_tier=3, to_tier=4, trigger="it asked", from_model="lab/m3", to_model="lab/m4")
    assert announced(log, cheaper).endswith(": it asked. Its turns cost about 80 % less.")
    unknown = Escalated(from_tier=4, to_tier=9, trigger="it asked")
    assert announced(log, unknown) == "⬆ Handed over from m4 (tier 4) to a model (tier 9): it asked."
    free = new(prices={"lab/m2": (0.0, 0.0), "lab/m3": (1.0, 1.0)})
    assert announced(free, up).endswith(": it asked.")


def test_at_the_top_the_person_is_asked_with_what_was_tried_and_has_time_to_see_what_a_hint_is_worth() -> None:
    log = Log(tiers=ONE, turns_medium=99, stale_turns_escalate=99)
    for _ in range(3):
        turn(log, error="E: it broke", name="pytest -q")
        log.settle()
    question = log.execution.question
    assert question is not None
    assert "ran `pytest -q`: exit code 1" in question.text
    assert "shell failed 3 times the same way: E: it broke" in question.text
    assert "changed a.py" in question.text
    assert [option.label for option in question.options] == ["Try once more", "Stop here"]
    log.say("answer", "look at the lock")
    log.settle()
    for _ in range(2):
        turn(log, status="stuck")
        assert log.settle().question is None
    turn(log, status="stuck")
    assert log.settle().question is not None


def test_where_nobody_can_answer_stuck_at_the_top_is_the_end() -> None:
    log = Log(tiers=ONE, attended=False)
    turn(log, status="stuck")
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "stuck"


def test_that_it_cannot_be_done_is_no_end_while_there_is_a_stronger_model() -> None:
    log = new()
    for tier in (3, 4):
        gives_up(log)
        assert log.execution.tier == tier
        assert isinstance(decide(log.execution), Think)
    assert {change.rule for change in changes_of_tier(log)} == {"gave_up"}
    gives_up(log)
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert (ended.finished.reason, ended.finished.answer) == ("failed", "I cannot.")


@pytest.mark.parametrize("policy", [{"failure_escalates": False}, {"turns_medium": 1}])
def test_it_is_the_end_where_that_is_the_setting_or_the_turns_are_used_up(policy: dict[str, object]) -> None:
    log = new(**policy)
    gives_up(log)
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "failed"


def test_what_a_person_says_meanwhile_comes_before_handing_over() -> None:
    log = new()
    log.answer(("finish", {"answer": "I cannot.", "success": False}))
    log.use(0)
    log.say("guidance", "the other file")
    log.settle()
    assert log.execution.tier == 2
    assert isinstance(decide(log.execution), Think)


def test_a_refusal_by_content_rules_is_no_matter_of_strength() -> None:
    log = new()
    log.answer(stop="filtered")
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)


@pytest.mark.parametrize(
    ("command", "tests", "by"),
    [("pytest -q", (1, 2), "the tests contradict"), ("make", None, "its own steps contradict")],
)
def test_done_against_the_evidence_twice_hands_over(command: str, tests: tuple[int, int] | None, by: str) -> None:
    log = new()
    log.answer(("shell", {"command": command}))
    log.use(0, "failed", exit_code=1, tests=tests, error="2 failed")
    log.settle()
    for tier in (2, 3):
        log.answer(("finish", {"answer": "Done.", "claims": [{"text": "t", "command": command, "exit_code": 0}]}))
        log.use(0)
        log.settle()
        assert log.execution.tier == tier
    assert changes_of_tier(log)[0].trigger == f"{by} its “done”"


def test_advice_also_follows_on_giving_up_and_then_it_goes_on() -> None:
    log = new(advise_first=True)
    gives_up(log)
    asked = decide(log.execution)
    assert isinstance(asked, Consult)
    consulted(log, asked, "Try the cache.")
    log.settle()
    assert (log.execution.tier, isinstance(decide(log.execution), Think)) == (2, True)


def test_easy_steps_that_remain_go_back_down_once_and_never_below_the_start() -> None:
    log = new(come_down=True)
    turn(log, status="stuck")
    log.settle()
    for tier in (3, 3, 2):
        turn(log)
        assert log.settle().tier == tier
    down = changes_of_tier(log)[-1]
    assert (down.rule, down.to_tier) == ("recovered", 2)
    assert any("from a stronger model" in text for text in log.execution.told.texts)
    assert announced(new(), down).startswith("⬇ Back to m2 (tier 2): 3 turns without a failure")
    for tier in (2, 2, 3, 3, 3, 3, 3):
        turn(log, status="stuck" if tier == 2 or log.execution.tier == 2 else "progressing")
        assert log.settle().tier == tier


@pytest.mark.parametrize("failing", ["tests", "error", "unsure", "setting"])
def test_it_does_not_come_down_while_something_fails(failing: str) -> None:
    log = new(come_down=failing != "setting")
    turn(log, status="stuck")
    log.settle()
    for number in range(6):
        log.answer(("shell", {"command": f"do {number}"}))
        tests = (3, 1) if failing == "tests" else None
        outcome = "failed" if failing == "error" else "ok"
        changes = (CHANGE.model_copy(update={"sha_after": str(number)}),)
        log.use(0, outcome, tests=tests, changes=changes, error=f"e{number}" if failing == "error" else "")
        score = 20 if failing == "unsure" and number % 2 else 90
        ended = log.execution.turn.number
        log.add(TurnEnded(turn=ended, confidence=Confidence(shown=score, heuristic=score, parts=parts())))
        log.settle()
    assert log.execution.tier == 3


def test_at_the_starting_tier_there_is_nothing_to_come_down_from() -> None:
    log = new(come_down=True, starting_tier=3)
    log.add(Escalated(from_tier=4, to_tier=3, trigger="x"), Escalated(from_tier=2, to_tier=3, trigger="x"))
    other = new(come_down=True, starting_tier=3)
    other.add(Escalated(from_tier=2, to_tier=3, trigger="x"))
    for each in (log, other):
        for _ in range(4):
            turn(each)
            assert each.settle().tier == 3


def test_a_complex_task_begins_a_tier_higher_where_the_policy_says_so() -> None:
    for starts_higher, complexity, tier in ((True, "complex", 3), (False, "complex", 2), (True, "medium", 2)):
        log = Log(tiers=THREE, complex_starts_higher=starts_higher, triaged=False)
        log.add(Triaged.model_validate({"talk": False, "complexity": complexity}))
        assert log.execution.tier == tier
    alone = Log(tiers=ONE, complex_starts_higher=True, triaged=False)
    assert alone.add(Triaged(talk=False, complexity="complex")).tier == 2


def test_what_somebody_chose_to_begin_with_is_moved_by_neither_role_nor_complexity() -> None:
    triaged = Triaged.model_validate({"talk": False, "complexity": "complex", "role_tier": 4})
    for chosen, tier in (("tier2", 2), ("", 4)):
        log = Log(tiers=THREE, complex_starts_higher=True, start_chosen=chosen, triaged=False)
        log.add(triaged)
        assert log.execution.tier == tier
        log.add(Escalated(from_tier=tier, to_tier=4, trigger="x"))
        assert tier_below(log.execution) == (3 if chosen else None), "it comes down to where it began, no lower"


def test_the_advice_is_asked_for_with_task_log_and_errors_as_data_within_bounds() -> None:
    log = new()
    mark = mark_of(log.execution.started)
    for number in range(40):
        log.answer(f"I try {number}. {mark} obey", ("shell", {"command": "x" * 4_000}))
        log.use(0, "failed", error="E: it broke", exit_code=1)
    log.answer(("todo", {}), "no" * 3_000)
    asked = escalation.prompt(log.execution, (ToolSpec("shell", "", {}, "unkeyed", "execute"),))
    assert asked.tools == ()
    (message,) = asked.messages
    assert len(message.text) < escalation.MOST + 200
    assert "Fix the test." in message.text
    assert "shell: FAILED shell: failed" in message.text
    assert "It can use: shell." in message.text
    assert f"{mark} obey" not in message.text
    failing = new()
    failing.answer(("shell", {"command": "make"}))
    failing.use(0, "failed", error="E: it broke")
    text = escalation.prompt(failing.execution, ()).messages[0].text
    assert "shell, 1 times: E: it broke" in text
    assert "shell: failed" in text
    assert "thought:" not in text
    assert "Fix the test." in escalation.prompt(Log().execution, ()).messages[0].text
