"""Roles of people's own: read from a file, bound to their tools, tiers and rules, shared with helpers, kept by the log."""

from __future__ import annotations

import pytest

from agentic.core.display.tier_change_text import of_rocket
from agentic.core.events.execution_events import CheckpointSaved, RoleTemplate, Started, Tier, ToolFinished, ToolRef
from agentic.core.events.values import Policy
from agentic.core.prompt.build import build_prompt, system_text
from agentic.core.prompt.role_file import EVERYTHING, TEXT_CHARACTERS, read_role
from agentic.core.prompt.roles import known, only_looks, shell_looks
from agentic.core.rules.decide import decide
from agentic.core.rules.task_end import stuck
from agentic.core.rules.triage import triage
from agentic.core.state.actions import Record, UseTools
from agentic.core.state.conversation import ToolSpec
from agentic.core.state.tiers import next_tier, tier_below
from agentic.ports.children import ChildTask
from agentic.runtime.child_runs import begun as child_begun
from agentic.runtime.child_runs import role_for
from agentic.text.head_fields import HeadMistakes
from tests.unit.core.building import YOU, Log

HEAD = "---\nname: auditor\ndescription: Looks for holes\n{more}---\n\nYou look for holes.\n"
TOOLS = (
    ToolRef(name="read", effect="read", permission="read"),
    ToolRef(name="write", effect="keyed", permission="write"),
    ToolRef(name="shell", permission="execute"),
    ToolRef(name="python", permission="execute"),
    ToolRef(name="subagent", effect="keyed", permission="execute"),
    ToolRef(name="mcp__git__log", effect="read", permission="read"),
    ToolRef(name="mcp__git__push", permission="write"),
    ToolRef(name="note", permission="read", cognitive=True),
    ToolRef(name="finish", cognitive=True),
)
SPECS = tuple(ToolSpec(tool.name, "", {}, tool.effect, tool.permission, tool.cognitive) for tool in TOOLS)
TIERS = tuple(Tier(number=number, models=(f"m{number}",)) for number in (1, 2, 3, 4))


def role(more: str = "") -> RoleTemplate:
    return read_role(HEAD.format(more=more))


def begun(own: RoleTemplate, **more: object) -> Log:
    """An execution in this role, which somebody chose, after triage."""
    values: dict[str, object] = {
        "thread": "1", "task": "look around", "requester": YOU, "policy": Policy(tiers=TIERS), "tools": TOOLS,
        "role": own.name, "own_roles": (own,), **more,
    }  # fmt: skip
    log = Log(triaged=False)
    log.envelopes, log.execution = [], type(log.execution)(id="x1")
    log.add(Started.model_validate(values))
    action = decide(log.execution)
    assert isinstance(action, Record)
    log.add(*action.events)
    return log


def has(more: str) -> list[str]:
    return [tool.name for tool in build_prompt(begun(role(more)).execution, None, SPECS).tools]


def refused(log: Log, called: str, /, **arguments: object) -> str:
    log.answer((called, arguments))  # type: ignore[arg-type]
    action = decide(log.execution)
    return (
        str(action.events[0].preview)
        if isinstance(action, Record) and isinstance(action.events[0], ToolFinished)
        else ""
    )


def test_a_file_says_what_a_role_is() -> None:
    whole = role("tools: [read, write, mcp__git__*]\nrefuse: python\ntier: 3\nlevels: [3, 2]\nrules: tone, style\n"
                 "other_family: true\n")  # fmt: skip
    assert whole == RoleTemplate(
        name="auditor", text="You look for holes.", description="Looks for holes", may=("read", "write"),
        tools=("mcp__git__*",), refuses=("python",), tier=3, levels=(2, 3), rules=("tone", "style"), other_family=True,
    )  # fmt: skip
    assert role().may == EVERYTHING


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("tools: []\n", "line 4: tools: it names none"),
        ("tools: [read]\nrefuse: [read]\n", "line 5: refuse: nothing is left"),
        ("tools: [a*b]\n", "line 4: tools: “a*b”: a * stands only at the end"),
        ("refuse: [a*b]\n", "line 4: refuse: “a*b”: a * stands only at the end"),
        ("tools: [read, shell]\nrefuse: [shell]\n", "line 5: refuse: “shell” is in tools as well"),
        ("refuse: [finish]\n", "line 4: refuse: every role needs finish"),
        ("tier: 4\nlevels: [2, 3]\n", "line 4: tier: it begins in tier 4, which is none of its levels; add 4"),
        ("tier: 5\n", "line 4: tier: 5 is no whole number from 1 to 4"),
        ("tool: [read]\n", "line 4: tool: there is no such field; did you mean “tools”?"),
        ("description: [a]\n", "“description” stands twice"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_what_to_do(more: str, said: str) -> None:
    with pytest.raises(HeadMistakes) as raised:
        role(more)
    assert any(said in mistake for mistake in raised.value.mistakes), raised.value.mistakes


def test_the_text_has_to_be_there_and_has_a_bound() -> None:
    with pytest.raises(HeadMistakes, match="text: what the model is told is missing"):
        read_role("---\nname: a\n---\n")
    with pytest.raises(HeadMistakes, match="has 8,001 characters"):
        read_role(f"---\nname: a\n---\n{'x' * (TEXT_CHARACTERS + 1)}")


def test_its_tools_are_offered_and_no_others() -> None:
    assert has("") == [tool.name for tool in TOOLS]
    assert has("tools: [read]\n") == ["read", "shell", "mcp__git__log", "note", "finish"]
    assert has("tools: [write]\nrefuse: [mcp__*]\n") == ["write", "note", "finish"]
    assert has("tools: [read, mcp__git__*]\nrefuse: [note, shell]\n") == [
        "read", "mcp__git__log", "mcp__git__push", "finish",
    ]  # fmt: skip
    assert has("tools: python\n") == ["python", "note", "finish"]
    assert has("refuse: [execute]\n") == ["read", "write", "shell", "mcp__git__log", "mcp__git__push", "note", "finish"]


def test_what_it_does_not_have_is_refused_also_through_the_door_to_tools_on_demand() -> None:
    log = begun(role("tools: [read, write]\nrefuse: [mcp__git__push]\n"))
    assert "no tool 'python'" in refused(log, "python", code="1")
    log = begun(role("tools: [read, write]\nrefuse: [mcp__git__push]\n"))
    assert "no tool 'mcp__git__push'" in refused(log, "call_tool", tool="mcp__git__push", arguments={})


def test_its_shell_looks_unless_it_runs_things_or_names_the_shell() -> None:
    reads_and_writes = begun(role("tools: [read, write]\n"))
    assert shell_looks(reads_and_writes.execution)
    assert not only_looks(reads_and_writes.execution)
    assert "commands that only look" in refused(reads_and_writes, "shell", command="make")
    names_it = begun(role("tools: [read, shell]\n"))
    assert not shell_looks(names_it.execution)
    names_it.answer(("shell", {"command": "make"}))
    names_it.add(CheckpointSaved(manifest="m", through_seq=names_it.execution.seq))
    assert isinstance(decide(names_it.execution), UseTools)


def test_it_works_in_its_levels_alone() -> None:
    low = begun(role("levels: [1, 3]\n")).execution
    assert (low.tier, next_tier(low), tier_below(low)) == (3, None, None), "the usual start is none of its tiers"
    assert begun(role("levels: [1]\n")).execution.tier == 1
    assert "already the strongest model that my role may use" in of_rocket(low)
    assert "strongest model that my role may use. Why: x." in stuck(low, "x").answer
    top = begun(role("tier: 4\n")).execution
    assert "already the strongest model. " in of_rocket(top)
    free = begun(role("tier: 3\n")).execution
    assert (free.tier, next_tier(free)) == (3, 4)
    chosen = Policy(tiers=TIERS, starting_tier=4, start_chosen="tier4")
    assert begun(role("levels: [1]\n"), policy=chosen).execution.tier == 4, "what somebody chose stays"
    elsewhere = Policy(tiers=TIERS[1:3], starting_tier=2)
    assert begun(role("levels: [4]\n"), policy=elsewhere).execution.tier == 2, "there is none of its tiers"
    higher = Policy(tiers=TIERS, complex_starts_higher=True)
    assert begun(role("levels: [2]\n"), policy=higher, complexity="complex").execution.tier == 2
    assert begun(role("levels: [2, 3]\n"), policy=higher, complexity="complex").execution.tier == 3


def test_one_of_the_name_of_a_shipped_role_takes_its_place() -> None:
    own = role().model_copy(update={"name": "python-coder", "text": "You write our Python."})
    log = begun(own, role="", task="fix the failing pytest in cart.py")
    assert log.execution.triage is not None
    assert log.execution.triage.role_text == "You write our Python."


def test_the_log_keeps_its_text_and_its_limits() -> None:
    log = begun(role("tools: [read]\nrules: [tone]\n"))
    assert log.execution.triage is not None
    assert log.execution.started is not None
    again = triage(log.execution.started)
    assert again == log.execution.triage
    assert (again.role_may, again.role_rules, again.role_text) == (("read",), ("tone",), "You look for holes.")


def test_helpers_can_have_it_and_have_no_more_than_their_parent() -> None:
    log = begun(role("tools: [read, write, subagent]\nlevels: [2, 3]\n"))
    started = log.execution.started
    assert started is not None
    assert "\n- auditor: Looks for holes" in system_text(started, log.execution)
    alone = begun(role("tools: [read]\n")).execution
    assert "\n- auditor: Looks for holes" not in system_text(alone.started, alone), "it has no helpers"
    assert role_for(started, ChildTask("Look.", "auditor")) == "auditor"

    def family(model: str) -> str:
        return model

    child = child_begun(log.execution, ChildTask("Fix cart.py", "coder"), 1, SPECS, family)
    assert [tool.name for tool in child.tools] == [
        "read",
        "write",
        "subagent",
        "mcp__git__log",
        "mcp__git__push",
        "note",
        "finish",
    ]
    assert [tier.number for tier in child.policy.tiers] == [2, 3]
    assert child.own_roles == started.own_roles
    reader = child_begun(log.execution, ChildTask("Read.", reader=True), 1, SPECS[-1:], family)
    assert (reader.role, [tier.number for tier in reader.policy.tiers]) == ("researcher", [2]), (
        "the cheapest of its parent's"
    )
    helper = Log(triaged=False)
    helper.envelopes, helper.execution = [], type(helper.execution)(id="x2")
    helper.add(child)
    action = decide(helper.execution)
    assert isinstance(action, Record)
    helper.add(*action.events)
    offered = [tool.name for tool in build_prompt(helper.execution, None, SPECS).tools]
    assert "shell" not in offered, "its parent's shell may only look"
    assert "shell" not in {tool.name for tool in known(helper.execution)}


def test_a_helper_in_a_role_of_other_eyes_is_of_another_family() -> None:
    log = begun(role("tools: [execute]\n"))
    assert log.execution.started is not None
    other = role("other_family: true\n").model_copy(update={"name": "critic"})
    parent = begun(role(), own_roles=(role(), other))
    child = child_begun(parent.execution, ChildTask("Judge it.", "critic"), 1, SPECS, lambda model: model)
    assert [tier.number for tier in child.policy.tiers] == [1, 3, 4], "not of the model that it judges"
    assert (
        child_begun(parent.execution, ChildTask("Judge.", "auditor"), 1, SPECS, lambda model: model).policy.tiers
        == TIERS
    )
