"""Each rule of ``decide``, in the order of the tuple: what it answers, and what it leaves to the next."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    Asked,
    BudgetRefused,
    CallBlock,
    CancelRequested,
    DeadlinePassed,
    Finished,
    ModelFailed,
    Option,
    OwnerChanged,
    ToolFinished,
    TurnEnded,
    Whose,
    WorkspaceFound,
)
from agentic.core.rules.decide import RULES, decide
from agentic.core.state.actions import (
    Cancel,
    Finish,
    Inspect,
    Record,
    Think,
    UseTools,
    Wait,
)
from agentic.core.state.execution import Execution
from agentic.core.state.tiers import chosen_for
from tests.unit.core.building import Log


def names(action: object) -> list[str]:
    assert isinstance(action, Record)
    return [event.kind for event in action.events]


def test_the_order_of_the_rules_is_the_one_that_holds_the_promises() -> None:
    assert [rule.__name__ for rule in RULES] == [
        "finished", "unrestored", "stopping", "withdrawn", "out_of_time", "quarantine", "inspect", "older_fence", "paused",
        "deadlines", "in_flight", "watched", "budget", "watch_calls", "checkpoint", "approvals", "rule_of_two", "open_calls",
        "end_of_turn", "waiting", "decided", "untriaged", "model_failed", "completed", "limit", "escalate", "intervene",
        "compact", "watch_turn",
    ]  # fmt: skip


def test_nothing_happens_before_the_start_and_after_the_end() -> None:
    assert decide(Execution()) == Wait()
    log = Log()
    log.add(Finished(reason="done", answer="x"))
    log.say("stop")
    assert decide(log.execution) == Wait()


def test_the_first_thing_recorded_is_the_triage() -> None:
    assert names(decide(Log(triaged=False).execution)) == ["triaged"]


def test_a_new_execution_thinks_with_the_first_model_of_the_starting_tier() -> None:
    action = decide(Log().execution)
    assert isinstance(action, Think)
    assert (action.turn, action.tier, action.model, action.attempt) == (1, 2, "small-a", 1)
    assert chosen_for(Log().execution.policy) == "small-a"


def test_without_tiers_the_scripted_tour_answers() -> None:
    action = decide(Log(tiers=()).execution)
    assert isinstance(action, Think)
    assert action.model == "scripted/tour"
    assert chosen_for(Log(tiers=()).execution.policy) == ""


def test_a_stop_cancels_what_is_in_flight_then_closes_every_call_then_finishes() -> None:
    log = Log()
    log.answer("both", ("shell", {}), ("shell", {}))
    log.start(0)
    log.say("stop")
    first = log.execution.turn.calls[0].id
    action = decide(log.execution)
    assert isinstance(action, Cancel)
    assert action.refs == (first,)
    log.add(CancelRequested(refs=(first,)))
    assert decide(log.execution) == Wait()
    log.finish(0, "cancelled")
    assert names(decide(log.execution)) == ["tool_finished"]
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "stopped"
    assert "Stopped by you" in ended.finished.answer


def test_a_stop_cancels_a_model_request() -> None:
    log = Log()
    request = log.request()
    log.say("stop")
    action = decide(log.execution)
    assert isinstance(action, Cancel)
    assert action.refs == (request,)


def test_a_stop_after_a_crash_says_unknown_of_an_unkeyed_call_and_closes_the_lost_request() -> None:
    log = Log()
    log.answer(("shell", {}))
    log.start()
    log.fence = 2
    log.add(OwnerChanged(worker="b"))
    log.say("stop")
    action = decide(log.execution)
    assert isinstance(action, Record)
    assert [event.outcome for event in action.events if isinstance(event, ToolFinished)] == ["unknown"]
    other = Log()
    other.request()
    other.fence = 2
    other.add(OwnerChanged(worker="b"))
    other.say("stop")
    assert names(decide(other.execution)) == ["model_failed"]


def test_time_that_is_used_up_ends_the_execution_also_in_flight_where_nobody_can_answer() -> None:
    log = Log(attended=False)
    request = log.request()
    log.add(DeadlinePassed(ref="minutes"))
    action = decide(log.execution)
    assert isinstance(action, Cancel)
    log.add(ModelFailed(request=request, failure="cancelled"))
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "budget"
    assert "60 minutes" in ended.finished.answer


def test_after_a_crash_reads_and_keyed_calls_run_again_and_unkeyed_ones_are_unknown() -> None:
    log = Log()
    log.answer(("look", {}), ("put", {}), ("shell", {}))
    for index in range(3):
        log.start(index)
    log.fence = 2
    log.add(OwnerChanged(worker="b"))
    assert isinstance(decide(log.execution), Inspect), "files may have been changing: what became of them comes first"
    log.add(WorkspaceFound())
    action = decide(log.execution)
    assert isinstance(action, UseTools)
    assert [call.block.tool for call in action.calls] == ["look"]
    log.use(0)
    action = decide(log.execution)
    assert isinstance(action, UseTools)
    assert [call.block.tool for call in action.calls] == ["put"]
    log.use(1)
    action = decide(log.execution)
    assert isinstance(action, Record)
    assert [event.outcome for event in action.events if isinstance(event, ToolFinished)] == ["unknown"]


def test_after_a_crash_a_request_is_lost_and_sent_again_and_its_reservation_is_spent() -> None:
    log = Log()
    log.request(usd=0.25)
    log.fence = 2
    log.add(OwnerChanged(worker="b"))
    assert names(decide(log.execution)) == ["model_failed"]
    log.settle()
    assert log.execution.spent.usd == 0.25
    action = decide(log.execution)
    assert isinstance(action, Think)
    assert (action.turn, action.attempt) == (1, 1)


def test_while_effects_run_it_waits_for_them_and_for_the_cap_on_time() -> None:
    log = Log()
    log.request()
    action = decide(log.execution)
    assert isinstance(action, Wait)
    assert [timer.ref for timer in action.timers] == ["minutes"]


@pytest.mark.parametrize("policy", [{"max_usd": 0.001}, {"max_tokens": 10}])
def test_a_used_up_budget_ends_the_execution_before_the_next_call_and_closes_the_open_ones(
    policy: dict[str, object],
) -> None:
    log = Log(**policy, attended=False)
    log.answer(("shell", {}), tokens=10, usd=0.001)
    assert names(decide(log.execution)) == ["tool_finished"]
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "budget"
    assert "budget of $0.001 is" in ended.finished.answer or "budget of 10 tokens is" in ended.finished.answer


@pytest.mark.parametrize(
    ("whose", "spent", "words"),
    [
        (
            "person",
            0.95,
            "only $0.05 of today's budget of $1 for you is left, counting what other tasks have reserved",
        ),
        ("person", 0.95, "reserved, and my next step may cost $0.12. A new day's budget starts at 00:00 UTC"),
        ("guild", 1.0, "I stopped: today's budget of $1 for this server is used up. A new day's budget starts"),
        ("bot", 1.2, "I stopped: today's budget of $1 for this bot is used up. A new day's budget starts"),
    ],
)
def test_a_request_that_finds_no_room_in_a_shared_budget_ends_the_execution_in_plain_words(
    whose: Whose, spent: float, words: str
) -> None:
    log = Log(attended=False)
    log.add(BudgetRefused(whose=whose, day="2026-01-01", cap_usd=1.0, spent_usd=spent, needed_usd=0.12))
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "budget"
    assert words in ended.finished.answer
    assert "00:00 UTC" in ended.finished.answer


def test_reads_beside_each_other_run_together_at_most_eight_and_a_write_alone() -> None:
    log = Log()
    log.answer(*[("look", {"n": n}) for n in range(9)], ("shell", {}), ("look", {}))
    action = decide(log.execution)
    assert isinstance(action, UseTools)
    assert len(action.calls) == 8
    for index in range(9):
        log.use(index)
    action = decide(log.execution)
    assert isinstance(action, UseTools)
    assert [call.block.tool for call in action.calls] == ["shell"]


def test_a_read_that_cannot_run_is_not_begun_with_the_others() -> None:
    log = Log()
    log.answer(("look", {}), CallBlock(provider_id="b", tool="look", problem="malformed", raw="{"))
    action = decide(log.execution)
    assert isinstance(action, UseTools)
    assert len(action.calls) == 1


@pytest.mark.parametrize(
    ("block", "told"),
    [
        (CallBlock(provider_id="a", tool="shell", problem="malformed", raw='{"comm'), 'It began: {"comm'),
        (CallBlock(provider_id="a", tool="shell", problem="cut_off"), "cut off at the length limit"),
        (CallBlock(provider_id="a", tool="nothing"), "There is no tool 'nothing'"),
    ],
)
def test_a_call_that_cannot_run_gets_a_result_that_says_why(block: CallBlock, told: str) -> None:
    log = Log()
    log.answer(block)
    action = decide(log.execution)
    assert isinstance(action, Record)
    (event,) = action.events
    assert isinstance(event, ToolFinished)
    assert event.outcome == "refused"
    assert told in event.preview


def test_talk_has_no_tools() -> None:
    log = Log("hello", talk=True)
    log.answer(("shell", {}))
    assert names(decide(log.execution)) == ["tool_finished"]


def test_a_turn_ends_with_its_confidence_when_every_call_has_its_result() -> None:
    log = Log()
    log.answer(("shell", {}))
    log.use(0)
    action = decide(log.execution)
    assert isinstance(action, Record)
    (event,) = action.events
    assert isinstance(event, TurnEnded)
    assert event.confidence.shown > 0


def test_a_question_of_a_call_waits_and_its_answer_becomes_the_result() -> None:
    log = Log()
    log.answer(("ask_user", {}))
    call = log.start()
    asked = Asked(
        question="q1", text="Which?", call=call, options=(Option(id="1", label="A"), Option(id="2", label="B"))
    )
    log.add(asked)
    assert decide(log.execution) == Wait()
    log.say("answer", "2")
    log.settle()
    result = log.execution.turn.calls[0].result
    assert result is not None
    assert result.preview == "you answered: B"


def test_a_question_survives_a_change_of_owner() -> None:
    log = Log()
    log.answer(("ask_user", {}))
    log.add(Asked(question="q1", text="Which?", call=log.start()))
    log.fence = 2
    log.add(OwnerChanged(worker="b"))
    assert decide(log.execution) == Wait()
