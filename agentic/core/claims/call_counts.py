"""Small changes of the state that several events share, and what is counted of calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from agentic.core.claims.proof import only_looks
from agentic.core.events.execution_events import Reported, ToolFinished
from agentic.core.events.values import Attempt
from agentic.core.state.execution import Call, Execution, Turn
from agentic.core.state.facts import Deeds, Ran, Unrun
from agentic.core.state.replace import changed


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
    return changed(execution, turn=turn_with(execution.turn, call, changes))


def turn_with(turn: Turn, call: str, changes: Mapping[str, Any], **more: Any) -> Turn:
    """The turn with one of its calls changed, and more of it."""
    calls = [changed(known, **changes) if known.id == call else known for known in turn.calls]
    return changed(turn, calls=tuple(calls), **more)


def call_of(execution: Execution, call: str) -> Call | None:
    """A call of the current turn."""
    for known in execution.turn.calls:
        if known.id == call:
            return known
    return None


def with_deeds(execution: Execution, event: ToolFinished) -> Deeds:
    """What the log can prove, with this result."""
    deeds, call = execution.deeds, call_of(execution, event.call)
    if event.changes:
        offered = deeds.offered - {change.path for change in event.changes}
        deeds = changed(deeds, changes=deeds.changes + event.changes, offered=offered)
    if call is not None and event.outcome == "ok":
        deeds = changed(deeds, used=deeds.used | {call.block.tool})
    if call is not None and event.outcome in ("ok", "failed", "unknown"):
        deeds = _reached(execution, deeds, call, event)
    if call is not None and event.outcome not in ("ok", "failed"):
        return changed(deeds, unrun=deeds.unrun + _unrun(execution, call, event))
    if call is None or call.intent is None:
        return deeds
    runs = _runs(deeds, event, call.intent.arguments)
    return changed(deeds, runs=deeds.runs + runs) if runs else deeds


def _reached(execution: Execution, deeds: Deeds, call: Call, event: ToolFinished) -> Deeds:
    """How far it got: whether anything was looked at, and whether anything may have been changed."""
    if deeds.achieved or minds_only(execution, call.block.tool):
        return deeds
    acted = may_change(execution, call.block.tool) and not _only_looked(call, event)
    achieved = acted and event.outcome != "failed"
    return changed(deeds, looked=True, acted=deeds.acted or acted, achieved=achieved)


def _only_looked(call: Call, event: ToolFinished) -> bool:
    """It ran commands, and none of them does more than look."""
    command = call.intent.arguments.get("command") if call.intent is not None else None
    ran = [each.command for each in event.attempts] or [command]
    return all(isinstance(each, str) and only_looks(each) for each in ran)


def _unrun(execution: Execution, call: Call, event: ToolFinished) -> tuple[Unrun, ...]:
    """The commands and the file that a call was about which did not run to its end."""
    arguments = call.intent.arguments if call.intent is not None else call.block.arguments
    names = ("command", "fallback", *(("path",) if may_change(execution, call.block.tool) else ()))
    cwd = arguments.get("cwd")
    folder = cwd if isinstance(cwd, str) else "."
    whats = (what for name in names if isinstance(what := arguments.get(name), str) and what)
    return tuple(Unrun(what, event.outcome, call.intent is not None, folder) for what in whats)


def _runs(deeds: Deeds, event: ToolFinished, arguments: Mapping[str, JsonValue]) -> tuple[Ran, ...]:
    """The commands that a result speaks of: the command, its fallback, or one that ran in the background till now."""
    command, cwd, known = arguments.get("command"), arguments.get("cwd"), len(deeds.changes)
    folder = cwd if isinstance(cwd, str) else "."
    if isinstance(command, str):
        if not event.attempts:
            return (Ran(command, event.exit_code, folder, _tests(event), known, event.job),)
        ran = event.attempts
        return tuple([Ran(each.command, each.exit_code, folder, _tests(each), known, event.job) for each in ran])
    begun = next((ran for ran in reversed(deeds.runs) if ran.job and ran.job == arguments.get("job")), None)
    if begun is None or event.exit_code is None:
        return ()
    tests = _tests(event)
    return (changed(begun, exit_code=event.exit_code, tests=tests, job=""),)


def _tests(came: ToolFinished | Attempt) -> tuple[int, int, int] | None:
    if came.tests_passed is None and came.tests_failed is None:
        return None
    return came.tests_passed or 0, came.tests_failed or 0, came.tests_skipped or 0


def may_change(execution: Execution, name: str) -> bool:
    """Whether a tool may change the world: it is no read, and concerns not only the agent's own mind."""
    tools = execution.started.tools if execution.started else ()
    tool = next((known for known in tools if known.name == name), None)
    return tool is not None and tool.effect != "read" and tool.permission != "read" and not tool.cognitive


def minds_only(execution: Execution, name: str) -> bool:
    """Whether a tool concerns only the agent's own mind: it neither looks nor acts, and asks nobody."""
    tools = execution.started.tools if execution.started else ()
    return any(tool.name == name and tool.cognitive and not tool.asks for tool in tools)


def count_error(errors: tuple[tuple[str, str, int], ...], tool: str, text: str) -> tuple[tuple[str, str, int], ...]:
    """The errors with one more of this kind."""
    known = {(name, error): count for name, error, count in errors}
    known[tool, text] = known.get((tool, text), 0) + 1
    return tuple((name, error, count) for (name, error), count in known.items())
