"""Descriptions of tools have a budget: the rest is called by name, and is to every rule the call of the tool it names."""

from __future__ import annotations

from dataclasses import replace

from agentic.core.events.execution_events import CallBlock, ModelAnswered, Started, TextBlock, Triaged
from agentic.core.prompt.build import build_prompt
from agentic.core.prompt.tools_on_demand import BUDGET_TOKENS, described, specs_for
from agentic.core.rules.decide import decide
from agentic.core.state.actions import UseTools
from agentic.core.state.conversation import ToolSpec
from agentic.core.state.execution import Execution
from agentic.tools.base.on_demand import doors_to
from tests.unit.core.building import YOU, Log

DOORS = tuple(door.spec for door in doors_to(()))


def spec(name: str, tokens: int = 100, *, cognitive: bool = False) -> ToolSpec:
    made = ToolSpec(name, f"Does {name}.", {}, "read", "read", cognitive)
    return replace(made, description=made.description + "x" * (4 * (tokens - made.tokens)))


def shown(*specs: ToolSpec) -> tuple[ToolSpec, ...]:
    every = (*specs, *DOORS)
    return specs_for([each.ref for each in every], every)


SIXTY = (*(spec(f"tool{number}", 190) for number in range(59)), spec("finish", 150, cognitive=True))


def test_all_are_described_while_they_fit() -> None:
    few = tuple(spec(f"tool{number}") for number in range(59))
    assert [each.name for each in shown(*few)] == [each.name for each in few]
    assert specs_for([each.ref for each in few], few) is few
    assert described([each.ref for each in SIXTY]) == tuple(each.ref for each in SIXTY), "there is no door to the rest"


def test_a_role_with_sixty_tools_costs_no_more_than_the_budget() -> None:
    told = shown(*SIXTY)
    assert sum(each.tokens for each in told) <= BUDGET_TOKENS
    names = [each.name for each in told]
    assert names[:2] == ["tool0", "tool1"]
    assert names[-3:] == ["finish", "describe_tools", "call_tool"], "those that think are always there"
    left = [each.name for each in SIXTY if each.name not in names]
    assert all(f"\n{name}: Does {name}." in told[-1].description for name in left)
    assert "more" not in told[-1].description


def test_names_that_have_no_room_are_found_by_words() -> None:
    told = shown(*(spec(f"tool{number}", 190) for number in range(1_000)))
    assert sum(each.tokens for each in told) <= BUDGET_TOKENS
    assert "more: find them with describe_tools and a query" in told[-1].description


def test_one_that_is_too_long_keeps_none_of_the_others_out() -> None:
    told = shown(spec("huge", 9_000), spec("small"))
    assert [each.name for each in told] == ["small", "describe_tools", "call_tool"]


def test_a_call_through_the_door_is_the_call_of_the_tool() -> None:
    every = (*SIXTY, *DOORS)
    log = Log(triaged=False)
    log.envelopes, log.execution = [], Execution(id="x")
    log.add(Started(thread="1", task="t", requester=YOU, tools=tuple(each.ref for each in every)), Triaged(talk=False))
    prompt = build_prompt(log.execution, None, every)
    assert "tool58" not in [each.name for each in prompt.tools]
    assert "tool58" not in prompt.system
    log.answer(("call_tool", {"tool": "tool58", "arguments": {"a": 1}}))
    action = decide(log.execution)
    assert isinstance(action, UseTools)
    block = log.execution.turn.calls[0].block
    assert (block.tool, block.arguments) == ("tool58", {"a": 1})
    assert log.execution.history[-1].calls[0].tool == "call_tool", "the model reads what it wrote"


def test_a_call_of_the_door_that_names_nothing_stays_one() -> None:
    for arguments in ({}, {"tool": 1}, {"tool": "a", "arguments": "x"}, {"tool": "call_tool"}):
        block = CallBlock.model_validate({"provider_id": "p", "tool": "call_tool", "arguments": arguments})
        assert block.meant is block
    other = CallBlock(provider_id="p", tool="read", arguments={"tool": "a"})
    assert other.meant is other
    through = CallBlock(provider_id="p", tool="call_tool", arguments={"tool": "a"})
    assert [call.tool for call in ModelAnswered(request="r", blocks=(TextBlock(text="x"), through)).calls] == ["a"]
