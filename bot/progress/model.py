"""The read model of a running execution: its steps, its files, its usage; no I/O.

The progress message and the footer under the final answer are made from a ``Progress``; only ``take`` changes it, and
``bot/progress/text.py`` puts it into words. It is changed in place because every event of every execution passes here:
making a new value of this size for each costs more than the rest of the sink.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from agentic.core.claims import confidence
from agentic.core.claims.completion import first_objection
from agentic.core.events.execution_events import (
    Act,
    AllowancesEnded,
    AllowanceUsed,
    Asked,
    CheckpointSaved,
    ChosenLesson,
    CommitCreated,
    Confidence,
    Decided,
    Envelope,
    Escalated,
    Event,
    FileChange,
    FileRef,
    Finished,
    Gated,
    HandedOver,
    InputReceived,
    Intervened,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    OwnerChanged,
    Quarantined,
    Started,
    TextBlock,
    Todo,
    TodoChanged,
    ToolFinished,
    ToolStarted,
    Triaged,
    TurnEnded,
    WakeRequested,
    Watched,
    WithheldLesson,
    WorkspaceFound,
    WorkspaceRestored,
)
from agentic.core.events.ids import call_id
from agentic.core.events.values import FailureClass, Level
from agentic.core.fold.fold import EVIDENCE
from agentic.core.fold.people import FOR_TASK, pause_holder
from agentic.core.state.execution import Allowance
from bot.equipment.watcher_text import said
from bot.progress.cap_usage import Limits
from bot.rendering.discord_text import Steering

LOOKED_THROUGH = 4_000
"""Characters of a long text that are examined; far fewer are shown."""
_SUBJECTS = ("command", "path", "pattern", "code", "url", "query", "text", "question", "fact", "name")


@dataclass(frozen=True, slots=True)
class ProgressStep:
    """A tool call: what it does, on what, and its result ('' while it runs)."""

    call: str
    tool: str
    subject: str
    outcome: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    began: datetime | None = None
    expected: str = ""
    """The result that the agent expected."""
    came: str = ""
    """The last line of its output; of a refused call why it was refused."""
    allowed_by: str = ""
    """Who allowed it for the whole task, where nobody was asked about this call."""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something between the calls that only the detailed view shows."""

    text: str


@dataclass(frozen=True, slots=True)
class Changed:
    """The overall change of one file: ``before`` and ``after`` are hashes, '' where it did not exist."""

    path: str
    before: str
    after: str

    @property
    def kind(self) -> Literal["added", "modified", "deleted"]:
        """The kind of the change."""
        return "added" if not self.before else "modified" if self.after else "deleted"


def subject(arguments: dict[str, JsonValue]) -> str:
    """Return what a call is about: the first of its arguments that says it."""
    for name in _SUBJECTS:
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return value[:LOOKED_THROUGH]
    parts, ways = arguments.get("tasks"), arguments.get("ways")
    if isinstance(ways, list):
        return f"{len(ways)} approaches"
    return f"{len(parts)} helper{'s' if len(parts) != 1 else ''}" if isinstance(parts, list) else ""


def last(preview: str) -> str:
    """Return the last line that is not empty."""
    lines = preview[-LOOKED_THROUGH:].split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def reason(preview: str) -> str:
    """Return the first sentence; what follows tells the model what to do instead."""
    line = next((line for line in preview[:LOOKED_THROUGH].split("\n") if line.strip()), "").strip()
    sentence, dot, _ = line.partition(". ")
    return f"{sentence}{dot.rstrip()}"


def before(change: FileChange) -> str:
    """Return the hash before, or a placeholder where it is unknown: only an added file did not exist before."""
    return "" if change.kind == "added" else change.sha_before or "?"


def after(change: FileChange) -> str:
    """Return the hash after, or a placeholder where it is unknown: only a deleted file does not exist after."""
    return "" if change.kind == "deleted" else change.sha_after or "??"


UpdateKind = Literal[
    "turn_start", "turn_complete", "tool_execution", "checkpoint", "escalation", "clarification_request"
]  # fmt: skip
STEPS_KEPT = 40
FILES_KEPT = 200
_UPDATES: dict[str, UpdateKind] = {
    "model_requested": "turn_start",
    "model_answered": "turn_start",  # it thinks no more: what was to be paused then is
    "turn_ended": "turn_complete",
    "finished": "turn_complete",
    "tool_started": "tool_execution",
    "tool_finished": "tool_execution",
    "todo_changed": "tool_execution",
    "watched": "tool_execution",
    "checkpoint_saved": "checkpoint",
    "escalated": "escalation",
    "intervened": "escalation",
    "model_failed": "escalation",
    "asked": "clarification_request",
    "decided": "clarification_request",
    "allowance_used": "clarification_request",
    "allowances_ended": "clarification_request",
    "quarantined": "clarification_request",
}
MACHINE = "0"
"""The id in a pause by the bot itself, where a thread is locked or the bot may not write there."""


def _as_it_is(text: str) -> str:
    return text


@dataclass(slots=True)
class Progress:
    """What is shown of one execution."""

    execution: str
    hide: Callable[[str], str] = field(default=_as_it_is, compare=False, repr=False)
    """Removes secrets from texts before they are shortened and kept here."""
    thread: str = ""
    requester: str = ""
    """The id of the person who asked for it."""
    level: Level = "executor"
    """What the requester may do."""
    wake: WakeRequested | None = None
    """When and why the agent goes on by itself."""
    called: str = ""
    """Who is called in their place, see ``Started.ping``."""
    seq: int = 0
    """The last event that was taken."""
    started: datetime | None = None
    """When it began, or went on from an earlier position of its log."""
    latest: datetime | None = None
    role: str = ""
    sandbox: str = ""
    turn: int = 0
    tier: int = 0
    model: str = ""
    thinking: bool = False
    account: dict[str, ProgressStep | Remark] = field(default_factory=dict[str, "ProgressStep | Remark"])
    """The latest calls, by id, and the remarks between them."""
    todo: tuple[Todo, ...] = ()
    said: str = ""
    """The model's last text."""
    note: str = ""
    watched: str = ""
    """What a watcher said last."""
    unanswered: FailureClass | Literal[""] = ""
    """How the last request to a model failed, while it is asked again."""
    skipped: tuple[FileRef, ...] = ()
    """Attachments that were not accepted, each with the reason."""
    asked: str = ""
    approval: bool = False
    """Whether the open question is an approval."""
    decided_by: Level = "executor"
    """Who may answer the open question."""
    paused: str | None = None
    """Why it is paused; None while it is not."""
    paused_by: str = ""
    crashes: int = 0
    """How often its process crashed during it, where it is left alone because of that."""
    handed_over: bool = False
    """Its process ended in order, and no other has taken it yet."""
    owners: int = 0
    cut_off: tuple[str, ...] = ()
    """Files that were changed by calls which a crash cut off."""
    stop_given: datetime | None = None
    stopped_in: float | None = None
    """Seconds from the stop to the end."""
    talk: bool = False
    side: bool = False
    tour: bool = False
    """No model is configured, so the text is a scripted tour that counts for nothing."""
    limits: Limits = field(default_factory=Limits)
    confidence: Confidence | None = None
    """The confidence of the last turn, moved by the votes that stand."""
    votes: tuple[tuple[str, str], ...] = ()
    """(person, vote) while it ran."""
    made: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """The calls of the last answer by id: tool and subject. A call that never begins is still a step."""
    touched: dict[str, Changed] = field(default_factory=dict[str, Changed])
    """Files of the workspace that it changed, in order of first change."""
    unclear: tuple[str, ...] = ()
    """Calls that were interrupted and whose result is unknown."""
    denied: tuple[str, ...] = ()
    """Calls that were denied and did not run later either."""
    put_back: tuple[str, ...] = ()
    """Calls that ran and whose effects were undone."""
    refused_hosts: tuple[str, ...] = ()
    """Hosts that the network refused."""
    conflicts: dict[str, str] = field(default_factory=dict[str, str])
    """Files that somebody else changed first, so that a change was not written, with ``StaleFile.by`` of each."""
    offered_acts: tuple[Act, ...] = ()
    """What the open question offers to allow for the whole task."""
    allowances: tuple[Allowance, ...] = ()
    """What people allowed for the whole task and did not take back."""
    offered: bool = False
    """Some of its work is on a branch that people merge or delete."""
    checkpoint: str = ""
    """The workspace before the first change."""
    checkpoint_problem: str = ""
    lessons: tuple[ChosenLesson, ...] = ()
    withheld: tuple[WithheldLesson, ...] = ()
    finished: Finished | None = None

    @property
    def steps(self) -> tuple[ProgressStep, ...]:
        """The latest calls."""
        return tuple(each for each in self.account.values() if isinstance(each, ProgressStep))

    @property
    def changed(self) -> tuple[Changed, ...]:
        """The files that differ from before."""
        return tuple(change for change in self.touched.values() if change.before != change.after)

    @property
    def plain(self) -> bool:
        """Whether it is small talk, which is answered without a card."""
        done = self.finished is not None and self.finished.reason == "done"
        return done and (self.side or (self.talk and not self.touched and not self.offered))

    @property
    def running(self) -> tuple[ProgressStep, ...]:
        """The calls without a result."""
        return tuple(step for step in self.steps if not step.outcome)

    @property
    def usd(self) -> float:
        """US dollars spent."""
        return self.limits.usd

    @property
    def estimated(self) -> int:
        """Number of requests whose cost is not known."""
        return self.limits.estimated

    @property
    def seconds(self) -> float:
        """Seconds from the start to the latest event."""
        return (self.latest - self.started).total_seconds() if self.started and self.latest else 0.0

    def take(self, envelope: Envelope) -> None:
        """Add one more event; an event that was taken already changes nothing."""
        if envelope.seq <= self.seq:
            return
        if isinstance(envelope.event, WorkspaceRestored):
            self.started, self.stop_given, self.stopped_in = envelope.at, None, None
        self.seq, self.latest = envelope.seq, envelope.at
        self.limits.take(envelope)
        self.handed_over = isinstance(envelope.event, HandedOver)
        if isinstance(envelope.event, InputReceived):
            self._heard(envelope.event)
        self._permit(envelope.event)
        match envelope.event:
            case ModelRequested() | ModelAnswered() | ModelFailed() as event:
                self._think(event)
            case ToolStarted() | ToolFinished() as event:
                self._act(event)
            case TurnEnded() as event:
                self._sure(event)
            case CommitCreated() as event:
                self._offer(event)
            case Watched() as event:
                self._watch(event)
            case WakeRequested() as event:
                self.wake = event.model_copy(update={"why": self.hide(event.why)})
            case Gated(put_back=True) as event:
                self._take_back(event)
            case OwnerChanged() | HandedOver() | Quarantined() | WorkspaceFound() as event:
                self._owned(event)
            case event:
                self._turn_to(event)

    def _think(self, event: ModelRequested | ModelAnswered | ModelFailed) -> None:
        asked, self.thinking = self.thinking, False
        if isinstance(event, ModelAnswered):
            said = "".join(block.text for block in event.blocks if isinstance(block, TextBlock)).strip()
            self.said, self.note, self.unanswered = self.hide(said[-LOOKED_THROUGH:]) or self.said, "", ""
            self.model = event.served_by or self.model
            calls = event.calls
            self.made = {
                call_id(event.request, index): (block.tool, subject(block.arguments))
                for index, block in enumerate(calls)
            }
        elif isinstance(event, ModelFailed):
            self.unanswered = event.failure if asked else self.unanswered
        elif event.purpose == "turn":
            self.turn, self.tier, self.model, self.thinking = event.turn, event.tier, event.model, True

    def _sure(self, event: TurnEnded) -> None:
        if not self.tour:
            self.confidence = event.confidence
            self._remark(f"turn {event.turn} ended with confidence {confidence.told(event.confidence, None)}")

    def _act(self, event: ToolStarted | ToolFinished) -> None:
        if isinstance(event, ToolStarted):
            self._enter(
                event.call,
                ProgressStep(
                    event.call,
                    event.tool,
                    self.hide(subject(event.arguments))[:300],
                    began=self.latest,
                    expected=self.hide(event.expectation[:LOOKED_THROUGH])[:200],
                    allowed_by=event.allowed.by.name if event.allowed is not None else "",
                ),
            )
            return
        step = self.account.get(event.call) or self._unbegun(event.call)
        if isinstance(step, ProgressStep):
            self.account[event.call] = replace(
                step,
                outcome=event.outcome,
                exit_code=event.exit_code,
                seconds=event.seconds,
                came=self.hide(reason(event.preview) if event.outcome == "refused" else last(event.preview))[:200],
            )
        if event.outcome == "unknown" and isinstance(step, ProgressStep):
            self.unclear = (*self.unclear, step.subject or step.tool)[:STEPS_KEPT]
        if isinstance(step, ProgressStep):
            self._allow(event, step.subject or step.tool)
        for change in event.changes:
            self._change(change)
        for conflict in event.conflicts[:STEPS_KEPT]:
            self.conflicts = (
                {**self.conflicts, conflict.path: conflict.by} if len(self.conflicts) < STEPS_KEPT else self.conflicts
            )
        self.refused_hosts = tuple(dict.fromkeys((*self.refused_hosts, *event.refused_hosts)))[:STEPS_KEPT]

    def _watch(self, event: Watched) -> None:
        """Keep what a watcher said, where it said something."""
        if told := self.hide(said(event)):
            self.watched = told
            self._remark(told)

    def _take_back(self, event: Gated) -> None:
        """Note that a call's effects were undone; whether it may run again is asked next."""
        step = self.account.get(event.call)
        if event.unkept:
            self.account.pop(event.call, None)  # it has not begun
        elif isinstance(step, ProgressStep):
            self.account[event.call] = replace(step, outcome="restored", came=f"it {self.hide(event.reason)}"[:200])
            self.put_back = (*self.put_back, step.subject or step.tool)[-STEPS_KEPT:]
        for change in event.changes:
            self._change(change)

    def _allow(self, event: ToolFinished, what: str) -> None:
        """Keep a denied call until the same call did run."""
        if event.outcome == "denied":
            self.denied = (*self.denied, what)[-STEPS_KEPT:]
        elif event.outcome in ("ok", "failed") and what in self.denied:
            self.denied = tuple(one for one in self.denied if one != what)

    def _unbegun(self, call: str) -> ProgressStep | None:
        """Return the step of a call that has a result but never began: it was denied, refused or cancelled."""
        if call not in self.made:
            return None
        tool, about = self.made[call]
        step = ProgressStep(call, tool, self.hide(about)[:300])
        self._enter(call, step)
        return step

    def _change(self, change: FileChange) -> None:
        first = self.touched.get(change.path)
        if first is not None or len(self.touched) < FILES_KEPT:
            was = first.before if first is not None else before(change)
            self.touched[change.path] = Changed(change.path, was, after(change))

    def _enter(self, name: str, what: ProgressStep | Remark) -> None:
        self.account[name] = what
        if len(self.account) > STEPS_KEPT:
            del self.account[next(iter(self.account))]

    def _remark(self, text: str) -> None:
        self._enter(f"#{self.seq}", Remark(self.hide(text[:LOOKED_THROUGH])))

    def _turn_to(self, event: Event) -> None:
        match event:
            case Started():
                self._start(event)
            case Triaged():
                self.role, self.talk = event.role, event.talk
            case TodoChanged():
                self.todo = tuple(item.model_copy(update={"text": self.hide(item.text)}) for item in event.items)
            case Asked():
                self.asked, self.thinking, self.approval = event.text or "?", False, event.sort == "approval"
                self.decided_by = event.who_may
            case Decided():
                self.asked = ""
            case InputReceived(sort="pause" | "resume"):
                self._hold(event)
            case Escalated():
                self.tier, self.unanswered = event.to_tier, ""
                self.note = self.hide(f"handed over to a stronger model (tier {event.to_tier}): {event.trigger}")
            case Intervened():
                self._intervene(event)
            case CheckpointSaved():
                self._saved(event)
            case Finished():
                self.finished, self.thinking, self.asked, self.note = self._ended(event), False, "", ""
                self.paused, self.paused_by = None, ""
            case _:
                pass

    def _permit(self, event: Event) -> None:
        """Keep what people let the whole task do, as the rules do."""
        match event:
            case Asked():
                self.offered_acts = event.allows
            case Decided(choice=choice) if choice == FOR_TASK and self.offered_acts:
                self.allowances = (*self.allowances, Allowance(event.question, event.by, self.offered_acts))
            case AllowanceUsed(question=question):
                used = (replace(each, used=each.used + (each.question == question)) for each in self.allowances)
                self.allowances = tuple(used)
            case AllowancesEnded(person=person):
                self.allowances = tuple(each for each in self.allowances if each.by.id != person)
            case InputReceived(sort="revoke") | WorkspaceRestored():
                self.allowances = ()
            case _:
                pass

    def _heard(self, event: InputReceived) -> None:
        if event.author.id != MACHINE and event.sort != "feedback":
            self.crashes = self.owners = 0
        if event.sort == "stop" and self.stop_given is None:
            self.stop_given = self.latest
        if event.sort == "feedback":
            self._vote(event)

    def _hold(self, event: InputReceived) -> None:
        """Keep whose pause stands, and why where it is the machine's."""
        holder = pause_holder(self.paused_by, event)
        if holder != self.paused_by:
            why = self.hide(event.text) if holder == MACHINE else ""
            self.paused_by, self.paused = holder, why if holder else None

    def _intervene(self, event: Intervened) -> None:
        """Keep what the agent was told; that its “done” was sent back is shown in every view."""
        self._remark(event.text)
        if event.rule == EVIDENCE:
            self.note = self.hide(f"“Done” does not count yet: {first_objection(event.text)}"[:LOOKED_THROUGH])

    def _vote(self, event: InputReceived) -> None:
        """Move the confidence by a vote, as the rules do, and add a remark that shows it."""
        vote, before = confidence.vote_of(event), confidence.told(self.confidence, None)
        self.votes = confidence.standing(self.votes, event.author.id, vote)
        if self.confidence is None:
            return
        self.confidence = confidence.voted(self.confidence, confidence.points(self.votes))
        sign = {"up": "👍", "down": "👎"}.get(vote, "a vote was withdrawn")
        self._remark(f"{sign} by {event.author.name}: confidence {before} → {confidence.told(self.confidence, None)}")

    def _owned(self, event: OwnerChanged | HandedOver | Quarantined | WorkspaceFound) -> None:
        """Note a change of owner: its process ended, in order or not, and another has taken it or nobody."""
        if isinstance(event, Quarantined):
            self.crashes, self.thinking = max(self.owners, 1), False
        elif not isinstance(event, WorkspaceFound):
            self.owners += 1 if isinstance(event, OwnerChanged) else -1
        else:
            self._find(event)

    def _find(self, event: WorkspaceFound) -> None:
        for change in event.changes:
            self._change(change)
        self.cut_off = tuple(dict.fromkeys((*self.cut_off, *(change.path for change in event.changes))))

    def _start(self, event: Started) -> None:
        self.thread, self.role, self.sandbox, self.side = event.thread, event.role, event.sandbox, event.side
        self.requester, self.level = event.requester.id, event.requester.level
        self.called = event.ping
        self.started, self.tier, self.tour = self.latest, event.policy.starting_tier, event.policy.tour
        self.skipped = tuple(file for file in event.files if file.skipped)
        self.lessons, self.withheld = event.lessons, event.withheld

    def _ended(self, event: Finished) -> Finished:
        if self.stop_given is not None and self.latest is not None:
            self.stopped_in = max((self.latest - self.stop_given).total_seconds(), 0.0)
        fields = ("text", "command", "file", "note")
        claims = tuple(
            claim.model_copy(update={name: self.hide(getattr(claim, name)) for name in fields})
            for claim in event.claims
        )
        return event.model_copy(update={"claims": claims})

    def _offer(self, event: CommitCreated) -> None:
        """Note that changes moved to a branch, so that the workspace is as before."""
        self.offered = True
        for path in event.paths:
            self.touched.pop(path, None)

    def _saved(self, event: CheckpointSaved) -> None:
        if not self.touched and not self.offered:
            self.checkpoint, self.checkpoint_problem = event.manifest, event.problem
        self._remark(f"no checkpoint: {event.problem}" if event.problem else "saved a checkpoint")


def steering(progress: Progress) -> tuple[Steering, ...]:
    """Return what the buttons of the progress message do with the execution now; none once it ends."""
    if progress.finished is not None or progress.stop_given is not None:
        return ()
    again: tuple[Steering, ...] = ("revoke",) if progress.allowances else ()
    if progress.paused is not None or progress.crashes:
        return ("stop", "resume", *again)
    return ("stop", *again) if progress.asked else ("stop", "pause", *again)


def update_of(event: Event) -> UpdateKind | None:
    """Return the kind of update that an event causes, None where people see nothing of it."""
    if (isinstance(event, ModelRequested) and event.purpose != "turn") or (
        isinstance(event, Watched) and not said(event)
    ):
        return None
    if isinstance(event, InputReceived) and event.sort in ("stop", "pause", "resume", "revoke"):
        return "clarification_request"
    if isinstance(event, InputReceived) and event.sort == "feedback":
        return "turn_complete"
    return _UPDATES.get(event.kind)
