"""Small changes of the state that several events share, and what is counted of calls."""

from __future__ import annotations

from typing import Any

from agentic.core.events import Reported, ToolFinished
from agentic.core.execution import Deeds, Execution
from agentic.core.frozen import changed


def take_report(execution: Execution, report: Reported) -> Execution:
    """The model said where it is."""
    judged = execution.judged
    return changed(
        execution,
        judged=changed(
            judged,
            reported=report,
            reported_this_turn=True,
            stuck_since=report.status == "stuck",
        ),
    )


def change_call(execution: Execution, call: str, **changes: Any) -> Execution:
    """One call of the current turn, changed."""
    calls = tuple(changed(known, **changes) if known.id == call else known for known in execution.turn.calls)
    return changed(execution, turn=changed(execution.turn, calls=calls))


def with_deeds(execution: Execution, event: ToolFinished) -> Deeds:
    """What the log can prove, with this result."""
    deeds = execution.deeds
    call = next((known for known in execution.turn.calls if known.id == event.call), None)
    command = call.intent.arguments.get("command") if call is not None and call.intent is not None else None
    if isinstance(command, str):
        deeds = changed(deeds, commands=(*deeds.commands, (command, event.exit_code)))
    offered = deeds.offered - {change.path for change in event.changes}
    return changed(deeds, changes=(*deeds.changes, *event.changes), offered=offered)


def tool_of(execution: Execution, call: str) -> str:
    """The tool of a call of the current turn."""
    return next((known.block.tool for known in execution.turn.calls if known.id == call), "")


def may_change(execution: Execution, name: str) -> bool:
    """Whether a tool may change the world: it is no read, and concerns not only the agent's own mind."""
    tools = execution.started.tools if execution.started else ()
    tool = next((known for known in tools if known.name == name), None)
    return tool is not None and tool.effect != "read" and tool.permission != "read" and not tool.cognitive


def count_error(errors: tuple[tuple[str, str, int], ...], tool: str, text: str) -> tuple[tuple[str, str, int], ...]:
    """The errors with one more of this kind."""
    known = {(name, error): count for name, error, count in errors}
    known[tool, text] = known.get((tool, text), 0) + 1
    return tuple((name, error, count) for (name, error), count in known.items())
