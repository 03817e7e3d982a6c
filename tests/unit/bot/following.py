"""A log as events come, and the read model after them; for the tests of what is shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from agentic.core.events.execution_events import (
    ConfidenceParts,
    Envelope,
    Event,
    ModelRequested,
    Person,
    Policy,
    Started,
    ToolFinished,
    ToolStarted,
)
from bot.progress.model import Progress

START = datetime(2026, 1, 2, tzinfo=UTC)
ANN = Person(id="7", name="Ann")
STARTED = Started(thread="50", task="fix", requester=ANN, role="python-coder", sandbox="bubblewrap", policy=Policy())
REQUESTED = ModelRequested(request="r", turn=3, tier=2, model="scripted/plain")
PARTS = ConfidenceParts(self_report=70, tool_ok=1, same_error=0, tests=0.5, progress=1, corrections=0)


def after(*events: Event) -> Progress:
    progress = Progress("x1")
    for envelope in log_of(*events):
        progress.take(envelope)
    return progress


def log_of(*events: Event) -> list[Envelope]:
    """As the store has it, an event each 20 seconds."""
    return [
        Envelope(execution="x1", seq=number + 1, at=START + timedelta(seconds=number * 20), fence=1, event=event)
        for number, event in enumerate(events)
    ]


def called(number: int, tool: str = "shell", **arguments: str) -> ToolStarted:
    return ToolStarted(
        call=f"c{number}", provider_id="p", tool=tool, effect="unkeyed", arguments=dict(arguments), args_sha="0"
    )


def ended(number: int, **more: object) -> ToolFinished:
    return ToolFinished.model_validate({"call": f"c{number}", "outcome": "ok", "preview": "", **more})
