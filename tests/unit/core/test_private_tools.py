"""What a tool can show that is not public counts for the rule of two from the beginning, and not once it was asked."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    FACTS,
    REASONS,
    CheckpointSaved,
    Exposure,
    Gated,
    Policy,
    Started,
    ToolFinished,
    ToolRef,
    Triaged,
)
from agentic.core.fold.exposure import reachable
from agentic.core.rules.decide import decide
from agentic.core.state.actions import UseTools
from agentic.core.state.execution import Execution
from tests.unit.core.building import TIERS, YOU, Log

PAGE = ToolRef(name="page", effect="read", untrusted=True)
MAIL = ToolRef(name="mail", effect="read", private=True)
SEND = ToolRef(name="send", effect="unkeyed", outside="always")


def begins(*tools: ToolRef) -> Started:
    policy = Policy(tiers=TIERS, rule_of_two=FACTS)
    return Started(
        thread="100", task="Look.", requester=YOU, policy=policy, tools=tools, exposure=reachable(tools), inbox="100"
    )


def test_tools_that_can_show_what_is_private_are_named_from_the_beginning() -> None:
    assert reachable((PAGE, MAIL, SEND)) == Exposure(private=("what mail answers",))
    assert not reachable((PAGE, SEND))


def test_no_more_reasons_are_kept_than_people_read() -> None:
    tools = [ToolRef(name=f"mail{number}", private=True) for number in range(REASONS + 2)]
    assert len(reachable(tools).private) == REASONS


@pytest.mark.parametrize(("tools", "held"), [((PAGE, MAIL, SEND), True), ((PAGE, SEND), False)])
def test_an_act_outside_is_put_to_a_person_though_nothing_private_was_shown_yet(
    tools: tuple[ToolRef, ...], held: bool
) -> None:
    log = Log(triaged=False, saved=False)
    log.execution = Execution(id="x1")
    log.add(begins(*tools), Triaged(talk=False), CheckpointSaved(manifest="m0", through_seq=2))
    log.answer(("page", {}), ("send", {}))
    read = log.start(0)
    log.add(ToolFinished(call=read, outcome="ok", preview="Buy now!"))
    log.settle()
    action = decide(log.execution)
    assert isinstance(action, UseTools)
    assert (action.leaving is not None) is held
    if action.leaving is not None:
        log.add(Gated(call=action.calls[0].id, args_sha="sha", reason="", leaving=action.leaving))
        log.settle()
        assert log.execution.question is not None
        assert "what page answered" in log.execution.question.text
        assert "what mail answers" in log.execution.question.text
