"""The only persisted truth: what happened in an execution, as frozen events in one union.

A stream of events is an execution.  Everything else (the state the rules read, what people see, what an
evaluator scores) is derived from it.  Three habits keep old logs loadable: fields are only added, with defaults;
unknown fields are ignored; anything large is a ``BlobRef``.  ``ToolStarted`` is the intent of an effect and
``ToolFinished`` its result; there is no second journal.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from agentic.core.events.calibrator import Calibrator
from agentic.core.events.turn_events import *
from agentic.core.events.values import *

SCHEMA = 1
"""Version of the shapes below, written into every envelope."""


class Started(Frozen):
    kind: Literal["started"] = "started"
    thread: str
    task: str
    requester: Person
    root: str = ""
    parent: str = ""
    forked_from: tuple[str, int] | None = None
    trial_of: str = ""
    """The first attempt at the task that this is a further one at."""
    attempt: int = 1
    """Which attempt at its task it is."""
    role: str = ""
    complexity: Complexity = "medium"
    policy: Policy = Policy()
    tools: tuple[ToolRef, ...] = ()
    files: tuple[FileRef, ...] = ()
    earlier: tuple[EarlierResult, ...] = ()
    quoted: tuple[QuotedMessage, ...] = ()
    lessons: tuple[ChosenLesson, ...] = ()
    withheld: tuple[WithheldLesson, ...] = ()
    """Lessons that fitted as well and are not shown; what becomes of such executions says what a lesson does."""
    workspace: str = ""
    """Of a child: the snapshot that a workspace of its own began with; '' where it works in its parent's."""
    sandbox: str = ""
    inbox: str = ""
    """The inbox item that caused this execution: the message's id."""
    side: bool = False
    """A side question about ``parent``: answered beside it, without tools, without a progress message."""
    rules: int = 0
    """Version of the rules that decide from here on (decide.py); 0 before versions were recorded."""
    environment: tuple[str, ...] = ()
    """Date, platform, shell, network and what is installed, a line each, for the prompt."""
    calibrator: Calibrator | None = None
    instructions: str = ""
    """Text of whoever runs the bot, for every system prompt."""
    untitled: bool = False
    """The thread is still named by the words of its first task, so a model is asked for a title."""
    exposure: Exposure = UNEXPOSED
    """What it is exposed to from the beginning: what earlier tasks of its thread have read and left in the workspace, its
    repository, what its tools can show, the hosts beyond the package indexes that its commands reach."""
    ping: str = ""
    """Who is called with questions and the answer: '' for who asked, 'nobody', or the mention of a person or a role."""
    planning: bool = False
    """The person wants to agree to a plan before anything is changed."""
    opened_hosts: tuple[str, ...] = ()
    """What people have let commands reach before it began: of the execution that it is a child of."""
    approaches: int = 0
    """So many approaches are to be tried side by side before anything is changed; 0 for one as usual."""
    own_roles: tuple[RoleTemplate, ...] = ()
    """The roles of people's own that there were when it began: whatever their files say later, these count."""
    rule_files: tuple[RuleFile, ...] = ()
    """The rules of its place, in their order."""
    guides: tuple[WorkspaceGuide, ...] = ()
    """What the workspace's authors wrote for agents: data."""
    child: bool = False
    """It does a part of the work of ``parent``, which waits for it; unseen but for what its parent shows."""
    watchers: tuple[Watcher, ...] = ()
    """Who is shown parts of its work, in the order in which they are asked."""
    skills: tuple[EquippedSkill, ...] = ()
    """What it may read with the tool ``skill``, by name; whatever becomes of the folders, it keeps these copies."""


class OwnerChanged(Frozen):
    kind: Literal["owner_changed"] = "owner_changed"
    worker: str
    reason: str = ""
    lost: tuple[str, ...] = ()
    """What went with the earlier owner, in words: an interpreter's variables, commands in the background, /tmp."""


class HandedOver(Frozen):
    """Its owner ended in order in the middle of it; whoever takes it up next succeeds no crash."""

    kind: Literal["handed_over"] = "handed_over"
    worker: str = ""


class RulesChanged(Frozen):
    """Whoever goes on decides by another version of the rules than the log has so far."""

    kind: Literal["rules_changed"] = "rules_changed"
    rules: int


class Quarantined(Frozen):
    kind: Literal["quarantined"] = "quarantined"
    worker: str = ""
    reason: str = ""


class InputReceived(Frozen):
    kind: Literal["input_received"] = "input_received"
    inbox: str
    sort: Sort
    author: Person
    message: str = ""
    edit_version: str = ""
    text: str = ""
    files: tuple[FileRef, ...] = ()
    quoted: tuple[QuotedMessage, ...] = ()
    """What it replies to or passes on: data, never an order."""
    target: str = ""
    """What it is about: a question's id, or '<execution>/result' or '<execution>/turn:3'.  A vote stands in ``text``."""
    exposure: Exposure = UNEXPOSED
    """What its words expose the execution to, beyond who wrote them."""


class PolicyChanged(Frozen):
    kind: Literal["policy_changed"] = "policy_changed"
    by: str
    add_turns: int = 0
    add_tokens: int = 0
    add_usd: float = 0.0
    add_minutes: float = 0.0
    add_day_usd: float = 0.0
    """Added to a cap that executions share, for one ``day`` (UTC) and everybody whom it caps."""
    whose: Whose | None = None
    day: str = ""
    question: str = ""
    """The question that this answers; a raise of a day counts once for it, whatever log it is copied into."""


class Triaged(Frozen):
    kind: Literal["triaged"] = "triaged"
    talk: bool
    role: str = ""
    complexity: Complexity = "medium"
    by: Literal["rule", "model"] = "rule"
    changes_files: bool = False
    """The task is of the kind that changes files: that none changes for long is a sign of being stuck."""
    asks_change: bool = False
    """It plainly asks that something is changed: an answer alone cannot be what was meant, as it can of “write a poem”."""
    asks_for: tuple[str, ...] = ()
    """What is plainly asked for by name: ``pull request``, ``branch fix-1``, ``file notes.md``; () in older logs."""
    why: str = ""
    role_text: str = ""
    """What the model is told of its role; '' where it has none, and in logs from before roles were told."""
    role_may: tuple[Permission, ...] = ()
    """What the tools of its role may do; () for everything."""
    role_tier: int = 0
    """The tier that its role prefers to begin in, 0 for the usual one."""
    role_tools: tuple[str, ...] = ()
    """Tools that its role has besides, by name; with ``role_may`` empty, the only ones."""
    role_refuses: tuple[str, ...] = ()
    """Tools that its role does not have."""
    role_levels: tuple[int, ...] = ()
    """The tiers that its role may work in, () for all."""
    role_rules: tuple[str, ...] = ()
    """Rule files that its role names."""
    not_by: tuple[str, ...] = ()
    """Models whose work is to be looked at: another one does that, where there is one."""


class Asked(Frozen):
    kind: Literal["asked"] = "asked"
    question: str
    sort: Literal["question", "approval", "extension", "plan", "approaches"] = "question"
    text: str = ""
    options: tuple[Option, ...] = ()
    parts: tuple[Part, ...] = ()
    """Several questions in one; then ``text`` introduces them and ``options`` is empty."""
    what: Literal["", "turns", "tokens", "usd", "minutes", "day", "account"] = ""
    """The cap that an extension would raise; ``account``: a provider's account has to be put in order."""
    call: str = ""
    args_sha: str = ""
    who_may: Level = "executor"
    expires: datetime | None = None
    resume: str = ""
    """What the call needs to go on with the answer: it begins again with both; '' where the answer is its result."""
    attached: BlobRef | None = None
    """A file that is shown with it."""
    allows: tuple[Act, ...] = ()
    """What whoever may can allow for the whole task, beside this one call; nothing where that is not offered."""


class Decided(Frozen):
    kind: Literal["decided"] = "decided"
    question: str
    by: Person
    choice: str
    text: str = ""
    answers: dict[str, str] = Field(default_factory=dict)
    """Answers to the parts of a question, by the part's id."""


class DeadlinePassed(Frozen):
    """The only way that time enters the core."""

    kind: Literal["deadline_passed"] = "deadline_passed"
    ref: str


class Intervened(Frozen):
    kind: Literal["intervened"] = "intervened"
    rule: str
    text: str


class Escalated(Frozen):
    """The tier changed: up where something called for a stronger model, down for easy steps that remain.

    What it was decided on stays with it, so that what it cost or saved can be estimated later.
    """

    kind: Literal["escalated"] = "escalated"
    from_tier: int
    to_tier: int
    trigger: str
    """Why, in words for people."""
    rule: str = ""
    """Which trigger it was."""
    from_model: str = ""
    to_model: str = ""
    turn: int = 0
    confidence: int | None = None
    """The heuristic at that time."""
    usd: float = 0.0
    """Spent until then, as are the ``tokens``."""
    tokens: int = 0
    counted: dict[str, int] = Field(default_factory=dict)
    """What the triggers had counted since the last change."""


class Finished(Frozen):
    kind: Literal["finished"] = "finished"
    reason: Reason
    answer: str
    claims: tuple[Claim, ...] = ()
    files: tuple[str, ...] = ()
    """Files of the workspace to show with the answer."""
    confidence: int = 0
    last_words: bool = False
    """``answer`` is what the model itself said last of a task that is not done: it is quoted as that."""
    unchanged: bool = False
    """It says that it is done, a change was asked for, and nothing ran that may have made one."""


# After ``Finished``: the outcome stream of the same execution.


class FeedbackGiven(Frozen):
    kind: Literal["feedback_given"] = "feedback_given"
    by: Person
    vote: Literal["up", "down", "none"]
    target: str = ""
    why: str = ""
    """What was wrong, in the words of whoever voted: a correction."""


class RubricItem(Frozen):
    """One yes/no question of the judge's, with what it cites of the transcript for its answer."""

    question: str
    yes: bool
    evidence: str = ""


class Judged(Frozen):
    """What a judge of another model family thinks of the trajectory: the median of several readings, or why there is none."""

    kind: Literal["judged"] = "judged"
    requests: tuple[str, ...] = ()
    model: str = ""
    shares: tuple[float, ...] = ()
    """Share of rubric items answered yes, 0-1, by reading."""
    share: float | None = None
    """Their median; None where no reading could be used, and ``problem`` says why."""
    items: tuple[RubricItem, ...] = ()
    """Of the median reading."""
    problem: str = ""


class Evaluated(Frozen):
    """The score 0-100 with the parts it was made of."""

    kind: Literal["evaluated"] = "evaluated"
    score: int
    parts: dict[str, float]
    caps: tuple[str, ...] = ()
    verifier: Literal["pass", "fail", "none"] = "none"
    check: str = ""
    """The check whose last run the verifier's verdict is; '' where there was none."""
    judge_weight: float = 0.0
    """λ, 0-1: how far judge and labels agreed until then; 0 until enough executions are labelled."""
    flags: tuple[str, ...] = ()
    """What a reader should know of the score: that a judge was to be asked and could not be, say."""


class Reflected(Frozen):
    kind: Literal["reflected"] = "reflected"
    reflection: str
    """Id of the stored reflection; '' where the model's text could not be used, and ``problem`` says why."""
    problem: str = ""
    worked: bool = False
    """It is on what worked in a task that ended well, and not on a failure."""


class TrialDecided(Frozen):
    """Whether the task of an execution that ended is tried again; ``attempt`` is the number of the one that would follow."""

    kind: Literal["trial_decided"] = "trial_decided"
    way: Literal["again", "offer", "leave"]
    attempt: int = 0
    why: str = ""


Event = Annotated[
    Started | OwnerChanged | HandedOver | WorkspaceFound | RulesChanged | Quarantined | InputReceived | PolicyChanged
    | Triaged | Perceived | ModelRequested
    | ModelAnswered | ModelFailed | ToolStarted | ToolFinished | CancelRequested | TurnEnded | Asked | Decided
    | DeadlinePassed | Intervened | Escalated | Compacted | Noted | Reported | StrongerWanted | TodoChanged
    | WakeRequested | Watched | PlanEntered | PlanExited | CheckpointSaved | WorkspaceRestored | Gated | AllowanceUsed
    | AllowancesEnded | CommitCreated
    | PullRequestOpened | BranchMerged | BranchRejected
    | SubagentStarted | SubagentFinished | BudgetReserved | BudgetSettled | BudgetRefused | Finished
    | FeedbackGiven | Judged | Evaluated | Reflected | TrialDecided,
    Field(discriminator="kind"),
]  # fmt: skip

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""Reads and writes one event as JSON."""


class Envelope(Frozen):
    """An event in its place: which log, where in it, when, under which fence, written by which build."""

    execution: str
    seq: int
    at: datetime
    fence: int
    event: Event
    cause: str = ""
    build: str = ""
    schema_version: int = SCHEMA


OutboxSort = Literal[
    "answer",
    "question",
    "notice",
    "receipt",
    "thread",
    "progress",
    "offer",
    "fork",
    "lesson",
    "regret",
    "title",
    "pull",
]


class OutboxItem(Frozen):
    """A visible effect to be delivered once, durable with the events that caused it.

    Neutral: bot/ renders it at delivery.  ``key`` is unique in the store and made from (execution, seq, part);
    ``generation`` counts deliberate re-sends.  ``target`` names a message or channel where it is not the thread itself.
    """

    key: str
    thread: str
    execution: str
    sort: OutboxSort
    text: str = ""
    files: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    parts: tuple[Part, ...] = ()
    asked: Literal["", "question", "approval", "extension", "plan", "approaches"] = ""
    """What sort of question it is."""
    attached: BlobRef | None = None
    """A file that is shown with a question."""
    expires: datetime | None = None
    question: str = ""
    """The question's id, or an offer's, or a lesson's."""
    redo: str = ""
    """The execution whose undo it tells of, and which can be taken back."""
    again: str = ""
    """The execution whose task its button 🔄 runs again."""
    attempt: str = ""
    """Which attempt that would be: '2 of 3'."""
    redo_label: str = ""
    """The words of that button, where they are not the usual ones."""
    target: str = ""
    generation: int = 0
    notify: bool = False
    sign: bool = False
    """A sign on ``target``, a person's message, says as much as the text."""


class InboxItem(Frozen):
    """Something a person did, waiting to be taken into an execution; ``id`` is the Discord snowflake and unique."""

    id: str
    thread: str
    sort: Sort
    author: Person
    at: datetime
    text: str = ""
    message: str = ""
    files: tuple[FileRef, ...] = ()
    quoted: tuple[QuotedMessage, ...] = ()
    """What it replies to or passes on: data, never an order."""
    target: str = ""
    channel: str = ""
    """Where it was said, when that is not the thread: the channel of a task that has no thread yet."""
    gate: str = ""
    """A command that must end with 0 in the thread's sandbox before it begins anything; '' for none."""
    ping: str = ""
    """As in ``Started``."""
    unspoken: bool = False
    """``text`` was made by the bot or an agent, not written by ``author``: it chooses nothing on their behalf."""
