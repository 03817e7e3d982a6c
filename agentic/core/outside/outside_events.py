"""The events that leave Threadwright: numbers, names and ids, and no words of a person, a model or a file.

Receivers read them by ``docs/outside-events.schema.json``, which is made from these types.  Fields are only added.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AliasChoices, ConfigDict, Field, TypeAdapter

from agentic.core.events.values import Complexity, Frozen, Moment, Reason, Status

TaskType = Literal["task", "talk", "side_question", "part"]
"""Work; small talk, answered without tools; a question beside a task; a part of a task that a helper does."""

_FROM, _TO = AliasChoices("from", "before"), AliasChoices("to", "after")
"""`from` is a word of Python's."""


class OutsideEvent(Frozen):
    """What every event says: what it is about, where it stands, and the key by which a repeated one is told."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    key: str = Field(
        description="The same whenever this event is delivered again: drop an event whose key you have seen."
    )
    execution: str = Field(description="The execution: one task of a thread, from its start to its end.")
    thread: str = Field(description="The Discord thread.")
    parent: str = Field(
        description="The execution that this one does a part of or stands beside; empty for a task of a person."
    )
    seq: int = Field(
        description="Grows in the order in which things happened; two events may share it, and after the end it counts anew."
    )
    at: datetime = Field(description="When it happened, UTC.")
    version: Literal[1] = Field(default=1, description="Of this schema; fields may be added without a new one.")


class ExecutionStarted(OutsideEvent):
    """An execution began, and it is known what kind of task it is."""

    event: Literal["execution_started"] = "execution_started"
    task_type: TaskType
    role: str = Field(description="The role the agent took; empty where none fits.")
    complexity: Complexity
    attempt: int = Field(description="Which attempt at the same task it is, from 1.")


class TurnCompleted(OutsideEvent):
    """A turn ended: one answer of a model and the results of its tool calls."""

    event: Literal["turn_completed"] = "turn_completed"
    turn: int
    confidence: int = Field(ge=0, le=100, description="The confidence that people see.")
    status: Status = Field(description="What the agent reported in this turn; progressing where it reported nothing.")


class ConfidenceChanged(OutsideEvent):
    """The confidence differs from that after the turn before."""

    event: Literal["confidence_changed"] = "confidence_changed"
    turn: int
    before: int = Field(serialization_alias="from", validation_alias=_FROM, ge=0, le=100)
    after: int = Field(serialization_alias="to", validation_alias=_TO, ge=0, le=100)


class ModelEscalated(OutsideEvent):
    """Another tier of models took over: usually a stronger one, or a cheaper one for what remains."""

    event: Literal["model_escalated"] = "model_escalated"
    before: str = Field(
        serialization_alias="from", validation_alias=_FROM, description="The model until then; may be empty."
    )
    after: str = Field(
        serialization_alias="to", validation_alias=_TO, description="The model from then on; may be empty."
    )
    from_tier: int
    to_tier: int
    reason: str = Field(description="The rule that decided it, such as same_error; empty where none is known.")


class QuestionAsked(OutsideEvent):
    """A person has to answer before the execution continues; what is asked stands in the thread alone."""

    event: Literal["question_asked"] = "question_asked"
    question: str
    sort: Literal["question", "approval", "extension", "plan", "approaches"]
    cap: str = Field(description="Of an extension: turns, tokens, usd, minutes, day or account; else empty.")
    expires: datetime | None = Field(description="When it counts as denied; null where it waits for ever.")


class CheckpointKept(OutsideEvent):
    """The workspace was saved, last after the execution's end; a problem with saving is told in the thread alone."""

    event: Literal["checkpoint_saved"] = "checkpoint_saved"
    checkpoint: str
    turn: int
    reason: Moment


class CommitOffered(OutsideEvent):
    """The agent's work stands on a branch, and a person decides about it."""

    event: Literal["commit_created"] = "commit_created"
    branch: str
    commit: str
    base: str
    files: int
    insertions: int
    deletions: int


class ExecutionCompleted(OutsideEvent):
    """An execution came to its own end; each that started ends with this or with execution_aborted."""

    event: Literal["execution_completed"] = "execution_completed"
    turns: int
    status: Reason = Field(description="done, or why not: failed, stuck, limit, budget; tour, where no model was set.")
    confidence: int = Field(ge=0, le=100)


class ExecutionAborted(OutsideEvent):
    """A person stopped an execution, or it was cancelled."""

    event: Literal["execution_aborted"] = "execution_aborted"
    turns: int
    reason: Reason


class OfferedBranchMerged(OutsideEvent):
    """A person merged the branch that was offered; may come long after the execution's end."""

    event: Literal["branch_merged"] = "branch_merged"
    branch: str
    commit: str


class OfferedBranchRejected(OutsideEvent):
    """A person had the branch deleted that was offered; may come long after the execution's end."""

    event: Literal["branch_rejected"] = "branch_rejected"
    branch: str
    commit: str


AnyOutsideEvent = Annotated[
    ExecutionStarted | TurnCompleted | ConfidenceChanged | ModelEscalated | QuestionAsked | CheckpointKept
    | CommitOffered | ExecutionCompleted | ExecutionAborted | OfferedBranchMerged | OfferedBranchRejected,
    Field(discriminator="event"),
]  # fmt: skip

OUTSIDE_EVENT: TypeAdapter[AnyOutsideEvent] = TypeAdapter(AnyOutsideEvent)
"""Reads and writes one event as JSON, by the names of the schema."""


def as_json(event: AnyOutsideEvent) -> bytes:
    """One event as a line of JSON, without its end."""
    return OUTSIDE_EVENT.dump_json(event, by_alias=True)
