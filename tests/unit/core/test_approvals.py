"""Calls that a person must approve: bound to arguments and state, to who may, and to a time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentic.core.events.execution_events import (
    Asked,
    CallBlock,
    DeadlinePassed,
    Gated,
    OwnerChanged,
    ToolFinished,
    WorkspaceFound,
)
from agentic.core.rules.approvals import OPTIONS, covers, exactly, verdict
from agentic.core.rules.decide import decide
from agentic.core.state.actions import (
    Ask,
    Record,
    UseTools,
    Wait,
)
from agentic.core.state.execution import Call
from tests.unit.core.building import BOSS, YOU, Log
from tests.unit.core.test_held import receipts
from tests.unit.core.test_visible import shown


def gated(**policy: object) -> Log:
    log = Log(**policy)
    log.answer(("wipe", {"command": "rm -rf src"}))
    gate(log)
    return log


def gate(log: Log, state: str = "s0") -> None:
    call = log.execution.turn.calls[0].id
    log.add(Gated(call=call, args_sha="sha", reason="deletes what this task did not make", state_sha=state))


def asking() -> Log:
    log = gated()
    log.settle()
    return log


def result(log: Log) -> ToolFinished:
    found = log.execution.turn.calls[0].result
    assert found is not None
    return found


def test_a_gated_call_is_put_to_who_may_with_all_it_would_do_and_until_when() -> None:
    log = gated()
    action = decide(log.execution)
    assert isinstance(action, Ask)
    asked = action.asked
    assert (asked.sort, asked.who_may, asked.args_sha) == ("approval", "operator", "sha")
    assert [option.label for option in asked.options] == ["Allow once", "Deny"]
    assert "It deletes what this task did not make." in asked.text
    assert "```bash\nrm -rf src\n```" in asked.text
    assert log.execution.at is not None
    assert asked.expires == log.execution.at + timedelta(minutes=15)
    log.settle()
    waiting = decide(log.execution)
    assert isinstance(waiting, Wait)
    assert [(timer.ref, timer.at) for timer in waiting.timers] == [(asked.question, asked.expires)]
    (item,) = [item for item in shown(log) if item.sort == "question"]
    assert (item.asked, item.expires, item.notify) == ("approval", asked.expires, True)


@pytest.mark.parametrize("word", ["Allow once", "1", "allow", "Yes!", "go ahead."])
def test_an_allowed_call_runs_for_the_arguments_and_the_state_that_were_approved(word: str) -> None:
    log = asking()
    log.say("answer", word, by=BOSS)
    log.settle()
    assert isinstance(decide(log.execution), UseTools)
    (call,) = log.execution.turn.calls
    assert call.approval
    assert covers(call, "sha", "s0")
    assert not covers(call, "other", "s0")
    assert not covers(call, "sha", "s1")


def test_a_second_click_in_the_same_moment_is_no_guidance() -> None:
    """Two people, or one twice, before the first choice has been acted on: the first counts, the other is told."""
    log = asking()
    asked = log.execution.question
    assert asked is not None
    log.say("answer", "Allow once", asked.question, by=BOSS)
    log.say("answer", "Deny", asked.question, by=BOSS)
    assert log.execution.told.unseen == ()
    assert receipts(log)[-1] == "This question is no longer open."
    log.settle()
    assert isinstance(decide(log.execution), UseTools)


def test_a_changed_state_is_asked_anew() -> None:
    log = asking()
    log.say("answer", "allow", by=BOSS)
    log.settle()
    gate(log, "s1")
    assert not covers(log.execution.turn.calls[0], "sha", "s1")
    assert isinstance(decide(log.execution), Ask)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("Deny", "and boss denied it."),
        ("", "and boss denied it."),
        ("use git clean", "boss denied it and said: use git"),
    ],
)
def test_what_is_no_yes_is_a_denial_and_the_agent_is_told_what_was_said(word: str, told: str) -> None:
    log = asking()
    log.say("answer", word, by=BOSS)
    log.settle()
    assert result(log).outcome == "denied"
    assert told in result(log).preview


@pytest.mark.parametrize(("word", "told"), [("Deny", "Denied. I won't do that."), ("1", "Thanks, continuing.")])
def test_who_denies_it_is_not_told_that_it_goes_on(word: str, told: str) -> None:
    log = asking()
    log.say("answer", word, by=BOSS)
    assert receipts(log)[-1] == told


def test_an_approval_that_was_denied_is_asked_again_only_for_another_call() -> None:
    log = asking()
    log.say("answer", "no", by=BOSS)
    log.settle()
    assert log.execution.question is None
    assert not log.execution.open_calls


def test_who_may_not_approve_does_not_decide_and_is_told_who_may() -> None:
    log = asking()
    question = log.execution.question
    assert question is not None
    log.say("answer", "Allow once", question.question)
    assert log.execution.answer is None
    assert log.execution.told == Log().execution.told.__class__()
    log.say("answer", "why do you need that?", question.question)
    assert "why do you need that?" in "\n".join(log.execution.told.texts)
    log.say("guidance", "please do")
    assert log.execution.question == question
    assert receipts(log) == [
        "An operator has to decide this.",
        "An operator has to decide this. Got it, I'll use that in the next step.",
        "An operator has to decide this. Got it, I'll use that in the next step.",
    ]
    log.say("answer", "Deny", question.question, by=BOSS)
    log.settle()
    assert result(log).outcome == "denied"


def test_an_approval_that_nobody_gave_in_time_is_denied_and_a_later_yes_is_too_late() -> None:
    log = asking()
    question = log.execution.question
    assert question is not None
    log.add(DeadlinePassed(ref=question.question))
    log.say("answer", "Allow once", question.question, by=BOSS)
    log.settle()
    assert "nobody approved it in time" in result(log).preview
    log.say("answer", "Allow once", question.question, by=BOSS)
    late = [text for text in receipts(log) if text]
    assert late == [
        "Too late: nobody approved this in time, so it was denied.", "This question is no longer open.",
    ]  # fmt: skip


def test_the_time_for_an_approval_goes_on_during_a_pause() -> None:
    log = asking()
    question = log.execution.question
    assert question is not None
    log.say("pause")
    action = decide(log.execution)
    assert isinstance(action, Wait)
    assert [timer.ref for timer in action.timers] == [question.question]
    log.add(DeadlinePassed(ref=question.question))
    assert decide(log.execution) == Wait()
    log.say("resume")
    log.settle()
    assert result(log).outcome == "denied"


def test_where_nobody_can_approve_it_is_denied_at_once() -> None:
    log = gated(attended=False)
    log.settle()
    assert result(log).outcome == "denied"
    assert "nobody can give it here" in result(log).preview


def test_an_approval_that_was_not_used_when_its_owner_died_is_asked_for_again() -> None:
    log = asking()
    log.say("answer", "allow", by=BOSS)
    log.settle()
    log.fence = 2
    log.add(OwnerChanged(worker="b"))
    assert isinstance(decide(log.execution), Ask)


def test_what_began_under_an_approval_may_begin_again_under_its_key() -> None:
    log = Log()
    log.answer(("swap", {}))
    gate(log)
    log.settle()
    log.say("answer", "allow", by=BOSS)
    log.settle()
    log.start(0)
    log.fence = 2
    log.add(OwnerChanged(worker="b"), WorkspaceFound())
    assert isinstance(decide(log.execution), UseTools)
    assert covers(log.execution.turn.calls[0], "sha", "another state")


def test_a_gated_read_is_not_begun_beside_others() -> None:
    log = Log()
    log.answer(("look", {}), ("look", {}))
    log.add(Gated(call=log.execution.turn.calls[1].id, args_sha="sha", reason="reads the network"))
    action = decide(log.execution)
    assert isinstance(action, UseTools)
    assert len(action.calls) == 1
    log.use(0)
    assert isinstance(decide(log.execution), Ask)


def test_everything_that_would_run_is_shown_and_nothing_in_it_can_hide() -> None:
    arguments = {
        "command": "echo ```` \u202e; rm -rf /\u200b", "fallback": "rm -r x", "cwd": "src", "background": True,
        "reasoning": "because", "timeout": 5,
    }  # fmt: skip
    text = exactly(Call(id="c", block=CallBlock(provider_id="p", tool="shell", arguments=arguments)))
    assert "`````bash\necho ```` \\u202e; rm -rf /\\u200b\n`````" in text
    assert "and if that fails:\n```bash\nrm -r x\n```" in text
    assert "cwd: src" in text
    assert "background: true" in text
    assert "because" not in text
    code = exactly(Call(id="c", block=CallBlock(provider_id="p", tool="python", arguments={"code": "1\t+ 1"})))
    assert code == "```python\n1\t+ 1\n```"
    assert exactly(Call(id="c", block=CallBlock(provider_id="p", tool="drop"))) == "`drop`"


def test_a_yes_is_nothing_but_a_yes() -> None:
    assert verdict(OPTIONS, "yes", "b") == ("allow", "")
    for word in ("yes but only src", "...", "please", "allow nothing", "2", "continue"):
        assert verdict(OPTIONS, word, "b")[0] == "deny"


def test_only_who_asked_for_it_or_an_operator_gives_it_more_turns() -> None:
    other = YOU.model_copy(update={"id": "77", "name": "other"})
    log = Log(turns_medium=1)
    log.answer("working", ("look", {}))
    log.use(0)
    log.settle()
    log.say("answer", "20", by=other)
    assert log.execution.answer is None
    assert "Only you, who asked for this, or an operator can give it more turns." in receipts(log)[0]
    log.say("answer", "20", by=BOSS)
    log.settle()
    assert log.execution.turn_limit == 21


def test_an_ordinary_question_is_answered_by_any_executor_but_not_by_a_viewer() -> None:
    viewer = YOU.model_copy(update={"level": "viewer"})
    log = Log()
    log.add(Asked(question="q1", text="Which?"))
    log.say("answer", "A", by=viewer)
    assert log.execution.answer is None
    assert receipts(log) == ["An executor has to decide this. Got it, I'll use that in the next step."]
    log.say("answer", "A", by=YOU.model_copy(update={"id": "77"}))
    assert log.execution.answer is not None
    assert isinstance(decide(log.execution), Record)
