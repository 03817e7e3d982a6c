"""Advice of a stronger model, before it takes over: what it is asked, and what becomes of its answer.

The request is bounded whatever the history holds, and everything in it that others wrote is marked as data.
"""

from __future__ import annotations

from agentic.core import tried
from agentic.core.conversation import Message, Prompt, ToolSpec
from agentic.core.events import Intervened
from agentic.core.execution import Execution
from agentic.core.judging import Consulted
from agentic.core.marks import mark_of, one_line, section
from agentic.core.telling import ADVICE, ADVICE_ENDS
from agentic.core.tiering import short
from agentic.prompts.advice import SYSTEM

_TASK, _LOG_LINES, _SAID, _ADVICE = 3_000, 24, 1_000, 4_000
MOST = 16_000
"""Characters that the request has at most, beside its instructions."""


def prompt(execution: Execution, tools: tuple[ToolSpec, ...]) -> Prompt:
    """What the stronger model is asked: the task, what was done, what fails as it is, where the weaker one stands."""
    mark = mark_of(execution.started)
    files = sorted({change.path for change in execution.deeds.changes})[:20]
    parts = (
        ("Task", execution.task[:_TASK]),
        ("To do", "\n".join(f"[{item.state}] {item.text[:150]}" for item in execution.todo[:15])),
        ("Notes", "\n".join(note[:200] for note in execution.mind.notes[-8:])),
        ("Work so far, oldest first", "\n".join(tried.work_log(execution, _LOG_LINES))),
        ("Files changed", "\n".join(map(one_line, files))),
        ("What fails", "\n\n".join(tried.failures(execution))),
        ("Its last words", execution.turn.text[-_SAID:]),
    )
    text = "\n\n".join(section(mark, f"[{title}]", body) for title, body in parts if body)
    names = ", ".join(tool.name for tool in tools)
    asked = f"{text[:MOST]}\n\n{mark} [End of the data]\nIt can use: {names}.\nWhat do you advise?"
    return Prompt(system=SYSTEM, tools=(), messages=(Message("user", text=asked),))


def given(advice: Consulted) -> Intervened:
    """The advice as the present model is told it."""
    text = (
        f"{ADVICE}, {short(advice.model)}]\n{advice.text[:_ADVICE]}\n{ADVICE_ENDS} Follow it "
        "where it fits what you see; where it does not, say why. If it does not help, the stronger model takes over."
    )
    return Intervened(rule="advice", text=text)
