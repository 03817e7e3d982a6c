"""The part of the fold that processes cause: owners that come and go, what goes with them, what they leave behind.

What lives in a sandbox beside the workspace (variables of an interpreter, commands in the background, /tmp) ends with
the process that owned it.  An owner that ended without a word may have been ended by the work itself: after so many of
them it is left alone until a person says something.
"""

from __future__ import annotations

from agentic.core.claims.call_counts import change_call, may_change
from agentic.core.events.execution_events import (
    UNEXPOSED,
    Envelope,
    Exposure,
    FileChange,
    HandedOver,
    InputReceived,
    OwnerChanged,
    Quarantined,
    ToolStarted,
    WorkspaceFound,
)
from agentic.core.fold.exposure import cut_off as cut_off_from
from agentic.core.fold.exposure import merged
from agentic.core.prompt.user_messages import NOTE
from agentic.core.state.execution import Call, Execution, Turn
from agentic.core.state.replace import changed
from agentic.core.text.foreign_text import item, mark_of

INTERPRETER = "the Python interpreter's variables"
TEMPORARY = "files in /tmp"
BACKGROUND = "`{command}`, which ran in the background"
SHOWN = 80
NAMED = 8


def in_background(command: str) -> str:
    """A command as it is named where it goes with its owner."""
    line = " ".join(command.replace("`", "'").split())
    return BACKGROUND.format(command=line if len(line) <= SHOWN else f"{line[:SHOWN]}…")


def with_beside(execution: Execution, event: ToolStarted) -> tuple[str, ...]:
    """What lives beside the workspace, with this call."""
    tools = execution.started.tools if execution.started else ()
    if not [tool for tool in tools if tool.name == event.tool and tool.permission == "execute"]:
        return execution.beside
    command = event.arguments.get("command")
    more = [INTERPRETER] if event.tool == "python" else []
    more += [in_background(command)] if isinstance(command, str) and event.arguments.get("background") is True else []
    before = tuple(each for each in execution.beside if each != TEMPORARY)
    return tuple(dict.fromkeys((*before, *more, TEMPORARY)))


def owner_changed(execution: Execution, event: OwnerChanged, envelope: Envelope) -> Execution:
    """The time between two owners is nobody's work: no cap counts it.  An approval not used yet is asked for anew.

    What ended while a person was asked or held it was not ended by the work, so that is no crash of it.
    """
    rests = execution.resting_since is not None
    calls = tuple(changed(call, approval="", allowed=None) for call in execution.turn.calls)
    execution = changed(
        execution,
        turn=changed(execution.turn, calls=calls),
        crashes=execution.crashes + (not execution.handed_over and not rests),
        handed_over=False,
        suspect=execution.suspect or bool(execution.touched and base(execution)),
        beside=(),
        exposure=merged(execution.exposure, _unseen(execution)),
    )
    if event.lost:
        gone = "; ".join(event.lost)
        execution = _noted(
            execution, f"The process that ran you ended, and you go on in a new sandbox. Gone with the old one: {gone}."
        )
    if execution.at is None or rests:
        return execution
    away = max((envelope.at - execution.at).total_seconds(), 0.0)
    return changed(execution, spent=changed(execution.spent, waiting=execution.spent.waiting + away))


def _unseen(execution: Execution) -> Exposure:
    """What commands in the background had reached since it was looked last, nobody knows any more."""
    ran = any(each.startswith("`") for each in execution.beside)
    return cut_off_from(execution.exposure) if ran else UNEXPOSED


def handed_over(execution: Execution, event: HandedOver, envelope: Envelope) -> Execution:
    """Its owner ended in order, which is no crash."""
    return changed(execution, handed_over=True)


def quarantined(execution: Execution, event: Quarantined, envelope: Envelope) -> Execution:
    """It is left alone."""
    return changed(execution, quarantined=event)


def cut_off(execution: Execution) -> tuple[Call, ...]:
    """Calls that an earlier owner began, and of which its sandbox wrote down more than the log knows."""
    old = (call for call in execution.open_calls if not call.asked and call.fence != execution.fence)
    return tuple(call for call in old if call.intent and call.intent.effect == "unkeyed" and call.intent.diary)


def workspace_found(execution: Execution, event: WorkspaceFound, envelope: Envelope) -> Execution:
    """What was changed without a result that says so counts as changed from now on; what never began is open again."""
    for call in event.never_begun:
        execution = change_call(execution, call, intent=None, fence=0)
    deeds, turn = execution.deeds, execution.turn
    execution = changed(
        execution,
        suspect=False,
        unsaved=(*execution.unsaved, *event.changes),
        deeds=changed(deeds, changes=(*deeds.changes, *event.changes)),
        turn=changed(turn, changed=turn.changed or bool(event.changes)),
    )
    if event.problem:
        return _noted(execution, f"Whether what was cut off had changed files is not known: {event.problem}.")
    if event.changes:
        files = "\n".join(f"- {change.kind} {change.path}" for change in event.changes)
        return _noted(execution, f"What was cut off had changed files; look at them before you rely on them:\n{files}")
    return execution


def base(execution: Execution) -> str:
    """The newest copy of the workspace, '' where there is none."""
    found = [each.manifest for each in (execution.saved, execution.checkpoint) if each is not None and each.manifest]
    return found[0] if found else ""


def gone_with(event: OwnerChanged) -> str:
    """What people are told of it; /tmp alone is nothing to them."""
    return f" Lost: {'; '.join(event.lost)}." if set(event.lost) - {TEMPORARY} else ""


def found_in(event: WorkspaceFound) -> str:
    """The files, for people."""
    named = ", ".join(f"`{change.path}` ({change.kind})" for change in event.changes[:NAMED])
    more = len(event.changes) - NAMED
    return f"The step that was cut off had changed files: {named}{f' and {more} more' if more > 0 else ''}."


def heard_from(execution: Execution, event: InputReceived, *, machine: str) -> Execution:
    """Whoever says something takes the risk anew; an opinion does not."""
    if event.author.id == machine or event.sort == "feedback":
        return execution
    return changed(execution, crashes=0, quarantined=None)


def is_crashing(execution: Execution) -> bool:
    """Its owners ended too often in the middle of it, while nobody was asked and nobody held it."""
    waits = execution.question is not None or execution.paused is not None
    return not waits and execution.crashes >= execution.policy.crashes


def unsaved_with(execution: Execution, changes: tuple[FileChange, ...]) -> tuple[FileChange, ...]:
    """What the log says of files since the newest copy, with these changes."""
    return (*execution.unsaved, *changes) if base(execution) else ()


def brought(execution: Execution, event: InputReceived) -> Execution:
    """Files that a person put there are nobody's to look for; how they were left is not known."""
    files = tuple(FileChange(path=file.path, kind="added") for file in event.files if file.path and not file.skipped)
    return changed(execution, unsaved=unsaved_with(execution, files)) if files else execution


def may_touch(execution: Execution, event: ToolStarted, turn: Turn) -> Execution:
    """A call that begins, in its turn: what it may change, and what lives on beside the workspace by it."""
    touched = execution.touched or may_change(execution, event.tool)
    return changed(execution, turn=turn, touched=touched, beside=with_beside(execution, event))


def _noted(execution: Execution, text: str) -> Execution:
    told = execution.told
    return changed(
        execution, told=changed(told, texts=(*told.texts, item(mark_of(execution.started), f"{NOTE} {text}")))
    )
