"""Tools that change only the agent, and those that speak to the person, need no world."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Noted,
    Reported,
    StrongerWanted,
    Todo,
    TodoChanged,
)
from agentic.ports.runtime import (
    FinishTool,
    Observation,
    Perception,
    Prepared,
    Question,
    QuestionPart,
    Refused,
)
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.workspace import RealWorld


async def no_world() -> RealWorld:
    raise AssertionError("this call needs no world")


async def call(tool: str, arguments: dict[str, JsonValue]) -> Observation:
    toolbox = StandardToolbox(no_world)
    prepared = toolbox.prepare(tool, arguments)
    assert isinstance(prepared, Prepared), prepared
    return await toolbox.run(tool, "c1", prepared, lambda _: None)


async def test_a_to_do_list_replaces_the_one_before() -> None:
    seen = await call("todo", {"items": [{"text": "a", "state": "done"}, {"text": "b"}]})
    assert seen.events == (TodoChanged(items=(Todo(text="a", state="done"), Todo(text="b"))),)
    assert "1 of 2 done" in seen.preview


async def test_a_note_is_recorded() -> None:
    assert (await call("note", {"text": "tests run with tox"})).events == (Noted(text="tests run with tox"),)


async def test_a_report_is_recorded() -> None:
    seen = await call("report", {"status": "stuck", "confidence": 20, "note": "no network"})
    assert seen.events == (Reported(status="stuck", confidence=20, note="no network"),)


async def test_a_stronger_model_is_asked_for_with_what_was_tried() -> None:
    reason = "Tried a lock and a queue; both hang."
    seen = await call("ask_stronger", {"reason": reason})
    assert seen.events == (StrongerWanted(reason=reason),)
    for shrug in ({}, {"reason": "hard"}):
        assert isinstance(StandardToolbox(no_world).prepare("ask_stronger", dict(shrug)), Refused)


async def test_a_question_goes_to_the_person_with_the_recommended_option_first() -> None:
    seen = await call("ask_user", {"question": "Which?", "options": ["this", "that"]})
    assert seen.question == Question("Which?", ("this", "that"))


async def test_several_questions_go_to_the_person_together() -> None:
    seen = await call(
        "ask_user",
        {"questions": [{"text": "Which database?", "options": ["PostgreSQL", "SQLite"]}, {"text": "Which port?"}]},
    )
    parts = (QuestionPart("Which database?", ("PostgreSQL", "SQLite")), QuestionPart("Which port?"))
    assert seen.question == Question("I need to know a few things.", (), parts)


async def test_one_question_written_as_several_is_one() -> None:
    seen = await call("ask_user", {"question": "For the port:", "questions": [{"text": "Which?", "options": ["80"]}]})
    assert seen.question == Question("For the port:\nWhich?", ("80",))


@pytest.mark.parametrize(
    "arguments",
    [{}, {"question": " "}, {"question": "a", "options": ["x"], "questions": [{"text": "b"}]}, {"questions": [{}]}],
)
def test_a_question_that_asks_nothing_is_refused(arguments: dict[str, JsonValue]) -> None:
    assert isinstance(StandardToolbox(no_world).prepare("ask_user", arguments), Refused)


async def test_finish_hands_over_the_answer_and_its_evidence() -> None:
    claim: dict[str, JsonValue] = {"text": "tests pass", "command": "pytest -q", "exit_code": 0}
    seen = await call("finish", {"answer": "Done.", "claims": [claim]})
    assert seen.completion == FinishTool("Done.", (("tests pass", "pytest -q", 0, ""),), (), success=True)
    assert len(seen.preview) < 50


async def test_without_a_world_perceiving_and_settling_cost_nothing() -> None:
    toolbox = StandardToolbox(no_world)
    assert await toolbox.perceive() == Perception()
    await toolbox.settle()
