"""What happens while an execution works: requests and answers, calls and results, what the agent keeps.

Part of the union in events.py, from where they are imported.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from agentic.core.events.values import (
    UNEXPOSED,
    Act,
    Attempt,
    BlobRef,
    Block,
    CallBlock,
    Confidence,
    Departure,
    Effect,
    Expected,
    Exposure,
    FailureClass,
    FileChange,
    FileRef,
    Finding,
    Frozen,
    Level,
    Moment,
    Outcome,
    Person,
    Purpose,
    Segments,
    StaleFile,
    Status,
    StopReason,
    Todo,
    Usage,
)

__all__ = [
    "AllowanceUsed", "AllowancesEnded", "Barred", "BranchMerged", "BranchRejected", "BudgetRefused", "BudgetReserved",
    "BudgetSettled", "CancelRequested", "CheckpointSaved", "CommitCreated", "Compacted", "Gated", "ModelAnswered",
    "ModelFailed", "ModelRequested", "Noted", "Perceived", "PlanEntered", "PlanExited", "PullRequestOpened",
    "Reported", "StrongerWanted", "SubagentFinished", "SubagentStarted", "TodoChanged", "ToolFinished", "ToolStarted",
    "TurnEnded", "WakeRequested", "Watched", "Whose", "WorkspaceFound", "WorkspaceRestored",
]  # fmt: skip

Barred = Literal["", "outside", "hidden", "rules"]
"""A place is kept from the agent: it is outside of the workspace, hidden by .aiignore, or holds rules that only people
change; '' where no rule is concerned."""
Whose = Literal["person", "guild", "bot"]
"""Whose cap it is that many executions share."""


class Perceived(Frozen):
    kind: Literal["perceived"] = "perceived"
    stale: tuple[StaleFile, ...] = ()
    changes: tuple[str, ...] = ()
    environment: str = ""
    exposure: Exposure = UNEXPOSED
    """What it is exposed to since it was looked last."""


class ModelRequested(Frozen):
    kind: Literal["model_requested"] = "model_requested"
    request: str
    turn: int
    purpose: Purpose = "turn"
    attempt: int = 1
    tier: int
    model: str
    segments: Segments | None = None
    reserved_usd: float = 0.0
    deadline: datetime | None = None


class ModelAnswered(Frozen):
    kind: Literal["model_answered"] = "model_answered"
    request: str
    blocks: tuple[Block, ...]
    stop: StopReason = "end"
    usage: Usage = Usage()
    usd: float = 0.0
    served_by: str = ""
    estimated: bool = False
    """The provider did not say what was used, or what it said cannot be; usage and price are our own count."""

    @property
    def calls(self) -> list[CallBlock]:
        """Its calls, in order, as they are meant."""
        return [block.meant for block in self.blocks if isinstance(block, CallBlock)]


class ModelFailed(Frozen):
    kind: Literal["model_failed"] = "model_failed"
    request: str
    failure: FailureClass
    message: str = ""
    retry_after: float | None = None
    begun: bool = False
    """Part of an answer had come: the provider bills it."""
    usage: Usage = Usage()
    """What the provider had said until then, with our own count of what it wrote."""
    usd: float | None = None
    """The price of that; None where the provider had said nothing."""


class Watched(Frozen):
    """What a watcher said of what it was shown, or why it said nothing.

    The request and its answer stand before it, as ``ModelRequested`` and ``ModelAnswered``; this is how a rule read it.
    """

    kind: Literal["watched"] = "watched"
    watcher: str
    turn: int
    calls: tuple[str, ...] = ()
    """Calls that it was shown, before they began."""
    text: str = ""
    """Its words; '' where it found nothing wrong."""
    held: tuple[str, ...] = ()
    """Those of the calls that a person must approve now."""
    problem: str = ""
    """Why there is no answer that can be used."""


class AllowanceUsed(Frozen):
    """A gated call may run without a question: somebody allowed all that was found in it for the whole task."""

    kind: Literal["allowance_used"] = "allowance_used"
    call: str
    question: str
    """The question at which it was allowed."""
    by: Person
    acts: tuple[Act, ...]
    """What the call would do, and nothing that it would not."""


class ToolStarted(Frozen):
    """The intent: durable before the effect begins."""

    kind: Literal["tool_started"] = "tool_started"
    call: str
    provider_id: str
    tool: str
    effect: Effect
    arguments: dict[str, JsonValue]
    args_sha: str
    version: int = 1
    batch: str = ""
    key: str = ""
    approval: str = ""
    expectation: str = ""
    deadline: datetime | None = None
    diary: str = ""
    """Where its sandbox writes down that it began and what it came to; '' for nowhere."""
    allowed: AllowanceUsed | None = None
    """It begins without an approval of its own, and what it destroys beside this is put back."""


class ToolFinished(Frozen):
    """The one result of a call, also of one that never started (refused, cancelled)."""

    kind: Literal["tool_finished"] = "tool_finished"
    call: str
    outcome: Outcome
    preview: str
    output: BlobRef | None = None
    output_ref: str = ""
    """Where ``read_output`` finds the whole of an output that was cut."""
    exit_code: int | None = None
    signal: int | None = None
    changes: tuple[FileChange, ...] = ()
    tests_passed: int | None = None
    tests_failed: int | None = None
    tests_skipped: int | None = None
    expected: Expected = ""
    """Whether it came as the model expected, as far as exit code, tests and words it quoted tell."""
    attempts: tuple[Attempt, ...] = ()
    """The command and its fallback, where that ran too."""
    job: str = ""
    """The name under which a command goes on in the background."""
    seconds: float = 0.0
    error: str = ""
    """The normalised error text: two calls failed alike when tool and this are equal."""
    barred: Barred = ""
    """Why it was kept off the place that it was after."""
    place: str = ""
    """That place, as seen from the workspace."""
    refused_hosts: tuple[str, ...] = ()
    """Hosts that commands were not let reach, until it ended."""
    opened_hosts: tuple[str, ...] = ()
    """What commands may reach besides, from then to the end of the task."""
    files: tuple[FileRef, ...] = ()
    """Files that it brought into the workspace; the pictures among them are shown to the model."""
    exposure: Exposure = UNEXPOSED
    """What it exposed the execution to beyond what its tool is declared as: a host that was reached, one that it opened."""
    conflicts: tuple[StaleFile, ...] = ()
    """Files that it, or a child, would have changed and that somebody else had changed before; nothing was written to them."""


class CancelRequested(Frozen):
    kind: Literal["cancel_requested"] = "cancel_requested"
    refs: tuple[str, ...]
    reason: str = ""
    restoring: int | None = None
    """The calls have ended, and so many files that they destroyed are still restored; 0 while that is found out."""


class TurnEnded(Frozen):
    kind: Literal["turn_ended"] = "turn_ended"
    turn: int
    confidence: Confidence


class Compacted(Frozen):
    """The history became a summary: its first ``head`` messages, the summary, its last ``kept`` messages."""

    kind: Literal["compacted"] = "compacted"
    through_seq: int
    summary: str
    kept: int = 0
    head: int = 0
    why: Literal["", "length", "each turn", "window", "overflow"] = ""
    remembered: str = ""
    """The part of the summary that a model wrote; what a later summary is without one of its own."""
    notes: int = 0
    """So many of the agent's notes stand in the summary, the oldest ones."""
    longest: int = 0
    """Characters that each result in what was kept may have from here on; 0 for all of them."""
    opening: int = 0
    """Characters of the first message with which the summary begins, because it was too long to stay."""


class Noted(Frozen):
    kind: Literal["noted"] = "noted"
    text: str


class Reported(Frozen):
    """Where the model says it is: by the tool ``report`` or by a line in its text."""

    kind: Literal["reported"] = "reported"
    status: Status
    confidence: int
    note: str = ""


class StrongerWanted(Frozen):
    """The model asks for a stronger one itself."""

    kind: Literal["stronger_wanted"] = "stronger_wanted"
    reason: str


class WakeRequested(Frozen):
    """The agent will be woken in its thread, in a task of its own, unless a person is quicker."""

    kind: Literal["wake_requested"] = "wake_requested"
    wake: str
    at: datetime
    why: str


class TodoChanged(Frozen):
    kind: Literal["todo_changed"] = "todo_changed"
    items: tuple[Todo, ...]


class PlanEntered(Frozen):
    """Nothing is changed from here on, until a person has agreed to a plan."""

    kind: Literal["plan_entered"] = "plan_entered"


class PlanExited(Frozen):
    """A person has agreed to the plan: it is carried out."""

    kind: Literal["plan_exited"] = "plan_exited"
    plan: str = ""


class CheckpointSaved(Frozen):
    """The workspace as it was after ``through_seq``; ``problem`` says why it could not be saved."""

    kind: Literal["checkpoint_saved"] = "checkpoint_saved"
    manifest: str
    through_seq: int
    problem: str = ""
    turn: int = 0
    """The turn in which, or after which, it was taken."""
    why: Moment = "first_change"
    not_kept: tuple[str, ...] = ()
    """What stood or ran beside the workspace then and is in no checkpoint, in words: an interpreter, servers, /tmp."""


class WorkspaceFound(Frozen):
    """What a new owner found in the workspace that no result of a call speaks of; ``problem``: why it could not look.

    ``never_begun``: calls that have an intent and that the sandbox never heard of; they can begin.
    """

    kind: Literal["workspace_found"] = "workspace_found"
    changes: tuple[FileChange, ...] = ()
    problem: str = ""
    never_begun: tuple[str, ...] = ()


class WorkspaceRestored(Frozen):
    """Files of the workspace were put back; ``lost`` says what could not be, or was left as it is.

    In a log it is where an execution goes on that was copied up to there; whatever had ended or held it is over.
    """

    kind: Literal["workspace_restored"] = "workspace_restored"
    manifest: str
    lost: str = ""
    files: tuple[str, ...] = ()
    """What was put back, removed files too; sorted since removed ones are told apart."""
    removed: tuple[str, ...] = ()
    """Those that are not in the state to which was put back, so that they are gone."""
    by: Person | None = None
    kept: str = ""
    """A checkpoint of the state before it was done."""
    after: str = ""
    """A checkpoint of the state after it."""
    way: Literal["undo", "redo", "rewind", "clean"] = "undo"
    """An execution was undone, its undo was, it is gone on with from an earlier position, or all files were deleted."""
    turn: int = 0
    """The turn that the workspace is as of; 0 before the first, or where it is no position of a log."""


class Gated(Frozen):
    """A call that needs a person's approval; nothing of it has begun, or what it did is put back.

    An approval counts for these arguments (``args_sha``) and this state of the world (``state_sha``) only.
    """

    kind: Literal["gated"] = "gated"
    call: str
    args_sha: str
    reason: str
    who_may: Level = "operator"
    state_sha: str = ""
    put_back: bool = False
    """It had run, and ``reason`` says what it did to the workspace; all that stood there before stands there again."""
    left: str = ""
    """What of that could not be put back, in words."""
    changes: tuple[FileChange, ...] = ()
    """What it left there besides."""
    hosts: tuple[str, ...] = ()
    """What commands could reach then."""
    exposure: Exposure = UNEXPOSED
    """Where it had run: what it exposed the execution to."""
    shown: str = ""
    """A difference that whoever decides has to see."""
    publishes: bool = False
    """It would publish, and has not: nothing was done, and nothing has left this machine."""
    leaving: Departure | None = None
    """The rule of two asks; besides a reason of the call's own, or alone."""
    objection: str = ""
    """A watcher objects, as the end of "It …"; besides the others, or alone."""
    findings: tuple[Finding, ...] = ()
    """Each thing for which a command of the call needs approval, where that is all that it is held for."""
    losses: tuple[str, ...] = ()
    """Where it had run: each thing that it destroyed, as a short hash with its content; a yes lets no other be destroyed."""
    unkept: bool = False
    """It has not run: the workspace cannot be kept as it is, so that nothing it destroys could be put back."""

    @property
    def ran(self) -> bool:
        """It had run, and what it did is put back."""
        return self.put_back and not (self.publishes or self.unkept)


class AllowancesEnded(Frozen):
    """What somebody allowed for the whole task counts no more, from the next call on."""

    kind: Literal["allowances_ended"] = "allowances_ended"
    person: str
    why: str


class CommitCreated(Frozen):
    """The agent's work stands on a branch of its own, offered to be merged into ``base``."""

    kind: Literal["commit_created"] = "commit_created"
    offer: str
    branch: str
    commit: str
    base: str
    base_commit: str = ""
    message: str = ""
    files: tuple[str, ...] = ()
    insertions: int = 0
    deletions: int = 0
    diffstat: str = ""
    repository: str = ""
    """Its folder in the workspace, '' for the root."""
    diff: BlobRef | None = None
    """The whole difference to the base; stored with the result of the call."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files as seen from the workspace, where they are again as they are on the base."""
        return tuple(f"{self.repository}/{file}" if self.repository else file for file in self.files)


class PullRequestOpened(Frozen):
    """The agent's commits stand at a host, on a branch with a pull request; also where that was open already."""

    kind: Literal["pull_request_opened"] = "pull_request_opened"
    host: str
    repository: str
    """``owner/name``."""
    number: int
    url: str
    title: str
    branch: str
    base: str
    commit: str
    draft: bool = False
    commits: int = 0
    files: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A name that no other pull request has."""
        return f"{self.host}/{self.repository}/{self.number}"


class BranchMerged(Frozen):
    kind: Literal["branch_merged"] = "branch_merged"
    offer: str
    branch: str
    commit: str
    by: Person


class BranchRejected(Frozen):
    kind: Literal["branch_rejected"] = "branch_rejected"
    offer: str
    branch: str
    commit: str
    by: Person


class SubagentStarted(Frozen):
    """Of logs of version 0.1.0: the intent of the call says which children it has, and ``SubagentFinished`` the rest."""

    kind: Literal["subagent_started"] = "subagent_started"
    child: str
    call: str = ""
    grant_usd: float = 0.0


class SubagentFinished(Frozen):
    """What a child came to, noted with the result of the call that had it; what it spent, its parent has spent."""

    kind: Literal["subagent_finished"] = "subagent_finished"
    child: str
    spent_usd: float = 0.0
    result: str = ""
    """How it ended: the reason of its own end."""
    grant_usd: float = 0.0
    spent_tokens: int = 0
    turns: int = 0
    models: dict[str, float] = Field(default_factory=dict)
    """US dollars by the model that was asked."""


class BudgetReserved(Frozen):
    kind: Literal["budget_reserved"] = "budget_reserved"
    scope: str
    usd: float


class BudgetSettled(Frozen):
    kind: Literal["budget_settled"] = "budget_settled"
    scope: str
    usd: float


class BudgetRefused(Frozen):
    """A model request was not made: its reservation did not fit into a cap that executions share.

    ``spent_usd`` was settled or set aside by then, ``needed_usd`` is what the request could have cost.
    """

    kind: Literal["budget_refused"] = "budget_refused"
    whose: Whose
    day: str
    cap_usd: float
    spent_usd: float
    needed_usd: float
