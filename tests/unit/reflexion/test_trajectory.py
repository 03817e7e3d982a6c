"""What the log of an execution says it did."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import FeedbackGiven, PolicyChanged, Triaged
from reflexion.evaluation.trajectory import read_trajectory
from tests.unit.core.building import Log as Rules
from tests.unit.reflexion.logs import ANN, BEN, MODEL, Did, Log, edit


def test_calls_stand_with_their_turn_and_failures_are_read_from_exit_codes() -> None:
    log = (
        Log().does(Did("ls", says="error error error")).does(Did("false", 1, "boom"), Did("x", None, outcome="denied"))
    )
    calls = read_trajectory(log.events).calls
    assert [(call.turn, call.asked, call.failed) for call in calls] == [
        (1, "ls", False),
        (2, "false", True),
        (2, "x", False),
    ]


def test_a_file_that_was_put_back_did_not_change() -> None:
    log = Log().does(edit("a.py"), edit("b.py", "", "9")).does(edit("b.py", "9", ""), edit("c.py"))
    assert read_trajectory(log.events).changed == ("a.py", "c.py")


def test_turns_and_money_follow_what_a_person_granted() -> None:
    log = Log().add(Triaged(talk=False, complexity="simple")).add(PolicyChanged(by="100", add_turns=4, add_usd=2.0))
    trajectory = read_trajectory(log.does(usd=0.25).does(usd=0.5).events)
    assert (trajectory.turns_used, trajectory.turns_max) == (2, 14)
    assert (trajectory.usd, trajectory.usd_max) == (0.75, 7.0)


def test_the_last_vote_of_each_person_counts_in_both_streams() -> None:
    log = Log().does().hears("feedback", "up", target="x1/turn:1").hears("feedback", by=BEN, target="up").ends()
    outcome = Log().add(
        FeedbackGiven(by=ANN, vote="down"), FeedbackGiven(by=BEN, vote="none"), FeedbackGiven(by=ANN, vote="up"),
        FeedbackGiven(by=ANN, vote="down"),
    )  # fmt: skip
    assert read_trajectory(log.events, outcome.events[1:]).votes == (("100", "down"),)


def test_what_the_agent_expected_is_not_part_of_the_output() -> None:
    did = Did("make", 2, "exit 2\nno rule\nExpected: it builds\nCame: exit 2", expectation="it builds")
    assert read_trajectory(Log().does(did).events).calls[0].preview == "exit 2\nno rule"


def test_the_model_and_the_corrections_are_known() -> None:
    trajectory = read_trajectory(Log().does().hears("correction", "Use tabs.").hears("correction").ends().events)
    assert trajectory.model == MODEL
    assert trajectory.corrections == ("Use tabs.", "That was wrong.")


def test_a_fallback_that_ran_does_not_let_the_first_command_pass() -> None:
    assert read_trajectory(Log().does(Did("pytest", 0, fallback="echo sorry")).events).verifier == "none"
    assert read_trajectory(Log().does(Did("true", 0, fallback="pytest")).events).verifier == "pass"


def test_an_execution_is_empty_when_nothing_was_done_and_nothing_said() -> None:
    assert read_trajectory(Log().events).empty
    assert read_trajectory(Log().fails_to_ask().ends("failed", "I could not go on.").events).empty
    assert not read_trajectory(Log().does().ends("done", "Hello!").events).empty


def test_a_log_without_its_beginning_is_refused() -> None:
    with pytest.raises(ValueError, match="begins with Started"):
        read_trajectory(Log().does().events[1:])


def test_a_finish_that_is_asked_for_again_is_neither_work_nor_a_failure() -> None:
    log = Rules()
    log.answer(("finish", {"answer": "Built."}), ("shell", {"command": "make"}), ("shell", {"wrong": 1}))
    log.use(1, exit_code=0)
    log.finish(2, "refused")
    log.settle()
    read = read_trajectory(log.envelopes)
    assert [(call.tool, call.outcome) for call in read.calls] == [("shell", "ok"), ("", "refused")]
