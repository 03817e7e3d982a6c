"""What of an event is found by its words: what people and the agent said, what was run, which files changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    Event,
    Finished,
    InputReceived,
    Started,
    ToolFinished,
    ToolStarted,
)

What = Literal["task", "message", "question", "choice", "command", "files", "answer"]

KINDS = frozenset({"started", "input_received", "asked", "decided", "tool_started", "tool_finished", "finished"})
"""Kinds of events that may hold something to find."""
MOST = 20_000
"""Characters that are read of one event."""
_COMMANDS = ("command", "code")
_NO_WORDS = ("feedback", "answer")
"""Kinds of input whose text is a vote, or stands in ``Decided``."""


@dataclass(frozen=True, slots=True)
class Searchable:
    """Words of one event; ``who`` is the person's name, '' for the agent."""

    what: What
    who: str
    text: str


def searchable(event: Event) -> Searchable | None:
    """What can be found in an event, at most ``MOST`` characters of it; None for nothing."""
    found = _found(event)
    text = found.text.strip()[:MOST] if found is not None else ""
    return Searchable(found.what, found.who, text) if found is not None and text else None


def _found(event: Event) -> Searchable | None:
    match event:
        case Started():
            return Searchable("task", event.requester.name, event.task)
        case InputReceived() if event.sort not in _NO_WORDS:
            return Searchable("message", event.author.name, event.text)
        case Decided():
            said = (event.choice, event.text, *event.answers.values())
            return Searchable("choice", event.by.name, " ".join(filter(None, said)))
        case Asked():
            labels = [option.label for part in (event, *event.parts) for option in part.options]
            return Searchable("question", "", "\n".join([event.text, *(part.text for part in event.parts), *labels]))
        case Finished():
            return Searchable("answer", "", event.answer)
        case ToolStarted() | ToolFinished():
            return _done(event)
        case _:
            return None


def _done(event: ToolStarted | ToolFinished) -> Searchable:
    if isinstance(event, ToolFinished):
        return Searchable("files", "", "\n".join(change.path for change in event.changes))
    typed = (event.arguments.get(name) for name in _COMMANDS)
    return Searchable("command", "", "\n".join(each for each in typed if isinstance(each, str)))
