"""A call that asked and left what it needs to go on: it begins again with the answer, which is not its result."""

from __future__ import annotations

from agentic.core.audit.verification import verify
from agentic.core.events.execution_events import Asked, Decided, FileRef, Option, OwnerChanged, Part, ToolFinished
from agentic.core.fold.fold import fold
from agentic.core.prompt.user_messages import pictures_of
from agentic.core.rules.decide import decide
from agentic.core.state.actions import UseTools, Wait
from agentic.core.state.execution import CallReply
from tests.unit.core.building import YOU, Log

PARTS = (Part(id="1", text="Colour?", options=(Option(id="1", label="red"),)), Part(id="2", text="How many?"))


def asked(resume: str = "s1") -> Log:
    log = Log()
    log.answer(("shell", {"command": "buy"}))
    log.add(Asked(question="q1", text="It asks:", parts=PARTS, call=log.start(), resume=resume))
    return log


def test_a_call_begins_again_with_the_answer_and_may_ask_once_more() -> None:
    log = asked()
    assert isinstance(decide(log.execution), Wait)
    log.say("answer", "1: red, 2: 7", "q1")
    log.settle()
    (call,) = log.execution.turn.calls
    assert call.replies == (CallReply("s1", "text", "1: red, 2: 7", {"1": "red", "2": "7"}),)
    assert (call.asked, call.intent, call.result) == ("", None, None)
    assert decide(log.execution) == UseTools((call,))
    log.add(Asked(question="q2", text="Sure?", options=(Option(id="1", label="Yes"),), call=log.start(), resume="s2"))
    log.say("answer", "yes", "q2")
    log.settle()
    (call,) = log.execution.turn.calls
    assert [reply.resume for reply in call.replies] == ["s1", "s2"]
    assert (call.replies[1].choice, call.replies[1].text) == ("1", "Yes")
    log.use()
    log.settle()
    assert log.execution.turn.ended
    assert verify(log.envelopes).divergence is None


def test_the_answer_survives_its_owner_and_the_call_begins_with_the_next_one() -> None:
    log = asked()
    log.fence = 2
    log.add(OwnerChanged(worker="w2"))
    log.say("answer", "1: red, 2: 7", "q1")
    log.settle()
    (call,) = fold(log.envelopes).turn.calls
    assert [reply.answers for reply in call.replies] == [{"1": "red", "2": "7"}]
    assert decide(log.execution) == UseTools((call,))


def test_without_what_it_needs_the_answer_is_the_result() -> None:
    log = asked(resume="")
    log.say("answer", "1: red, 2: 7", "q1")
    log.settle()
    result = log.execution.turn.calls[0].result
    assert result is not None
    assert "-> red" in result.preview


def test_a_question_of_a_call_that_is_gone_changes_nothing() -> None:
    log = Log()
    log.add(Asked(question="q1", text="It asks:", call="gone", resume="s1"))
    log.add(Decided(question="q1", by=YOU, choice="text", text="yes"))
    assert log.execution.question is None


def test_pictures_that_a_call_brought_go_with_its_result_once() -> None:
    shot = FileRef(name="a.png", path="mcp/a.png", size=9, media="image/png", sha="f" * 64, width=4, height=3)
    plain = FileRef(name="a.txt", path="mcp/a.txt", size=9, sha="e" * 64)
    log = Log()
    log.answer(("shell", {"command": "draw"}), ("shell", {"command": "write"}))
    first, second = log.start(0), log.execution.turn.calls[1].id
    log.add(ToolFinished(call=first, outcome="ok", preview="drawn", files=(shot, plain)))
    log.start(1)
    log.add(ToolFinished(call=second, outcome="ok", preview="written", files=(plain,)))
    log.settle()
    assert log.execution.told.pictures == pictures_of((shot,))
    log.request()
    assert log.execution.history[-1].pictures == pictures_of((shot,))
    assert log.execution.told.pictures == ()
