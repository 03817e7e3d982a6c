"""Skills in what a model is told: names and descriptions in the prefix, and the tool only where there are some."""

from __future__ import annotations

from agentic.core.events.execution_events import EquippedSkill, Started, ToolFinished, ToolRef, Triaged
from agentic.core.prompt.build import build_prompt, system_text
from agentic.core.prompt.roles import known, offered, recorded
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Record
from agentic.core.state.conversation import ToolSpec
from agentic.core.state.execution import Execution
from tests.unit.core.building import YOU, Log

NOTES = EquippedSkill(name="release-notes", description="How notes\nare written.", sha="a" * 64)
LONG = tuple(EquippedSkill(name=f"skill-{n:02}", description="d" * 1_000, sha="b" * 64) for n in range(20))
REFS = (ToolRef(name="read", effect="read", permission="read"), ToolRef(name="skill", effect="read", permission="read"))
SPECS = tuple(ToolSpec(ref.name, "", {}, ref.effect, ref.permission) for ref in REFS)


def begun(*skills: EquippedSkill) -> Log:
    log = Log(triaged=False)
    log.envelopes, log.execution = [], Execution(id="x1")
    policy = Log().execution.policy
    log.add(Started(thread="1", task="Write the notes.", requester=YOU, tools=REFS, skills=skills, policy=policy))
    log.add(Triaged(talk=False))
    return log


def test_names_and_descriptions_stand_in_the_prefix_of_each_request() -> None:
    log = begun(NOTES)
    first = build_prompt(log.execution, None, SPECS)
    assert "Skills: guides for kinds of work" in first.system
    assert "- release-notes: How notes are written." in first.system, "a description ends no line of ours"
    assert [tool.name for tool in first.tools] == ["read", "skill"]
    log.answer(("read", {}))
    log.use()
    assert build_prompt(log.execution, None, SPECS).system == first.system


def test_descriptions_are_bounded_together_and_of_the_others_the_names_are_told() -> None:
    told = system_text(begun(*LONG).execution.started)
    assert told.count("d" * 1_000) == 12
    assert all(f"- {skill.name}" in told for skill in LONG)


def test_a_task_without_skills_has_no_tool_for_them() -> None:
    log = begun()
    assert "Skills:" not in build_prompt(log.execution, None, SPECS).system
    assert [tool.name for tool in offered(log.execution, SPECS)] == ["read"]
    assert [tool.name for tool in known(log.execution)] == ["read"]
    assert offered(Execution(), SPECS) == (), "nothing has begun"
    assert recorded(Execution()) == ()
    log.answer(("skill", {"name": "release-notes"}))
    action = decide(log.execution)
    assert isinstance(action, Record)
    (result,) = action.events
    assert isinstance(result, ToolFinished)
    assert result.preview == "There is no tool 'skill'. The tools are: read."
