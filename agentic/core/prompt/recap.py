"""Recaps of what was done, tried and planned: for notes to the model, for an advising model, and for a person who is asked."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from agentic.core.prompt.user_messages import answers_of
from agentic.core.state.conversation import Message, ToolCall
from agentic.core.state.execution import Call, Execution

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


_THOUGHT, _RESULT, _ARGUMENTS, _ERROR, _COMMAND = 200, 100, 160, 1_500, 120


def work_log(execution: Execution, most: int) -> tuple[str, ...]:
    """What it thought and did, a line each, the newest ``most`` of them; oldest first."""
    lines: list[str] = []
    for message in execution.history:
        lines.extend(_lines(message))
    if execution.turn.answered:
        lines.extend(_answered(answer.tool, answer.text, failed=answer.failed) for answer in answers_of(execution.turn))
    return tuple(lines[-most:])


def failures(execution: Execution) -> tuple[str, ...]:
    """What fails now: the errors that came most, and the results of the last turn's failed calls as they are."""
    counted = sorted(execution.judged.errors_since, key=lambda error: -error[2])[:3]
    lines = [f"{tool}, {count} times: {text[:300]}" for tool, text, count in counted]
    failed = [call for call in execution.turn.calls if call.result is not None and call.result.outcome == "failed"]
    return (*lines, *(_exactly(call) for call in failed[-3:]))


def in_short(execution: Execution) -> tuple[str, ...]:
    """For a person: the last commands with their exit codes, what keeps failing, which files were changed."""
    lines: list[str] = []
    last: dict[str, int | None] = {}
    for command, code in reversed(execution.deeds.commands):
        last.setdefault(command, code)
    for command, code in list(last.items())[:4]:
        ended = "no exit code" if code is None else f"exit code {code}"
        lines.append(f"ran `{_cut(command, _COMMAND).replace('`', '')}`: {ended}")
    worst = max(execution.judged.errors_since, key=lambda error: error[2], default=None)
    if worst is not None:
        times = "twice" if worst[2] == 2 else f"{worst[2]} times"
        lines.append(f"{worst[0]} failed {times} the same way: {_cut(worst[1], _COMMAND)}")
    changes = tuple(dict.fromkeys(change.path for change in execution.deeds.changes))
    if changes:
        more = f" and {len(changes) - 5} more" if len(changes) > 5 else ""
        lines.append(f"changed {', '.join(changes[:5])}{more}")
    return tuple(lines)


def _lines(message: Message) -> list[str]:
    if message.role == "assistant":
        thought = [f"thought: {_cut(message.text, _THOUGHT)}"] if message.text else []
        return [*thought, *(f"called {call.tool} {_cut(str(call.arguments), _ARGUMENTS)}" for call in message.calls)]
    return [_answered(answer.tool, answer.text, failed=answer.failed) for answer in message.answers]


def _answered(tool: str, text: str, *, failed: bool) -> str:
    return f"{tool}: {'FAILED' if failed else 'OK'} {_cut(text, _RESULT)}"


def _exactly(call: Call) -> str:
    """The end of a result, where an error mostly stands."""
    preview = call.result.preview if call.result is not None else ""
    return f"{call.block.tool} {_cut(str(call.block.arguments), _ARGUMENTS)}\n{preview[-_ERROR:]}"


def _cut(text: str, most: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
