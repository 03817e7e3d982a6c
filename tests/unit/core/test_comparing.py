"""Approaches compared: nothing changes before, evidence ranks them, and one table shows them on a phone."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import JsonValue

from agentic.core.claims.comparison import TriedApproach, best, is_proven, reason
from agentic.core.display.comparison_text import NONE, labels, take, taken, told
from agentic.core.events.execution_events import (
    CheckpointSaved,
    Option,
    Outcome,
    Reason,
    Started,
    ToolFinished,
    ToolRef,
    Triaged,
)
from agentic.core.events.ids import child_id, child_of, place_id, thread_of
from agentic.core.prompt.build import system_text, tail_text
from agentic.core.prompt.roles import in_role, known
from agentic.core.prompt.user_messages import first_message
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Record, UseTools
from agentic.core.state.execution import Execution
from agentic.core.text.answers import advised
from agentic.prompts.approach_texts import APPROACH, approach
from agentic.prompts.child_prompt import HELPER
from tests.unit.core.building import TIERS, YOU, Log, Policy

TOOLS = (
    ToolRef(name="read", effect="read", permission="read"),
    ToolRef(name="write", effect="keyed", permission="write"),
    ToolRef(name="shell", effect="unkeyed", permission="execute"),
    ToolRef(name="approaches", effect="keyed", permission="execute"),
    ToolRef(name="note", effect="keyed", permission="read", cognitive=True),
    ToolRef(name="propose_plan", effect="keyed", permission="read", asks=True),
    ToolRef(name="finish", effect="unkeyed", permission="read", cognitive=True),
)
WAYS = ["one way", "another way"]
CALL: tuple[str, dict[str, JsonValue]] = ("approaches", {"ways": [*WAYS]})


def asked_for(number: int = 3, *, planning: bool = False) -> Log:
    log = Log()
    log.envelopes, log.execution = [], Execution(id="x1")
    log.add(
        Started(
            thread="100", task="try 3 ways: fix it", requester=YOU, policy=Policy(tiers=TIERS), tools=TOOLS,
            approaches=number, planning=planning,
        ),
        Triaged(talk=False, changes_files=False),
        CheckpointSaved(manifest="m0", through_seq=2),
    )  # fmt: skip
    return log


@pytest.mark.parametrize(
    ("call", "runs"),
    [
        (("read", {"path": "a"}), True),
        (("note", {"text": "a"}), True),
        (("shell", {"command": "git log"}), True),
        (CALL, True),
        (("finish", {"answer": "It cannot be done.", "success": False}), True),
        (("write", {"path": "a", "content": ""}), False),
        (("shell", {"command": "touch a"}), False),
        (("finish", {"answer": "Done."}), False),
    ],
)
def test_before_they_are_compared_nothing_changes_and_the_task_is_not_done(
    call: tuple[str, dict[str, JsonValue]], runs: bool
) -> None:
    log = asked_for()
    log.answer(call)
    action = decide(log.execution)
    if runs:
        assert isinstance(action, UseTools)
    else:
        assert isinstance(action, Record)
        [refused] = action.events
        assert isinstance(refused, ToolFinished)
        assert "wants several approaches compared" in refused.preview


def test_a_plan_comes_first_and_then_the_approaches() -> None:
    log = asked_for(planning=True)
    assert "propose_plan" in tail_text(log.execution, None)
    assert "approaches to this task" not in tail_text(log.execution, None)
    log.answer(CALL)
    action = decide(log.execution)
    assert isinstance(action, Record)
    assert "making a plan" in action.events[0].preview  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("outcome", "free"), [("ok", True), ("failed", True), ("refused", False), ("cancelled", False)]
)
def test_once_they_were_compared_or_cannot_be_the_task_goes_on_as_usual(outcome: Outcome, free: bool) -> None:
    log = asked_for()
    assert "3 approaches to this task" in tail_text(log.execution, None)
    log.answer(("read", {"path": "a"}))
    log.add(ToolFinished(call=log.start(), outcome="ok", preview=""))
    assert log.execution.mind.approaches == 3, "another tool's result says nothing of it"
    log.settle(saving=False)
    log.answer(CALL)
    log.add(ToolFinished(call=log.start(), outcome=outcome, preview=""))
    assert log.execution.mind.approaches == (0 if free else 3)
    assert ("3 approaches to this task" in tail_text(log.execution, None)) is not free


def test_the_tool_is_there_only_where_somebody_asked_for_approaches() -> None:
    assert "approaches" in {tool.name for tool in known(asked_for().execution)}
    assert "approaches" not in {tool.name for tool in known(asked_for(0).execution)}
    started = asked_for().execution.started
    assert started is not None
    assert in_role(started, Triaged(talk=False, role="planner")).role == "", (
        "a role that only looks would be in the way"
    )


def test_whoever_takes_one_is_told_its_way_and_not_that_others_share_its_files() -> None:
    started = Started(thread="1", task="t", requester=YOU, child=True, workspace="m0")
    assert APPROACH in system_text(started)
    assert HELPER in system_text(started.model_copy(update={"workspace": ""}))
    assert f"[Task from {YOU.name}]" in first_message(started)
    text = approach("Fix it.", WAYS, 2)
    assert "Your way (2 of 2): another way" in text
    assert text.endswith("so do not:\n- one way")


def test_a_workspace_of_its_own_says_whose_it_is() -> None:
    child = child_id("r1.0", 0)
    place = place_id("123", child)
    assert place.isalnum()
    assert (thread_of(place), child_of(place)) == ("123", child)
    assert [thread_of(name) for name in ("123", "work", "9w9", f"w{child}")] == ["123", "work", "9w9", f"w{child}"]


def tried(
    verdict: Literal["pass", "fail", "none"] = "none", score: int = 60, usd: float = 0.1, result: Reason = "done",
    end: str = "m1",
) -> TriedApproach:  # fmt: skip
    return TriedApproach(way="A way", child="c", verdict=verdict, score=score, usd=usd, result=result, end=end)


@pytest.mark.parametrize(
    ("approaches", "number", "why"),
    [
        ((tried(score=90), tried("pass", 70)), 2, "its check passed"),
        ((tried("pass", 70), tried("pass", 90)), 2, "its check passed, as others' did, and it has the highest score"),
        (
            (tried("pass", 90, 0.2), tried("pass", 90)),
            2,
            "its check passed, as others' did, and it cost least of those with",
        ),
        ((tried(), tried()), 1, "none is proven by a check; no other is better"),
        ((tried(score=50), tried(score=70)), 2, "none is proven by a check; it has the highest score"),
        ((tried("fail", 90), tried(result="stuck"), tried()), 3, "it is the only one that is done"),
        ((tried("pass", 70), tried("pass", 90, end="")), 1, "its check passed"),
    ],
)
def test_evidence_counts_before_the_score_and_the_score_before_the_cost(
    approaches: tuple[TriedApproach, ...], number: int, why: str
) -> None:
    assert best(approaches) == number
    assert reason(approaches, number).startswith(why)


def test_none_is_best_where_none_is_done_or_all_are_contradicted() -> None:
    none = (tried("fail"), tried(result="limit"), tried("pass", end=""))
    assert best(none) == 0
    assert not any(map(is_proven, none))
    assert "None of them is done and proven right." in told(none)


def test_they_stand_beside_each_other_within_the_width_of_a_phone() -> None:
    dear = tried("pass", 100, 1234.5).model_copy(
        update={
            "said": "I did `it`.\n**Loudly**", "seconds": 90_000.0, "files": 12_345, "added": 123_456, "removed": 9,
            "confidence": 100,
        }
    )  # fmt: skip
    quick = tried("fail", result="budget").model_copy(update={"seconds": 4.2})
    text = told((dear, quick, tried().model_copy(update={"seconds": 125.0}), dear))
    table = text.split("```")[1].strip("\n").split("\n")
    assert max(map(len, table)) == 42
    assert [line.split() for line in table[1:3]] == [
        ["result", "done", "budget", "done", "done"], ["check", "passed", "failed", "not", "run", "passed"]
    ]  # fmt: skip
    assert table[-1].split() == ["time", "25.0", "h", "4", "s", "2", "min", "25.0", "h"]
    assert "**1.** A way\n> I did `it`." in text
    assert "**2.** A way\n**3.**" in text, "who said nothing is not quoted"


def test_the_first_option_is_advised_unless_another_one_says_that_it_is() -> None:
    plain = (Option(id="1", label="Take 1"), Option(id="2", label="Take 2"))
    assert [advised(options) for options in ((), plain, (plain[0], plain[1].model_copy(update={"recommended": True})))] == [
        0, 1, 2
    ]  # fmt: skip


def test_a_button_takes_the_approach_of_its_number() -> None:
    assert labels((tried(), tried(end=""))) == ("Take 1", "Take 2", NONE)
    assert [taken(label) for label in (take(2), NONE, "Take two", "2")] == [2, 0, 0, 0]
