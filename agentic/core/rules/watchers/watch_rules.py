"""When a watcher is asked, and what its answer becomes: a note to the agent, or calls that a person must approve."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from agentic.core.events.execution_events import Watched
from agentic.core.rules.watchers.peek import Peek, due, without_secrets
from agentic.core.state.actions import Action, Consult, Record
from agentic.core.state.counters import Consulted
from agentic.core.state.execution import Execution
from agentic.core.state.tiers import left_of
from agentic.core.text.foreign_text import one_line

TOKENS = 500
"""Sixty are enough; what thinks before it speaks needs more."""
SECONDS = 20.0
PURPOSE = "watcher"
SAID = 300
"""Characters of its words that are kept."""
UNREADABLE = "its answer could not be read"
_JSON = re.compile(r"\{[^{}]*\}")


class _Answered(BaseModel):
    """What a watcher may answer; what it says beyond that is left out."""

    model_config = ConfigDict(extra="ignore")

    verdict: Literal["fine", "note", "veto"]
    calls: tuple[int, ...] = ()
    why: str = ""

    @field_validator("verdict", mode="before")
    @classmethod
    def _plain(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value


def watched(execution: Execution) -> Action | None:
    """A watcher has answered, or failed: what it says is kept.  A request that was lost is made again."""
    came = execution.consulted
    if came is None or came.purpose != PURPOSE or came.lost:
        return None
    peek = due(execution)
    return Record((said(peek, came, execution.turn.number),)) if peek is not None else None


def watch_calls(execution: Execution) -> Action | None:
    """Calls are about to begin that a watcher has to see first."""
    peek = due(execution) if execution.question is None else None
    return _asked(execution, peek) if peek is not None and peek.calls else None


def watch_turn(execution: Execution) -> Action | None:
    """A model is about to be asked, and a watcher has not looked for so many turns."""
    peek = due(execution)
    return _asked(execution, peek) if peek is not None else None


def _asked(execution: Execution, peek: Peek) -> Consult:
    numbers = sorted(tier.number for tier in execution.policy.tiers)
    tier = next((number for number in numbers if number >= peek.watcher.tier), numbers[-1])
    return Consult(
        purpose=PURPOSE,
        turn=execution.turn.number,
        tier=tier,
        model=left_of(execution, tier)[0],
        max_tokens=TOKENS,
        seconds=min(SECONDS, execution.policy.request_seconds),
    )


def said(peek: Peek, came: Consulted, turn: int) -> Watched:
    """What a watcher's answer says; one that names no call it was shown speaks of all of them."""
    ids, watcher = tuple(call.id for call in peek.calls), peek.watcher
    event = Watched(watcher=watcher.name, turn=turn, calls=ids)
    answered = None if came.failed else _read(came.text)
    if answered is None:
        held = ids if watcher.if_it_fails == "ask" else ()
        problem = _words(came.failed) or UNREADABLE
        return event.model_copy(update={"problem": problem, "held": held})
    if answered.verdict == "fine":
        return event
    why = _words(answered.why) or "it does not say why"
    if watcher.may != "veto" or answered.verdict == "note":
        return event.model_copy(update={"text": why})
    named = tuple(id for number, id in enumerate(ids, start=1) if number in answered.calls)
    return event.model_copy(update={"text": why, "held": named or ids})


def _read(text: str) -> _Answered | None:
    """The last line of JSON that can be read; None where there is none."""
    for found in reversed(_JSON.findall(text)):
        try:
            return _Answered.model_validate_json(found)
        except ValidationError:
            continue
    return None


def _words(text: str) -> str:
    """Words of a model on one line, which neither format nor link where people read them."""
    return without_secrets(one_line(text, SAID)).strip().replace("`", "'").replace("[", "(").replace("]", ")")
