"""Rows that people read: what began, what each turn did and what it came to, how it ended; 30 days.

They say in words what the log says in events, and nothing reads them back.  Long texts are cut: the log has all of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import orjson

from agentic.aws.items import Item, keyed
from agentic.core.events.execution_events import (
    CallBlock,
    Confidence,
    Envelope,
    Event,
    Finished,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Reported,
    Started,
    TextBlock,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    Usage,
)
from agentic.stores.aws import layout

KEPT = timedelta(days=30)
_LONGEST = 300
_MOST_CALLS = 20
_MOST_FILES = 30
_NOTHING = Usage()


@dataclass(frozen=True, slots=True)
class TurnSoFar:
    """What happened in a turn that has not ended."""

    turn: int = 0
    """The last that was begun."""
    model: str = ""
    text: str = ""
    status: str = "progressing"
    calls: tuple[Item, ...] = ()
    files: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    usage: Usage = _NOTHING
    usd: float = 0.0

    def after(self, event: Event) -> TurnSoFar:
        """With one more event."""
        match event:
            case ModelRequested(turn=turn, model=model, purpose="turn"):
                return replace(self, turn=turn, model=model)
            case ModelAnswered(blocks=blocks, usage=usage, usd=usd):
                said = " ".join(block.text for block in blocks if isinstance(block, TextBlock))
                words = said if any(isinstance(block, TextBlock | CallBlock) for block in blocks) else self.text
                return replace(self, text=_cut(words), usage=_sum(self.usage, usage), usd=self.usd + usd)
            case ModelFailed(failure=failure, message=message):
                return replace(self, errors=(*self.errors, _cut(f"{failure}: {message}")))
            case ToolStarted(call=call, tool=tool, arguments=arguments):
                begun: Item = {"call": call, "tool": tool, "arguments": _cut(orjson.dumps(arguments).decode())}
                return replace(self, calls=(*self.calls, begun)[:_MOST_CALLS])
            case ToolFinished():
                return self._finished(event)
            case Reported(status=status):
                return replace(self, status=status)
            case _:
                return self

    def _finished(self, done: ToolFinished) -> TurnSoFar:
        came: Item = {"outcome": done.outcome, "result": _cut(done.preview)}
        if done.exit_code is not None:
            came["exit_code"] = done.exit_code
        calls = tuple({**call, **came} if call["call"] == done.call else call for call in self.calls)
        files = dict.fromkeys((*self.files, *(f"{change.kind} {change.path}" for change in done.changes)))
        errors = (*self.errors, _cut(done.error)) if done.error else self.errors
        return replace(self, calls=calls, files=tuple(files)[:_MOST_FILES], errors=errors)

    def row(self, confidence: Confidence) -> Item:
        """What its row says when it ends."""
        return {
            "what": "turn",
            "turn": self.turn,
            "model": self.model,
            "text": self.text,
            "status": self.status,
            "confidence": confidence.shown,
            "confidence_parts": {"heuristic": confidence.heuristic, **_parts(confidence)},
            "tools": list(self.calls),
            "files": list(self.files),
            "errors": list(self.errors)[:_MOST_CALLS],
            "tokens": self.usage.model_dump(),
            "usd": round(self.usd, 9),
        }


def rows(so_far: TurnSoFar, events: Sequence[Envelope], thread: str) -> tuple[list[Item], TurnSoFar]:
    """The rows that follow from events of a thread, and what is known of the turn after them."""
    made: dict[layout.Key, Item] = {}
    for envelope in events:
        so_far = so_far.after(envelope.event)
        said = _said(so_far, envelope.event)
        if said is not None:
            key = layout.turn(thread, so_far.turn, envelope.at.isoformat(timespec="microseconds"))
            whole = {"execution": envelope.execution, layout.TTL: _gone_at(envelope.at), **said}
            made[key] = {**made.get(key, {}), **whole}
        if isinstance(envelope.event, TurnEnded):
            so_far = TurnSoFar(turn=so_far.turn)
    return [keyed(key, row) for key, row in made.items()], so_far


def _said(so_far: TurnSoFar, event: Event) -> Item | None:
    match event:
        case Started(task=task, requester=requester, role=role):
            return {"what": "started", "task": _cut(task), "requester": requester.name, "role": role}
        case TurnEnded(confidence=confidence):
            return so_far.row(confidence)
        case Finished(reason=reason, answer=answer, confidence=confidence):
            return {"what": "finished", "reason": reason, "answer": _cut(answer), "confidence": confidence}
        case _:
            return None


def _parts(confidence: Confidence) -> Item:
    """The parts that a confidence was made of; a number that is none is left out."""
    parts = confidence.parts.model_dump()
    return {name: value for name, value in parts.items() if math.isfinite(value)}


def _gone_at(at: datetime) -> int:
    return math.ceil((at + KEPT).timestamp())


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage.model_validate({name: value + getattr(other, name) for name, value in one.model_dump().items()})


def _cut(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
