"""Event -> what a person reads of a running execution; no I/O.

A ``Progress`` is the read model of the one progress message and of the footer under the final answer; ``take`` is the
only thing that changes it, and ``bot/wording.py`` puts it into words.  It is changed in place because every event of
every execution passes here: making a new value of this size for each costs more than the rest of the sink.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from agentic.core.events import (
    Asked,
    Decided,
    Envelope,
    Escalated,
    Event,
    FileRef,
    Finished,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Started,
    TextBlock,
    Todo,
    TodoChanged,
    ToolFinished,
    ToolStarted,
    Triaged,
    TurnEnded,
)

UpdateKind = Literal[
    "turn_start", "turn_complete", "tool_execution", "checkpoint", "escalation", "clarification_request"
]  # fmt: skip
STEPS_KEPT = 12
FILES_KEPT = 40
_SUBJECTS = ("command", "path", "pattern", "code", "url", "query", "text", "question", "name")
_UPDATES: dict[str, UpdateKind] = {
    "model_requested": "turn_start",
    "turn_ended": "turn_complete",
    "finished": "turn_complete",
    "tool_started": "tool_execution",
    "tool_finished": "tool_execution",
    "todo_changed": "tool_execution",
    "checkpoint_saved": "checkpoint",
    "escalated": "escalation",
    "intervened": "escalation",
    "model_failed": "escalation",
    "asked": "clarification_request",
    "decided": "clarification_request",
}


@dataclass(frozen=True, slots=True)
class Step:
    """A tool call: what it does, on what, and what came of it ('' while it runs)."""

    call: str
    tool: str
    subject: str
    outcome: str = ""
    exit_code: int | None = None
    seconds: float = 0.0


@dataclass(slots=True)
class Progress:
    """What is shown of one execution."""

    execution: str
    thread: str = ""
    seq: int = 0
    """The last event it has taken."""
    started: datetime | None = None
    latest: datetime | None = None
    role: str = ""
    sandbox: str = ""
    turn: int = 0
    tier: int = 0
    model: str = ""
    thinking: bool = False
    steps: dict[str, Step] = field(default_factory=dict[str, Step])
    """The latest calls, by id."""
    todo: tuple[Todo, ...] = ()
    said: str = ""
    """The model's last text."""
    note: str = ""
    skipped: tuple[FileRef, ...] = ()
    """Attachments that were not taken, each with the reason."""
    asked: str = ""
    usd: float = 0.0
    confidence: int | None = None
    files: dict[str, None] = field(default_factory=dict[str, None])
    """Files of the workspace it changed, in order of first change."""
    finished: Finished | None = None

    @property
    def running(self) -> tuple[Step, ...]:
        """The calls without a result."""
        return tuple(step for step in self.steps.values() if not step.outcome)

    @property
    def seconds(self) -> float:
        """From the start to the latest event."""
        return (self.latest - self.started).total_seconds() if self.started and self.latest else 0.0

    def take(self, envelope: Envelope) -> None:
        """Show one more event; one that was taken already changes nothing."""
        if envelope.seq <= self.seq:
            return
        self.seq, self.latest = envelope.seq, envelope.at
        match envelope.event:
            case ModelRequested() | ModelAnswered() | ModelFailed() as event:
                self._think(event)
            case ToolStarted() | ToolFinished() as event:
                self._act(event)
            case TurnEnded() as event:
                self.confidence = event.confidence.shown
            case event:
                self._turn_to(event)

    def _think(self, event: ModelRequested | ModelAnswered | ModelFailed) -> None:
        self.thinking = False
        if isinstance(event, ModelAnswered):
            said = "".join(block.text for block in event.blocks if isinstance(block, TextBlock)).strip()
            self.said, self.note = said or self.said, ""
            self.model = event.served_by or self.model
            self.usd += event.usd
        elif isinstance(event, ModelFailed):
            self.note = f"the model did not answer ({event.failure.replace('_', ' ')})"
        elif event.purpose == "turn":
            self.turn, self.tier, self.model, self.thinking = event.turn, event.tier, event.model, True

    def _act(self, event: ToolStarted | ToolFinished) -> None:
        if isinstance(event, ToolStarted):
            self.steps[event.call] = Step(event.call, event.tool, _subject(event.arguments))
            if len(self.steps) > STEPS_KEPT:
                del self.steps[next(iter(self.steps))]
            return
        step = self.steps.get(event.call)
        if step is not None:
            ended = replace(step, outcome=event.outcome, exit_code=event.exit_code, seconds=event.seconds)
            self.steps[event.call] = ended
        for change in event.changes:
            if change.kind != "deleted" and len(self.files) < FILES_KEPT:
                self.files[change.path] = None

    def _turn_to(self, event: Event) -> None:
        match event:
            case Started():
                self.thread, self.role, self.sandbox = event.thread, event.role, event.sandbox
                self.started, self.tier = self.latest, event.policy.starting_tier
                self.skipped = tuple(file for file in event.files if file.skipped)
            case Triaged():
                self.role = event.role or self.role
            case TodoChanged():
                self.todo = event.items
            case Asked():
                self.asked, self.thinking = event.text or "?", False
            case Escalated():
                self.tier = event.to_tier
                self.note = f"handed over to a stronger model (tier {event.to_tier}): {event.trigger}"
            case Finished():
                self.finished, self.thinking, self.asked, self.note = event, False, "", ""
            case Decided():
                self.asked = ""
            case _:
                pass


def update_of(event: Event) -> UpdateKind | None:
    """The kind of update a person gets by an event, None where nothing is to be seen of it."""
    if isinstance(event, ModelRequested) and event.purpose != "turn":
        return None
    return _UPDATES.get(event.kind)


def _subject(arguments: dict[str, JsonValue]) -> str:
    for name in _SUBJECTS:
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return value[:300]
    return ""
