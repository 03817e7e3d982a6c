"""Hosts that a task asks for: who may open them, for how long, and what stays of it in the log."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import Gated, Person, ToolFinished
from agentic.core.rules.decide import decide
from agentic.core.state.actions import UseTools
from tests.unit.core.building import BOSS, YOU, Log

OWNER = Person(id="9", name="olga", level="owner")
HOSTS = ("a.example", "b.example")


def asking() -> Log:
    log = Log()
    log.answer(("wipe", {"hosts": list(HOSTS), "why": "for the tests"}))
    call = log.execution.turn.calls[0].id
    log.add(Gated(call=call, args_sha="sha", reason="opens the network to a.example, b.example", hosts=HOSTS))
    log.settle()
    return log


def test_hosts_are_asked_for_in_words_with_three_answers() -> None:
    question = asking().execution.question
    assert question is not None
    assert question.text.startswith("May commands of this task reach a.example, b.example?")
    assert [option.label for option in question.options] == ["Allow for this task", "Always allow here", "Deny"]
    assert (question.who_may, question.options[1].who_may) == ("operator", "owner")


@pytest.mark.parametrize(
    ("word", "by", "lasting"),
    [("1", BOSS, False), ("yes", BOSS, False), ("2", OWNER, True), ("Always allow here", OWNER, True)],
)
def test_whoever_may_opens_them(word: str, by: Person, lasting: bool) -> None:
    log = asking()
    log.say("answer", word, by=by)
    log.settle()
    action = decide(log.execution)
    assert isinstance(action, UseTools)
    assert action.calls[0].lasting is lasting


@pytest.mark.parametrize(("word", "by"), [("2", BOSS), ("always", BOSS), ("1", YOU)])
def test_whoever_may_not_does_not(word: str, by: Person) -> None:
    log = asking()
    log.say("answer", word, by=by)
    log.settle()
    assert log.execution.question is not None, "it is still open"


def test_a_denial_is_a_result_of_the_call() -> None:
    log = asking()
    log.say("answer", "Deny", by=BOSS)
    log.settle()
    result = log.execution.turn.calls[0].result
    assert result is not None
    assert result.outcome == "denied"
    assert "Not run: it opens the network to a.example, b.example, and" in result.preview
    assert log.execution.opened_hosts == ()


def test_what_was_opened_is_a_fact_of_the_log_each_host_once() -> None:
    log = asking()
    for hosts in (("a.example",), HOSTS):
        log.add(ToolFinished(call=log.execution.turn.calls[0].id, outcome="ok", preview="", opened_hosts=hosts))
    assert log.execution.opened_hosts == HOSTS
