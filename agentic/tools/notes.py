"""The tools ``todo``, ``note`` and ``report``, which change only the agent's own records."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agentic.core.events.execution_events import (
    Noted,
    Reported,
    Status,
    Todo,
    TodoChanged,
)
from agentic.ports.runtime import Observation
from agentic.tools.base.tool import Arguments, CallContext, Tool


class TodoItem(Arguments):
    """One step."""

    text: str = Field(min_length=1, max_length=300)
    state: Literal["open", "doing", "done"] = "open"


class TodoArguments(Arguments):
    """The list."""

    items: tuple[TodoItem, ...] = Field(max_length=50, description="The whole list; it replaces the one before.")


class NoteArguments(Arguments):
    """One fact."""

    text: str = Field(min_length=1, max_length=1_000, description="One fact to remember, in a sentence.")


class ReportArguments(Arguments):
    """Where you are."""

    status: Status = Field(description="progressing, stuck or done.")
    confidence: int = Field(ge=0, le=100, description="How sure you are that the task will be solved, 0-100.")
    note: str = Field(default="", max_length=1_000, description="What is in the way, or what comes next.")


async def _todo(arguments: TodoArguments, _: CallContext) -> Observation:
    items = tuple(Todo(text=item.text, state=item.state) for item in arguments.items)
    done = sum(item.state == "done" for item in items)
    return Observation("ok", f"To-do list: {done} of {len(items)} done.", events=(TodoChanged(items=items),))


async def _note(arguments: NoteArguments, _: CallContext) -> Observation:
    return Observation("ok", "Noted.", events=(Noted(text=arguments.text),))


async def _report(arguments: ReportArguments, _: CallContext) -> Observation:
    event = Reported(status=arguments.status, confidence=arguments.confidence, note=arguments.note)
    return Observation("ok", "Reported.", events=(event,))


TODO_TOOL = Tool(
    name="todo",
    description="Keep a to-do list for work of several steps; write the whole list each time.",
    example=TodoArguments(items=(TodoItem(text="find the failing test", state="done"), TodoItem(text="fix it"))),
    act=_todo,
    effect="keyed",
    permission="read",
    cognitive=True,
)

NOTE_TOOL = Tool(
    name="note",
    description="Remember a short fact for the rest of this task (a command that works, a decision, a place in the code).",
    example=NoteArguments(text="Tests run with: python -m pytest -q"),
    act=_note,
    effect="keyed",
    permission="read",
    cognitive=True,
)

REPORT_TOOL = Tool(
    name="report",
    description="Say where you are and how sure you are. Report stuck when you see no way on.",
    example=ReportArguments(status="progressing", confidence=75, note="the cause is found, the fix comes next"),
    act=_report,
    effect="keyed",
    permission="read",
    cognitive=True,
)
