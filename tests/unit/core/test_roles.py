"""A role reaches the model: what it is told, which tools it has, where it begins, and when it gives way."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    CheckpointSaved,
    EarlierResult,
    Started,
    Tier,
    ToolFinished,
    ToolRef,
    Triaged,
)
from agentic.core.events.values import TOUR, Policy
from agentic.core.prompt.build import build_prompt
from agentic.core.prompt.role_file import shipped
from agentic.core.prompt.roles import (
    LOOKS,
    in_role,
    looks,
)
from agentic.core.rules.decide import decide
from agentic.core.rules.triage import triage
from agentic.core.state.actions import Record, Think, UseTools
from agentic.core.state.conversation import ToolSpec
from agentic.prompts.roles import NAMES
from tests.unit.core.building import YOU, Log

REVIEW = "Review my last commit, please."
TOOLS = (
    ToolRef(name="read", effect="read", permission="read"),
    ToolRef(name="write", effect="keyed", permission="write"),
    ToolRef(name="shell", permission="execute"),
    ToolRef(name="python", permission="execute"),
    ToolRef(name="finish", cognitive=True),
)
SPECS = tuple(ToolSpec(tool.name, "", {}, tool.effect, tool.permission, tool.cognitive) for tool in TOOLS)
TIERS = (Tier(number=2, models=("a", "b")), Tier(number=3, models=("c", "a")), Tier(number=4, models=("d",)))


def started(task: str = REVIEW, **more: object) -> Started:
    values = {"thread": "1", "task": task, "requester": YOU, "policy": Policy(tiers=TIERS), "tools": TOOLS, **more}
    return Started.model_validate(values)


def begun(task: str = REVIEW, **more: object) -> Log:
    """An execution after triage."""
    log = Log(triaged=False)
    log.envelopes, log.execution = [], type(log.execution)(id="x1")
    log.add(started(task, **more))
    action = decide(log.execution)
    assert isinstance(action, Record)
    log.add(*action.events)
    return log


def test_every_role_that_triage_knows_is_a_template_with_words_of_its_own() -> None:
    assert tuple(shipped()) == NAMES
    assert len({role.text for role in shipped().values()}) == len(NAMES)
    assert [name for name, role in shipped().items() if role.may == LOOKS] == [
        "planner", "architect", "code-reviewer", "researcher",
    ]  # fmt: skip


def test_the_role_that_triage_decides_stands_in_the_system_prompt_and_stays_the_same() -> None:
    log = begun("fix the rounding in cart.py")
    first = build_prompt(log.execution, None, SPECS)
    assert f"Your role: python-coder.\n{shipped()['python-coder'].text}" in first.system
    assert first.tools is SPECS
    log.answer("a", ("read", {}))
    log.add(ToolFinished(call=log.execution.turn.calls[0].id, outcome="ok", preview=""))
    assert build_prompt(log.execution, None, SPECS).system == first.system


def test_a_role_that_only_looks_is_offered_only_what_looks() -> None:
    log = begun()
    prompt = build_prompt(log.execution, None, SPECS)
    assert [tool.name for tool in prompt.tools] == ["read", "shell", "finish"]
    assert shipped()["code-reviewer"].text in prompt.system
    told = prompt.system.partition("Your tools")[2].partition("Your role")[0]
    assert "- read (look and change nothing): read" in told
    assert "- write" not in told
    assert "- shell {" not in told, "no example of what it may not run"


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("write", {"path": "a", "content": ""}, "no tool 'write'"),
        ("python", {"code": "1"}, "no tool 'python'"),
        ("shell", {"command": "rm -rf ."}, "commands that only look"),
        ("shell", {"command": "git log", "fallback": "touch a"}, "commands that only look"),
        ("shell", {"command": "git log", "background": True}, "commands that only look"),
        ("nonsense", {}, "The tools are: finish, read, shell."),
    ],
)
def test_what_its_role_does_not_have_is_refused_with_words(tool: str, arguments: dict[str, object], words: str) -> None:
    log = begun()
    log.answer((tool, arguments))  # type: ignore[arg-type]
    action = decide(log.execution)
    assert isinstance(action, Record)
    (result,) = action.events
    assert isinstance(result, ToolFinished)
    assert result.outcome == "refused"
    assert words in result.preview


def test_a_role_that_only_looks_may_look_by_shell() -> None:
    log = begun()
    log.answer(("shell", {"command": "git show HEAD"}))
    log.add(CheckpointSaved(manifest="m", through_seq=log.execution.seq))
    assert isinstance(decide(log.execution), UseTools)


@pytest.mark.parametrize(
    ("command", "fine"),
    [
        ("git log --oneline -3 && git show HEAD 2>/dev/null | head -50", True),
        ("cd src; grep -rn 'a > b' . ; ls", False),
        ("cat <a.txt", True),
        ("git diff --outp=stolen", False),
        ("git -c core.pager=x log", False),
        ("git", False),
        ("git push", False),
        ("./ls", False),
        ("bin/cat x", False),
        ("PATH=. ls", False),
        ("ls $(touch a)", False),
        ("echo x > a", False),
        ("echo x | sh", False),
        ("env touch a", False),
        ("", True),
    ],
)
def test_which_command_lines_only_look(command: str, fine: bool) -> None:
    assert looks(command) is fine


def test_a_role_that_only_looks_gives_way_where_files_are_to_be_changed() -> None:
    read = Triaged(talk=False, role="code-reviewer", changes_files=True)
    assert in_role(started(), read).role == ""
    assert in_role(started(), read).role_may == ()
    chosen = in_role(started(role="code-reviewer"), read)
    assert (chosen.role, chosen.role_may) == ("code-reviewer", LOOKS), "what somebody chose counts"


def test_it_gives_way_as_well_where_a_person_asks_for_changes_meanwhile() -> None:
    log = begun()
    log.say("guidance", "what about the tests?")
    assert not isinstance(decide(log.execution), Record)
    log.say("guidance", "fix what you found")
    log.settle()
    assert isinstance(decide(log.execution), Think)
    assert build_prompt(log.execution, None, SPECS).tools is SPECS
    other = begun(role="code-reviewer")
    other.say("guidance", "fix what you found")
    assert isinstance(decide(other.execution), Think)


def test_what_somebody_chose_counts_over_what_triage_reads() -> None:
    assert triage(started("fix the rounding in cart.py", role="dba")).role_text == shipped()["dba"].text
    unknown = triage(started("fix the rounding in cart.py", role="poet"))
    assert (unknown.role, unknown.role_text) == ("poet", "")


def test_talk_and_the_tour_are_in_no_role() -> None:
    assert triage(started("hi")).role_text == ""
    toured = triage(started(policy=Policy(tiers=(Tier(number=2, models=(TOUR,)),))))
    assert (toured.role, toured.role_may) == ("", ())


def test_talk_that_becomes_a_task_gets_the_chosen_role() -> None:
    log = begun("hi", role="dba")
    log.say("guidance", "look at the schema")
    log.settle()
    assert log.execution.triage is not None
    assert log.execution.triage.role_text == shipped()["dba"].text


def test_a_role_begins_in_the_tier_it_prefers_where_that_is_configured() -> None:
    assert begun().execution.tier == 3
    assert begun("fix the rounding in cart.py").execution.tier == 2
    assert begun(policy=Policy(tiers=(TIERS[0], TIERS[2]))).execution.tier == 2, "no dearer one than it prefers"


def test_a_review_is_not_asked_of_the_model_whose_work_it_is() -> None:
    def asked(*wrote: str) -> str:
        earlier = tuple(
            EarlierResult(execution="x", task="t", reason="done", answer="", files=("a",), model=model)
            for model in wrote
        )
        action = decide(begun(earlier=earlier).execution)
        assert isinstance(action, Think)
        return action.model

    assert asked() == "c"
    assert asked("c") == "a"
    assert asked("a", "c") == "c", "where there is no other"


def test_a_log_from_before_roles_were_told_goes_on_as_it_began() -> None:
    log = Log(triaged=False)
    log.envelopes, log.execution = [], type(log.execution)(id="x1")
    log.add(started(), Triaged(talk=False, role="code-reviewer"))
    prompt = build_prompt(log.execution, None, SPECS)
    assert prompt.tools is SPECS
    assert "Your role" not in prompt.system
    assert log.execution.tier == 2
