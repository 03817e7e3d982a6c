"""A task as a trajectory in ATIF, the Agent Trajectory Interchange Format of Harbor (RFC 0001, version 1.8); pure.

What people wrote is a step of the user, an answer of a model a step of the agent with its calls and what came of them,
and what the bot told the model a step of the system. Helpers that a call had are trajectories inside; pictures are named in
words, because a trajectory refers to them as files beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from agentic.core.events.execution_events import Envelope, FileRef, SubagentFinished, ToolFinished
from agentic.core.events.ids import child_id
from bot.console.exports.transcript import (
    CallRecord,
    ModelReply,
    TaskTotals,
    TranscriptTurn,
    Utterance,
    totals_of,
    transcript,
)

VERSION = "ATIF-v1.8"
NAME = "threadwright"
NOTES = (
    "Secrets were removed. Step ids count messages; extra.turn is the turn of the task. Answers whose extra.purpose is not "
    "'turn' were asked for beside the work, such as for a summary. Pictures are named in words."
)
_SOURCES = {"person": "user", "question": "system", "note": "system", "event": "system", "end": "system"}

JsonMap = dict[str, object]


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What a trajectory is made of. ``children`` are logs of helpers by their task's id."""

    execution: str
    session: str
    events: Sequence[Envelope]
    build: str
    usd: float = 0.0
    system: str = ""
    """The system prompt of its first request."""
    tools: Sequence[JsonMap] = ()
    """Tools as functions."""
    copied_through: int = 0
    outcome: Sequence[Envelope] = ()
    """What followed the end, which costs something too."""
    children: Mapping[str, Sequence[Envelope]] = field(default_factory=dict[str, Sequence[Envelope]])


def atif(task: Trajectory) -> Iterator[str]:
    """The trajectory as JSON, in pieces, one a turn."""
    totals = totals_of(transcript(task.events), task.outcome)
    agent: JsonMap = {"name": NAME, "version": task.build}
    if model := _usual_model(totals):
        agent["model_name"] = model
    if task.tools:
        agent["tool_definitions"] = list(task.tools)
    head: JsonMap = {
        "schema_version": VERSION, "session_id": task.session, "trajectory_id": task.execution, "agent": agent,
        "notes": NOTES, "extra": {"execution": task.execution, "thread": task.session},
    }  # fmt: skip
    yield _json(head)[:-1] + ', "steps": ['
    number = 0
    if task.system:
        number = 1
        yield _json(_step(number, "system", task.events[0], task.system, turn=0))
    with_helpers = _helpers(task)
    for turn in transcript(task.events):
        for entry in turn.entries:
            number += 1
            comma = ", " if number > 1 else ""
            yield comma + _json(_entry(number, turn, entry, task.copied_through, with_helpers))
    yield '], "final_metrics": ' + _json(_final(totals, task.usd, number))
    if task.children:
        yield ', "subagent_trajectories": ['
        for place, (child, events) in enumerate(task.children.items()):
            yield ", " if place else ""
            usd = totals_of(transcript(events)).whole.usd
            yield from atif(Trajectory(child, task.session, events, task.build, usd=usd))
        yield "]"
    yield "}"


def _usual_model(totals: TaskTotals) -> str:
    return max(totals.models, key=lambda name: totals.models[name].requests, default="")


def helpers_of(events: Sequence[Envelope]) -> list[str]:
    """The ids of its helpers, in the order in which they ended."""
    return list(dict.fromkeys(each.event.child for each in events if isinstance(each.event, SubagentFinished)))


def _helpers(task: Trajectory) -> Mapping[str, list[str]]:
    """By call, those helpers of it whose logs are inside."""
    by_call: dict[str, list[str]] = {}
    for call in (
        (each.event.call for each in task.events if isinstance(each.event, ToolFinished)) if task.children else ()
    ):
        names = [name for place in range(len(task.children)) if (name := child_id(call, place)) in task.children]
        if names:
            by_call[call] = names
    return by_call


def _step(number: int, source: str, at: Envelope | Utterance | ModelReply, message: str, *, turn: int) -> JsonMap:
    return {
        "step_id": number, "timestamp": at.at.isoformat(), "source": source, "message": message,
        "extra": {"seq": at.seq, "turn": turn},
    }  # fmt: skip


def _entry(
    number: int, turn: TranscriptTurn, entry: Utterance | ModelReply, copied: int, helpers: Mapping[str, list[str]]
) -> JsonMap:
    if isinstance(entry, Utterance):
        text = "\n".join((entry.text, *(_named(file) for file in entry.files)))
        step = _step(number, _SOURCES[entry.sort], entry, text, turn=turn.number)
        _extra(step).update({"sort": entry.sort, "who": entry.who})
    else:
        step = _step(number, "agent", entry, entry.text, turn=turn.number)
        step |= _answer(entry, helpers)
        _extra(step).update({"purpose": entry.purpose, "tier": entry.tier, "request": entry.request})
        if turn.confidence is not None:
            _extra(step)["confidence"] = turn.confidence
    if entry.seq <= copied:
        step["is_copied_context"] = True
    return step


def _extra(step: JsonMap) -> JsonMap:
    extra = step["extra"]
    assert isinstance(extra, dict)
    return cast("JsonMap", extra)


def _answer(reply: ModelReply, helpers: Mapping[str, list[str]]) -> JsonMap:
    metrics: JsonMap = {
        "prompt_tokens": reply.tokens_in, "completion_tokens": reply.usage.output,
        "cached_tokens": reply.usage.cache_read, "cost_usd": reply.usd,
        "extra": {"reasoning_tokens": reply.usage.reasoning, "cache_write_tokens": reply.usage.cache_write},
    }  # fmt: skip
    answer: JsonMap = {"metrics": metrics, "llm_call_count": 1}
    if reply.model:
        answer["model_name"] = reply.model
    if reply.reasoning:
        answer["reasoning_content"] = reply.reasoning
    if reply.calls:
        answer["tool_calls"] = [_call(call) for call in reply.calls]
    if results := [_result(call, helpers) for call in reply.calls if call.result is not None]:
        answer["observation"] = {"results": results}
    return answer


def _call(call: CallRecord) -> JsonMap:
    made: JsonMap = {
        "tool_call_id": call.call, "function_name": call.block.tool, "arguments": dict(call.block.arguments)
    }  # fmt: skip
    if call.block.problem:
        made["extra"] = {"problem": call.block.problem, "raw": call.block.raw}
    return made


def _result(call: CallRecord, helpers: Mapping[str, list[str]]) -> JsonMap:
    result = call.result
    assert result is not None
    extra: JsonMap = {"outcome": result.outcome, "seconds": result.seconds}
    if result.exit_code is not None:
        extra["exit_code"] = result.exit_code
    if result.changes:
        extra["changed"] = [change.path for change in result.changes]
    shown = "\n".join((result.preview, *(_named(file) for file in result.files)))
    made: JsonMap = {"source_call_id": call.call, "content": shown, "extra": extra}
    if names := helpers.get(call.call):
        made["subagent_trajectory_ref"] = [{"trajectory_id": name} for name in names]
    return made


def _named(file: FileRef) -> str:
    size = f", {file.width} × {file.height}" if file.width else ""
    return f"[{'picture' if file.media else 'file'} {file.name}{size}, {file.size} bytes]"


def _final(totals: TaskTotals, usd: float, steps: int) -> JsonMap:
    whole = totals.whole
    return {
        "total_prompt_tokens": whole.tokens_in, "total_completion_tokens": whole.tokens_out,
        "total_cached_tokens": whole.cached, "total_cost_usd": usd, "total_steps": steps,
        "extra": {"turns": totals.turns, "calls": dict(totals.calls), "tool_seconds": round(totals.tool_seconds, 3)},
    }  # fmt: skip


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
