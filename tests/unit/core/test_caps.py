"""Caps that are reached where somebody can answer: what is asked, who may give more of what, and what follows."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentic.core.display.outbox_items import visible
from agentic.core.events.execution_events import (
    Asked,
    CancelRequested,
    DeadlinePassed,
    InputReceived,
    ModelAnswered,
    ModelFailed,
    OwnerChanged,
    Person,
    PolicyChanged,
    ToolFinished,
    Usage,
    WorkspaceFound,
)
from agentic.core.fold.fold import MINUTES
from agentic.core.rules import used_up_limits
from agentic.core.rules.decide import decide
from agentic.core.rules.model_failures import standing_timers
from agentic.core.state.actions import (
    Ask,
    Cancel,
    Checkpoint,
    Finish,
    Record,
    Think,
    UseTools,
    Wait,
)
from tests.unit.core.building import BOSS, GUEST, YOU, Log
from tests.unit.core.capped import answered, asked_of, at_day, at_money, at_time, at_tokens, raised, receipt

OTHER = Person(id="6", name="other")


def test_money_that_is_used_up_is_asked_about_and_nothing_begins_before_the_answer() -> None:
    log = at_money()
    asked = asked_of(log)
    assert (asked.sort, asked.what, asked.who_may) == ("extension", "usd", "operator")
    assert asked.text.startswith("I've spent $0.02 of the $0.01 for this task")
    assert [option.label for option in asked.options] == ["$0.01 more", "$0.02 more", "Stop here"]
    assert decide(log.execution) == Wait()
    events = answered(log, "1", click=True)
    assert raised(events).add_usd == 0.01
    assert asked_of(log).question != asked.question, "the cap is 0.02 now, and 0.02 are spent"
    assert raised(answered(log, "another 3 dollars")).add_usd == 3.0
    assert isinstance(decide(log.execution), UseTools), "it goes on with the call that was still to be made"


@pytest.mark.parametrize(
    ("words", "usd"),
    [
        ("yes", 0.01), ("$0.02 more", 0.02), ("another 3 dollars", 3.0), ("$1,000.50", 1000.5), ("2,50", 2.5),
        ("50 cents", 0.5), ("USD 7", 7.0), ("give it five more dollars please", 5.0), ("no more than $2", 2.0),
        ("+4", 4.0), ("ten bucks", 10.0),
    ],
)  # fmt: skip
def test_an_amount_of_money_is_read_as_people_write_it(words: str, usd: float) -> None:
    assert raised(answered(at_money(0.011), words)).add_usd == usd


@pytest.mark.parametrize(
    "words",
    ["why is it so dear?", "20 minutes", "-5", "$0", "$5 is too much", "it cost 2 dollars", "1.2.3", "100k", "five"],
)
def test_words_without_an_amount_give_no_money_and_the_question_stays_open(words: str) -> None:
    log = at_money()
    question = asked_of(log)
    before = log.execution
    log.say("answer", words, question.question, by=BOSS)
    assert "I couldn't find an amount in that" in visible(before, log.envelopes[-1])[0].text
    log.settle()
    assert asked_of(log) == question
    assert log.execution.caps.usd == 0


def test_words_beside_an_amount_reach_the_model() -> None:
    log = at_money()
    assert raised(answered(log, "3 dollars, but use the cache")).add_usd == 3.0
    assert any("but use the cache" in text for text in log.execution.told.texts)
    plain = at_money()
    answered(plain, "ok, another 3 dollars")
    assert not any("another 3" in text for text in plain.execution.told.texts)


def test_who_asked_may_not_give_money_and_is_told_who_can_and_the_question_stays_open() -> None:
    log = at_money()
    question = asked_of(log)
    told = receipt(log, "1", YOU)
    assert told == "Only an operator can give this task more money. Ask one, or press “Stop here”."
    assert asked_of(log) == question
    assert receipt(log, "1", OTHER) == "Only an operator can give this task more money."
    assert receipt(log, "stop", OTHER) == "Only an operator can give this task more money."
    assert receipt(log, "1", GUEST) == "Only an operator can give this task more money."
    log.settle()
    assert asked_of(log) == question
    assert "$0.01 more" not in receipt(log, "1", BOSS)
    log.settle()
    assert log.execution.caps.usd == 0.01


@pytest.mark.parametrize("by", [YOU, BOSS])
def test_who_asked_for_the_task_may_end_it_at_a_cap_and_sees_what_it_came_to(by: Person) -> None:
    log = at_money()
    assert receipt(log, "Stop here", by) == "Thanks, ending here."
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "budget"
    assert ended.finished.answer.startswith("I stopped: the budget of $0.01 is used up.")
    assert "> I look." in ended.finished.answer
    assert not log.execution.open_calls


def test_tokens_are_given_by_an_operator() -> None:
    log = at_tokens()
    asked = asked_of(log)
    assert (asked.what, asked.who_may) == ("tokens", "operator")
    assert "I've used 1,200 of the 1,000 tokens" in asked.text
    assert receipt(log, "100k", YOU).startswith("Only an operator can give this task more tokens.")
    assert "find a number of tokens" in receipt(log, "a lot", BOSS)
    assert raised(answered(log, "100k tokens")).add_tokens == 100_000
    assert isinstance(decide(log.execution), UseTools)
    for words, tokens in (("2 million tokens", 2_000_000), ("1,000,000", 1_000_000), ("0.5m", 500_000), ("2", 2_000)):
        assert raised(answered(at_tokens(), words)).add_tokens == tokens


def test_time_is_given_by_who_asked_and_begins_when_it_is_given() -> None:
    log = at_time()
    asked = asked_of(log)
    assert (asked.what, asked.who_may) == ("minutes", "executor")
    assert "The 30 minutes for this task are over" in asked.text
    assert receipt(log, "20", OTHER) == "Only you, who asked for this, or an operator can give it more time."
    assert "I couldn't find a time in that" in receipt(log, "$5", YOU)
    log.now += timedelta(days=2)
    assert raised(answered(log, "20 minutes", YOU)).add_minutes == 20
    (timer,) = standing_timers(log.execution)
    changed_at = next(e.at for e in log.envelopes if isinstance(e.event, PolicyChanged))
    assert timer.at <= changed_at + timedelta(minutes=50)
    assert isinstance(decide(log.execution), Think)
    for words, minutes in (("an hour", 60), ("half an hour", 30), ("1.5 hours", 90), ("2h", 120), ("1", 30)):
        assert raised(answered(at_time(), words, YOU)).add_minutes == minutes


def test_more_time_is_from_now_on_also_where_it_ran_far_over() -> None:
    """A process that was away, or a command that was slow to end, takes nothing of what people give."""
    log = Log(max_minutes=30)
    log.answer(("look", {}))
    log.use()
    log.now += timedelta(hours=5)
    log.add(DeadlinePassed(ref=MINUTES))
    log.settle()
    answered(log, "20 minutes", YOU)
    given = next(e.at for e in log.envelopes if isinstance(e.event, PolicyChanged))
    (timer,) = standing_timers(log.execution)
    assert timer.at == given + timedelta(minutes=20)


def test_at_the_cap_on_time_what_runs_is_ended_with_its_result_and_then_it_is_asked() -> None:
    log = Log()
    log.answer(("look", {}), ("look", {}), ("shell", {}))
    log.start(0)
    log.use(1)
    log.add(DeadlinePassed(ref=MINUTES))
    action = decide(log.execution)
    assert isinstance(action, Cancel)
    log.add(CancelRequested(refs=action.refs, reason=action.reason))
    assert decide(log.execution) == Wait()
    log.finish(0, "cancelled")
    log.settle()
    assert asked_of(log).what == "minutes"
    assert [call.block.tool for call in log.execution.open_calls] == ["shell"]
    answered(log, "yes", YOU)
    action = decide(log.execution)
    assert isinstance(action, UseTools)
    assert [call.block.tool for call in action.calls] == ["shell"]


def test_a_request_that_the_cap_on_time_ended_is_made_again_when_there_is_more() -> None:
    log = Log()
    request = log.request()
    log.add(DeadlinePassed(ref=MINUTES))
    assert isinstance(decide(log.execution), Cancel)
    log.add(ModelFailed(request=request, failure="cancelled"))
    log.settle()
    answered(log, "an hour", YOU)
    action = decide(log.execution)
    assert isinstance(action, Think)
    assert action.turn == 1


def test_what_an_owner_that_died_had_begun_is_not_begun_again_where_the_time_is_over() -> None:
    log = Log()
    log.answer(("look", {}), ("put", {}), ("shell", {}), ("ask_user", {}))
    for index in range(3):
        log.start(index)
    log.add(DeadlinePassed(ref=MINUTES))
    log.fence = 2
    log.add(OwnerChanged(worker="b"))
    action = decide(log.execution)
    assert isinstance(action, Record)
    results = [event for event in action.events if isinstance(event, ToolFinished)]
    assert [event.outcome for event in results] == ["cancelled", "cancelled", "unknown"]
    log.add(*results, WorkspaceFound())
    log.settle()
    assert asked_of(log).what == "minutes"


def test_a_question_of_a_call_that_came_while_the_time_ran_out_is_answered_first() -> None:
    log = Log()
    log.answer(("ask_user", {}))
    call = log.start()
    log.add(DeadlinePassed(ref=MINUTES), Asked(question="q1", text="Which?", call=call))
    assert decide(log.execution) == Wait()
    log.say("answer", "the left one")
    log.settle()
    assert asked_of(log).what == "minutes"


def test_the_workspace_is_saved_before_it_is_asked() -> None:
    log = Log(max_usd=0.01)
    log.answer(("shell", {}), ("look", {}))
    log.use()
    log.add(ModelAnswered(request="r", blocks=(), usage=Usage(output=1), usd=0.5))
    assert isinstance(log.settle(saving=False), object)
    due = decide(log.execution)
    assert isinstance(due, Checkpoint)
    assert due.moment == "question"
    log.settle()
    assert asked_of(log).what == "usd"


def test_a_stop_ends_it_while_it_asks_for_more() -> None:
    for log in (at_money(), at_tokens(), at_time(), at_day()):
        log.say("stop", by=OTHER)
        log.settle()
        ended = decide(log.execution)
        assert isinstance(ended, Finish)
        assert ended.finished.reason == "stopped"


def test_time_in_which_it_asks_is_counted_by_no_cap() -> None:
    log = at_money()
    log.now += timedelta(days=1)
    answered(log, "$5")
    assert log.execution.spent.waiting > 86_000


def test_eighty_percent_of_the_money_is_told_once_and_quietly() -> None:
    log = Log(max_usd=1.0)
    told: list[str] = []
    for _ in range(6):
        before = log.execution
        log.answer(("look", {}), usd=0.18)
        told += [item.text for item in visible(log_before(log), log.envelopes[-1])]
        assert before is not log.execution
        log.use()
    assert told == ["I've spent $0.90 of the $1 for this task."]


def log_before(log: Log) -> object:
    """The state before the last event."""
    from agentic.core.fold.fold import fold

    return fold(log.envelopes[:-1])


def test_turns_are_still_given_by_who_asked() -> None:
    log = Log(turns_medium=1)
    log.answer(("look", {}))
    log.use()
    log.settle()
    assert (asked_of(log).what, asked_of(log).who_may) == ("turns", "executor")
    assert receipt(log, "1", OTHER) == "Only you, who asked for this, or an operator can give it more turns."
    assert raised(answered(log, "1", YOU)).add_turns == 10


def test_which_cap_is_reached_is_said_in_one_place() -> None:
    assert used_up_limits.reached(Log().execution) is None
    assert [used_up_limits.reached(log.execution) for log in (at_time(), at_day(), at_money(), at_tokens())] == [
        "minutes", "day", "usd", "tokens",
    ]  # fmt: skip
    assert isinstance(at_money().envelopes[-1].event, Asked)
    assert not isinstance(decide(at_money().execution), Ask)
    assert InputReceived is not None


def test_where_nobody_can_answer_the_time_ends_it_also_while_it_is_paused() -> None:
    log = Log(attended=False)
    log.answer(("look", {}))
    log.add(DeadlinePassed(ref=MINUTES))
    log.say("pause")
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "budget"


@pytest.mark.parametrize(
    ("came", "usd", "tokens"),
    [
        (ModelFailed(request="r", failure="unavailable"), 0.0, 0),
        (ModelFailed(request="r", failure="cancelled"), 0.5, 0),
        (ModelFailed(request="r", failure="unavailable", begun=True), 0.5, 0),
        (
            ModelFailed(request="r", failure="cancelled", begun=True, usd=0.02, usage=Usage(input=30, output=4)),
            0.02,
            34,
        ),
    ],
)
def test_a_request_without_an_answer_costs_what_is_known_of_it_else_what_was_set_aside_if_it_was_begun(
    came: ModelFailed, usd: float, tokens: int
) -> None:
    log = Log()
    log.request(usd=0.5)
    log.add(came)
    assert (log.execution.spent.usd, log.execution.spent.tokens) == (usd, tokens)
