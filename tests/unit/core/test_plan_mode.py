"""A plan first: until a person has agreed nothing that changes anything runs, and what was agreed to stays in sight."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    Asked,
    CheckpointSaved,
    FileChange,
    PlanEntered,
    PlanExited,
    Started,
    ToolFinished,
    ToolRef,
    Triaged,
)
from agentic.core.prompt.build import tail_text
from agentic.core.prompt.roles import in_role
from agentic.core.rules.decide import decide
from agentic.core.rules.questions import PLAN_OPTIONS
from agentic.core.state.actions import Record, UseTools
from agentic.core.state.execution import Execution
from tests.unit.core.building import TIERS, YOU, Log, Policy

TOOLS = (
    ToolRef(name="read", effect="read", permission="read"),
    ToolRef(name="write", effect="keyed", permission="write"),
    ToolRef(name="shell", effect="unkeyed", permission="execute"),
    ToolRef(name="note", effect="keyed", permission="read", cognitive=True),
    ToolRef(name="propose_plan", effect="keyed", permission="read", asks=True),
    ToolRef(name="finish", effect="unkeyed", permission="read", cognitive=True),
)
PLAN = "1. Round half up.\n2. Add a test."


def planning(*, changes_files: bool = False) -> Log:
    log = Log()
    log.envelopes, log.execution = [], Execution(id="x1")
    log.add(
        Started(
            thread="100",
            task="plan: round half up",
            requester=YOU,
            policy=Policy(tiers=TIERS),
            tools=TOOLS,
            planning=True,
        ),
        Triaged(talk=False, changes_files=changes_files),
        CheckpointSaved(manifest="m0", through_seq=2),
    )
    return log


def proposed(log: Log) -> str:
    """A plan is shown; its question."""
    execution = log.answer(("propose_plan", {"plan": PLAN}))
    call = log.start()
    question = f"q{execution.seq + 1}"
    log.add(Asked(question=question, sort="plan", text=PLAN, options=PLAN_OPTIONS, call=call))
    return question


def said(log: Log, words: str) -> list[object]:
    """What the rules record after an answer."""
    question = log.execution.question
    assert question is not None
    log.say("answer", words, target=question.question)
    recorded: list[object] = []
    for _ in range(2):
        action = decide(log.execution)
        assert isinstance(action, Record)
        recorded += action.events
        log.add(*action.events)
    return recorded


@pytest.mark.parametrize(
    ("call", "runs"),
    [
        (("read", {"path": "a.py"}), True),
        (("note", {"text": "It rounds down."}), True),
        (("shell", {"command": "git log --oneline | head"}), True),
        (("write", {"path": "a.py", "content": ""}), False),
        (("shell", {"command": "touch a.py"}), False),
        (("shell", {"command": "ls", "fallback": "rm a.py"}), False),
        (("shell", {"command": "ls", "background": True}), False),
    ],
)
def test_while_a_plan_is_made_only_what_reads_runs(call: tuple[str, dict[str, object]], runs: bool) -> None:
    log = planning()
    log.answer(call)  # type: ignore[arg-type]
    action = decide(log.execution)
    if runs:
        assert isinstance(action, UseTools)
        return
    assert isinstance(action, Record)
    (refused,) = action.events
    assert isinstance(refused, ToolFinished)
    assert refused.outcome == "refused"
    assert "nothing is changed before the person agrees" in refused.preview


def test_the_role_of_a_planner_gives_way_because_the_plan_is_carried_out() -> None:
    started = planning().execution.started
    assert started is not None
    assert in_role(started, Triaged(talk=False, role="planner")).role == ""
    assert in_role(started.model_copy(update={"planning": False}), Triaged(talk=False, role="planner")).role_may


def test_a_plan_that_is_agreed_to_is_carried_out_and_stays_in_sight() -> None:
    log = planning()
    assert "You are making a plan" in tail_text(log.execution, None)
    proposed(log)
    decision, left, result = said(log, "Go ahead")
    assert left == PlanExited(plan=PLAN)
    assert isinstance(result, ToolFinished)
    assert "you agreed to the plan" in result.preview
    assert not log.execution.mind.planning
    assert PLAN in tail_text(log.execution, None)
    assert decision
    log.settle()
    log.answer(("write", {"path": "a.py"}))
    assert isinstance(log.settle() and decide(log.execution), UseTools)


@pytest.mark.parametrize("words", ["yes", "OK.", "go ahead", "1"])
def test_a_plain_yes_agrees(words: str) -> None:
    log = planning()
    proposed(log)
    assert PlanExited(plan=PLAN) in said(log, words)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("yes, but without step 2", "wants the plan changed:\nyes, but without step 2"),
        ("Use Decimal", "wants the plan changed:\nUse Decimal"),
        ("Drop it", "does not want this plan carried out"),
    ],
)
def test_anything_else_changes_the_plan_or_drops_it_and_nothing_may_change_yet(words: str, told: str) -> None:
    log = planning()
    proposed(log)
    _, result = said(log, words)
    assert isinstance(result, ToolFinished)
    assert told in result.preview
    assert log.execution.mind.planning


def test_the_agent_enters_by_itself_and_turns_without_a_change_call_for_no_stronger_model() -> None:
    log = planning(changes_files=True)
    for _ in range(7):
        log.answer(("read", {"path": "a.py"}))
        log.use()
        log.settle()
    assert log.execution.judged.climb.unchanged_turns == 0
    proposed(log)
    said(log, "yes")
    log.settle()
    log.answer(("write", {"path": "a.py"}))
    log.use(changes=(FileChange(path="a.py", kind="modified"),))
    log.settle()
    for unchanged in (0, 1):  # the first of them told something new
        log.answer(("read", {"path": "a.py"}))
        log.use()
        log.settle()
        assert log.execution.judged.climb.unchanged_turns == unchanged
    log.add(PlanEntered())
    assert log.execution.mind.planning
