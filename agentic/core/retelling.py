"""What was done so far and what is planned, in a few words, for notes to the model."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from agentic.core.conversation import ToolCall
from agentic.core.execution import Call, Execution

_TELLING = ("command", "path", "pattern", "code", "job", "ref", "url", "query", "name")
"""Arguments that say best what a call was about."""
_CHARACTERS = 60


def steps_told(execution: Execution) -> list[str]:
    """The calls that stand in the history and those of the current turn, oldest first, each with OK or FAILED."""
    told: list[str] = []
    for place, message in enumerate(execution.history):
        after = execution.history[place + 1].answers if place + 1 < len(execution.history) else ()
        failed = {answer.provider_id: answer.failed for answer in after}
        told += [_told(call, failed=failed[call.provider_id]) for call in message.calls if call.provider_id in failed]
    for call in execution.turn.calls:
        if call.result is not None:
            made = ToolCall(call.block.provider_id, call.block.tool, call.block.arguments)
            told.append(_told(made, failed=call.result.outcome != "ok"))
    return told


def call_told(call: Call) -> str:
    """A call of the current turn that has its result, and what that was."""
    assert call.result is not None
    code = "" if call.result.exit_code is None else f", exit {call.result.exit_code}"
    return f"{_about(call.block.tool, call.block.arguments)}: {call.result.outcome}{code}"


def open_steps(execution: Execution) -> list[str]:
    """What the to-do list still holds, what is being done first."""
    items = sorted(execution.mind.todo, key=lambda item: item.state != "doing")
    return [_short(item.text) for item in items if item.state != "done"]


def _told(call: ToolCall, *, failed: bool) -> str:
    return f"{_about(call.tool, call.arguments)} {'FAILED' if failed else 'OK'}"


def _about(tool: str, arguments: Mapping[str, JsonValue]) -> str:
    about = next((str(arguments[name]) for name in _TELLING if name in arguments), "")
    return f"{tool} {_short(about)}".rstrip()


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _CHARACTERS else f"{line[: _CHARACTERS - 1]}…"
