"""From a log to the events that somebody outside is told, with the little that has to be remembered of it.

It follows a log event by event and needs no other state, so whoever delivers can begin anywhere: the outline up to there is
read from the log again, and the same events with the same keys follow.  What a fork or a rerun copied from another log was
told when it happened, and is not told again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypedDict

from agentic.core.events.execution_events import (
    Asked,
    BranchMerged,
    BranchRejected,
    CheckpointSaved,
    CommitCreated,
    Complexity,
    Envelope,
    Escalated,
    Event,
    Finished,
    Reported,
    Started,
    Status,
    Triaged,
    TurnEnded,
)
from agentic.core.outside.outside_events import (
    AnyOutsideEvent,
    CheckpointKept,
    CommitOffered,
    ConfidenceChanged,
    ExecutionAborted,
    ExecutionCompleted,
    ExecutionStarted,
    ModelEscalated,
    OfferedBranchMerged,
    OfferedBranchRejected,
    QuestionAsked,
    TaskType,
    TurnCompleted,
)

Stream = Literal["log", "outcome"]
"""The log of an execution, or what became of it after its end."""

TOLD = frozenset(
    {
        "triaged", "turn_ended", "escalated", "asked", "checkpoint_saved", "commit_created", "finished", "branch_merged",
        "branch_rejected",
    }
)  # fmt: skip
"""Kinds of events of which something may be told."""
FOLLOWED = TOLD | {"started", "reported", "workspace_restored"}
"""With those that an outline needs to know; all others say nothing to anybody outside."""
ABORTED = ("stopped", "cancelled")


@dataclass(frozen=True, slots=True)
class Outline:
    """What was told of an execution so far, and what later events need of it."""

    thread: str = ""
    parent: str = ""
    task_type: TaskType = "task"
    role: str = ""
    complexity: Complexity = "medium"
    attempt: int = 1
    copied: int = 0
    """Events up to this number are those of another log."""
    triaged: bool = False
    announced: bool = False
    """That it started was told."""
    turns: int = 0
    confidence: int | None = None
    status: Status = "progressing"


def follow(outline: Outline, envelope: Envelope, stream: Stream = "log") -> tuple[Outline, tuple[AnyOutsideEvent, ...]]:
    """The outline with one more event of a log, and what is told of it, in order."""
    event = envelope.event
    if event.kind not in FOLLOWED:
        return outline, ()
    after = _known(outline, event)
    if stream == "log" and envelope.seq <= after.copied:
        return after, ()
    told: list[AnyOutsideEvent] = []
    if stream == "log" and not after.announced and (after.triaged or event.kind in TOLD):
        told.append(_announced(after, _place(after, envelope, stream, 0)))
        after = replace(after, announced=True)
    if (one := _told(outline, event, _place(after, envelope, stream, len(told)))) is not None:
        told.append(one)
    if (change := _change(outline, event, _place(after, envelope, stream, len(told)))) is not None:
        told.append(change)
    return after, tuple(told)


class _Place(TypedDict):
    """What every event says."""

    key: str
    execution: str
    thread: str
    parent: str
    seq: int
    at: datetime


def _place(outline: Outline, envelope: Envelope, stream: Stream, part: int) -> _Place:
    """Where an event stands; ``part`` counts what is told of one event of a log."""
    key = f"{envelope.execution}/{'outcome/' if stream == 'outcome' else ''}{envelope.seq}{f'.{part}' if part else ''}"
    return _Place(
        key=key, execution=envelope.execution, thread=outline.thread, parent=outline.parent, seq=envelope.seq,
        at=envelope.at,
    )  # fmt: skip


def _announced(outline: Outline, place: _Place) -> ExecutionStarted:
    return ExecutionStarted(
        **place, task_type=outline.task_type, role=outline.role, complexity=outline.complexity, attempt=outline.attempt
    )


def _told(before: Outline, event: Event, place: _Place) -> AnyOutsideEvent | None:
    """What an event says by itself; None for nothing."""
    match event:
        case TurnEnded():
            return TurnCompleted(**place, turn=event.turn, confidence=event.confidence.shown, status=before.status)
        case Escalated():
            return ModelEscalated(
                **place, before=event.from_model, after=event.to_model, from_tier=event.from_tier,
                to_tier=event.to_tier, reason=event.rule,
            )  # fmt: skip
        case Asked():
            return QuestionAsked(
                **place, question=event.question, sort=event.sort, cap=event.what, expires=event.expires
            )
        case CheckpointSaved() if not event.problem:
            return CheckpointKept(**place, checkpoint=event.manifest, turn=event.turn, reason=event.why)
        case CommitCreated():
            return CommitOffered(
                **place, branch=event.branch, commit=event.commit, base=event.base, files=len(event.files),
                insertions=event.insertions, deletions=event.deletions,
            )  # fmt: skip
        case Finished():
            return _end(before, event, place)
        case BranchMerged():
            return OfferedBranchMerged(**place, branch=event.branch, commit=event.commit)
        case BranchRejected():
            return OfferedBranchRejected(**place, branch=event.branch, commit=event.commit)
        case _:
            return None


def _end(before: Outline, event: Finished, place: _Place) -> ExecutionCompleted | ExecutionAborted:
    if event.reason in ABORTED:
        return ExecutionAborted(**place, turns=before.turns, reason=event.reason)
    return ExecutionCompleted(**place, turns=before.turns, status=event.reason, confidence=event.confidence)


def _change(before: Outline, event: Event, place: _Place) -> ConfidenceChanged | None:
    """That the confidence differs from that of the turn before."""
    if not isinstance(event, TurnEnded) or before.confidence in (None, event.confidence.shown):
        return None
    return ConfidenceChanged(**place, turn=event.turn, before=before.confidence, after=event.confidence.shown)


def _known(outline: Outline, event: Event) -> Outline:
    """What is known with this event; the status is that of the turn at work, and so none after its end."""
    match event:
        case Started():
            kind: TaskType = "side_question" if event.side else "part" if event.child else "task"
            return Outline(
                event.thread, event.parent, kind, event.role, event.complexity, event.attempt,
                copied=event.forked_from[1] if event.forked_from is not None else 0,
            )  # fmt: skip
        case Triaged():
            kind = "talk" if event.talk and outline.task_type == "task" else outline.task_type
            return replace(
                outline, task_type=kind, role=event.role or outline.role, complexity=event.complexity, triaged=True
            )
        case Reported():
            return replace(outline, status=event.status)
        case TurnEnded():
            return replace(outline, turns=event.turn, confidence=event.confidence.shown, status="progressing")
        case _:
            return outline
