"""The state of one thread, as a fold over what happened in it; pure.

A thread has executions. People speak to one of them, ``main``; the others (side questions today) run beside it. What
the log says of an execution (its open question, its pause, its quarantine) and how far the worker has got with it (its
``Stage``) are kept together under the execution's id, so that a slot, a stop or an effect belongs to an execution and
not to a thread.

Each event says in ``after`` what it changes; ``advance`` adds what the worker has to do about it. ``Phase`` is derived
from the state and is the only answer to what a thread is doing; ``message_meaning`` says what people's messages mean
in that phase.

  idle --Storing--> starting --Chosen--> starting --LoopBegan--> working --Finished--> ending or idle
                                              working --Asked--> asking --Decided--> working
                                              working --pause--> paused --resume--> working
                                              working --BrokenOff--> interrupted --TakenUp--> starting
                                              working --Quarantined--> quarantined --words of a person--> working

A process that ends keeps the state as it is (``ProcessEnding``): open executions are left to the next owner, and
messages still go to them until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from agentic.core.events.execution_events import Asked, Decided, Event, Finished, InputReceived, Quarantined, Started
from agentic.core.fold.people import MACHINE, pause_holder
from agentic.core.state.execution import Execution
from bot.ports.conversation import Activity


class Stage(Enum):
    """How far the worker has got with an execution."""

    WAITING = "waiting"
    """Waiting for its slot, its lease, the reading of its log, or the next owner."""
    RUNNING = "running"
    """Running in the loop."""
    INTERRUPTED = "interrupted"
    """Interrupted by a fault; the next message resumes it."""


class Phase(Enum):
    """What a thread is doing."""

    UNKNOWN = "unknown"
    """No session: the agent was never asked anything in this thread."""
    IDLE = "idle"
    STARTING = "starting"
    """A message begins an execution that the loop does not run yet."""
    WORKING = "working"
    ASKING = "asking"
    """A question to a person is open."""
    PAUSED = "paused"
    SUSPENDED = "suspended"
    """Paused by the bot itself, because it may not write in the thread at present."""
    INTERRUPTED = "interrupted"
    QUARANTINED = "quarantined"
    """The execution crashed its process repeatedly, and waits until a person writes."""
    ACTING = "acting"
    """An action on a finished execution, such as undo, is being carried out."""
    ENDING = "ending"
    """The main execution has ended; others beside it have not."""

    @property
    def activity(self) -> Activity:
        """The phase as people see it."""
        return _ACTIVITIES[self]


@dataclass(frozen=True, slots=True)
class ExecutionState:
    """One execution that is open, or that the worker still holds."""

    id: str
    stage: Stage = Stage.WAITING
    side: bool = False
    """Whether it answers a side question."""
    question: Asked | None = None
    """The open question, None for none."""
    paused_by: str = ""
    """The person who paused it, '' for none."""
    quarantined: bool = False
    finished: bool = False
    """Whether its log has a ``Finished``."""

    @property
    def needs_slot(self) -> bool:
        """Whether it can go on without a person."""
        return self.question is None and not self.paused_by and not self.quarantined


@dataclass(frozen=True, slots=True)
class SessionState:
    """Everything a process knows of one thread."""

    executions: tuple[ExecutionState, ...] = ()
    main: str = ""
    """The execution that people speak to, '' when there is none."""
    requester: str = ""
    """The person who asked for the main execution, or for the one about to begin."""
    storing: frozenset[str] = frozenset()
    """Inbox items being stored that will begin an execution."""
    fetching: frozenset[str] = frozenset()
    """Stored inbox items whose files are still being fetched; they begin nothing until then."""
    waiting: frozenset[str] = frozenset()
    """Stored inbox items that begin an execution when the main one has ended."""
    acting: bool = False
    stopped: int = 0
    """The newest stop; items from before it begin nothing any more."""
    left: bool = False
    """Whether the process is ending; open executions are then left to the next owner."""

    def execution(self, id: str) -> ExecutionState | None:
        return next((one for one in self.executions if one.id == id), None)

    @property
    def current(self) -> ExecutionState | None:
        """The main execution, until its log has a ``Finished``."""
        one = self.execution(self.main)
        return one if one is not None and not one.finished else None

    @property
    def question(self) -> str:
        """The id of the main execution's open question, '' for none."""
        one = self.current
        return one.question.question if one is not None and one.question is not None else ""

    @property
    def at_work(self) -> bool:
        return any(one.stage is Stage.RUNNING for one in self.executions)

    @property
    def phase(self) -> Phase:
        if (one := self.current) is not None:
            return _phase_of(one)
        if self.acting:
            return Phase.ACTING
        if self.storing or self.fetching or self.waiting:
            return Phase.STARTING
        return Phase.ENDING if any(one.id != self.main for one in self.executions) else Phase.IDLE


IDLE = SessionState()
"""The state of most threads, shared by all of them."""

_ACTIVITIES: Mapping[Phase, Activity] = {
    Phase.UNKNOWN: "idle",
    Phase.IDLE: "idle",
    Phase.STARTING: "busy",
    Phase.WORKING: "busy",
    Phase.ASKING: "asking",
    Phase.PAUSED: "paused",
    Phase.SUSPENDED: "paused",
    Phase.INTERRUPTED: "paused",
    Phase.QUARANTINED: "paused",
    Phase.ACTING: "busy",
    Phase.ENDING: "busy",
}


def _phase_of(one: ExecutionState) -> Phase:
    if one.stage is Stage.INTERRUPTED:
        return Phase.INTERRUPTED
    if one.quarantined:
        return Phase.QUARANTINED
    if one.paused_by:
        return Phase.SUSPENDED if one.paused_by == MACHINE.id else Phase.PAUSED
    if one.question is not None:
        return Phase.ASKING
    return Phase.WORKING if one.stage is Stage.RUNNING else Phase.STARTING


def _with(state: SessionState, one: ExecutionState) -> SessionState:
    """Replace one execution in the state; an unknown execution is not added."""
    return replace(state, executions=tuple(one if each.id == one.id else each for each in state.executions))


def _without(state: SessionState, execution: str) -> SessionState:
    left = tuple(one for one in state.executions if one.id != execution)
    return replace(state, executions=left, main="" if state.main == execution else state.main)


def _staged(state: SessionState, execution: str, stage: Stage) -> SessionState:
    one = state.execution(execution)
    return state if one is None else _with(state, replace(one, stage=stage))


# --- what is said -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Storing:
    """An inbox item that begins an execution is being stored; later messages belong to that execution."""

    item: str
    author: str

    def after(self, state: SessionState) -> SessionState:
        requester = self.author if state.phase is Phase.IDLE else state.requester
        return replace(state, storing=state.storing | {self.item}, requester=requester)


@dataclass(frozen=True, slots=True)
class Stored:
    """The inbox item was stored, or storing failed."""

    item: str

    def after(self, state: SessionState) -> SessionState:
        return replace(state, storing=state.storing - {self.item}) if self.item in state.storing else state


@dataclass(frozen=True, slots=True)
class Queued:
    """An inbox item was stored that begins an execution later."""

    item: str

    def after(self, state: SessionState) -> SessionState:
        return replace(state, waiting=state.waiting | {self.item})


@dataclass(frozen=True, slots=True)
class Discarded:
    """Inbox items were deleted without an execution taking them."""

    items: tuple[str, ...]

    def after(self, state: SessionState) -> SessionState:
        return replace(state, waiting=state.waiting.difference(self.items))


@dataclass(frozen=True, slots=True)
class FetchBegan:
    """The files of a stored inbox item are being fetched."""

    item: str

    def after(self, state: SessionState) -> SessionState:
        return replace(state, fetching=state.fetching | {self.item})


@dataclass(frozen=True, slots=True)
class FetchEnded:
    """The files of an inbox item have arrived, or could not be fetched."""

    item: str

    def after(self, state: SessionState) -> SessionState:
        return replace(state, fetching=state.fetching - {self.item})


@dataclass(frozen=True, slots=True)
class InboxRead:
    """The inbox was read; the items in ``waiting`` begin executions after the current one.

    ``requester`` wrote the first of them; it counts only where nobody has asked for anything yet.
    """

    waiting: frozenset[str]
    requester: str = ""

    def after(self, state: SessionState) -> SessionState:
        return replace(state, waiting=self.waiting, requester=state.requester or self.requester)


@dataclass(frozen=True, slots=True)
class Followed:
    """What the store says of a thread on which another process works."""

    executions: tuple[ExecutionState, ...]
    main: str
    waiting: frozenset[str]
    requester: str

    def after(self, state: SessionState) -> SessionState:
        return replace(
            state, executions=self.executions, main=self.main, waiting=self.waiting, requester=self.requester
        )


@dataclass(frozen=True, slots=True)
class StopRequested:
    """A stop was stored for one execution or, with '', for everything open and everything said before it."""

    said: int
    execution: str = ""

    def after(self, state: SessionState) -> SessionState:
        return state if self.execution else replace(state, stopped=max(state.stopped, self.said))


# --- what the worker does -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TakenUp:
    """The worker resumes an execution from the log, which becomes the main one."""

    execution: str

    def after(self, state: SessionState) -> SessionState:
        one = state.execution(self.execution) or ExecutionState(self.execution)
        return replace(state, executions=(replace(one, stage=Stage.WAITING),), main=self.execution)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The worker chose an inbox item that begins an execution, which becomes the main one."""

    execution: str
    requester: str

    def after(self, state: SessionState) -> SessionState:
        executions = (ExecutionState(self.execution),)
        return replace(state, executions=executions, main=self.execution, requester=self.requester)


@dataclass(frozen=True, slots=True)
class Recalled:
    """The log of a resumed execution was read and folded."""

    execution: str
    folded: Execution

    def after(self, state: SessionState) -> SessionState:
        one, folded = state.execution(self.execution), self.folded
        if one is None:
            return state
        known = replace(
            one, side=folded.side, question=folded.question, quarantined=folded.quarantined is not None,
            paused_by=folded.paused.author.id if folded.paused is not None else "",
        )  # fmt: skip
        requester = folded.started.requester.id if folded.started is not None else ""
        return replace(_with(state, known), requester=requester)


@dataclass(frozen=True, slots=True)
class LoopBegan:
    """The loop runs the execution."""

    execution: str

    def after(self, state: SessionState) -> SessionState:
        return _staged(state, self.execution, Stage.RUNNING)


@dataclass(frozen=True, slots=True)
class LoopEnded:
    """The loop has ended for this execution and all beside it."""

    execution: str

    def after(self, state: SessionState) -> SessionState:
        one = state.execution(self.execution)
        return state if one is None or one.stage is Stage.INTERRUPTED else _staged(state, self.execution, Stage.WAITING)


@dataclass(frozen=True, slots=True)
class BrokenOff:
    """The execution was interrupted without an event in its log; the next message resumes it."""

    execution: str

    def after(self, state: SessionState) -> SessionState:
        return _staged(state, self.execution, Stage.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class Dropped:
    """The execution was called off before it began, or its log is damaged and was set aside."""

    execution: str

    def after(self, state: SessionState) -> SessionState:
        return _without(state, self.execution)


@dataclass(frozen=True, slots=True)
class NothingOpen:
    """No execution of the thread is open in the log."""

    def after(self, state: SessionState) -> SessionState:
        return replace(state, executions=(), main="")


@dataclass(frozen=True, slots=True)
class Rested:
    """The worker has finished; an interrupted execution stays the main one.

    While the process ends nothing changes: open executions are left to the next owner, and messages still go to them
    until then.
    """

    def after(self, state: SessionState) -> SessionState:
        if state.left or not state.executions:
            return state
        one = state.current
        if one is None or one.stage is not Stage.INTERRUPTED:
            return replace(state, executions=(), main="")
        return replace(state, executions=(one,))


@dataclass(frozen=True, slots=True)
class BegunBeside:
    """A side question is being answered by an execution of its own, beside the main one."""

    execution: str

    def after(self, state: SessionState) -> SessionState:
        if state.execution(self.execution) is not None:
            return state
        beside = ExecutionState(self.execution, Stage.RUNNING, side=True)
        return replace(state, executions=(*state.executions, beside))


@dataclass(frozen=True, slots=True)
class EndedBeside:
    """The side question was answered or given up, and nothing of it is left for a next owner."""

    execution: str

    def after(self, state: SessionState) -> SessionState:
        return _without(state, self.execution)


@dataclass(frozen=True, slots=True)
class ActBegan:
    """An action on a finished execution, such as undo, has begun."""

    def after(self, state: SessionState) -> SessionState:
        return replace(state, acting=True)


@dataclass(frozen=True, slots=True)
class ActEnded:
    """The action has ended, successfully or not."""

    def after(self, state: SessionState) -> SessionState:
        return replace(state, acting=False)


@dataclass(frozen=True, slots=True)
class ProcessEnding:
    """The process is ending; no execution is begun or resumed any more."""

    def after(self, state: SessionState) -> SessionState:
        return replace(state, left=True)


# --- what the log says --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Appended:
    """An event was appended to the log of an execution."""

    execution: str
    event: Event

    def after(self, state: SessionState) -> SessionState:
        if isinstance(self.event, Started | InputReceived) and self.event.inbox in state.waiting:
            state = replace(state, waiting=state.waiting - {self.event.inbox})
        one = state.execution(self.execution)
        if one is None or one.finished:
            return state
        told = told_by(one, self.event)
        return state if told is one else _with(state, told)


def told_by(one: ExecutionState, event: Event) -> ExecutionState:
    """Return what is known of an execution after an event of its log."""
    match event:
        case Asked():
            return replace(one, question=event)
        case Decided():
            return replace(one, question=None)
        case Quarantined():
            return replace(one, quarantined=True)
        case Finished():
            return replace(one, question=None, paused_by="", quarantined=False, finished=True)
        case InputReceived():
            return _heard(one, event)
        case _:
            return one


def _heard(one: ExecutionState, event: InputReceived) -> ExecutionState:
    """Apply a logged event. A person's pause overrides the bot's own, and a vote does not end a quarantine."""
    if event.author.id != MACHINE.id and event.sort != "feedback":
        one = replace(one, quarantined=False)
    return replace(one, paused_by=pause_holder(one.paused_by, event))


SessionEvent = (
    Storing | Stored | Queued | Discarded | FetchBegan | FetchEnded | InboxRead | StopRequested | TakenUp | Chosen | Recalled
    | LoopBegan | LoopEnded | BrokenOff | Dropped | NothingOpen | Rested | BegunBeside | EndedBeside | ActBegan | ActEnded
    | ProcessEnding | Appended | Followed
)  # fmt: skip


# --- what the worker has to do about it ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReleaseSlot:
    """Give the slot of an execution to others, because it waits for a person."""

    execution: str


@dataclass(frozen=True, slots=True)
class RetakeSlot:
    """Hold the slot of an execution again at once, because the person has answered."""

    execution: str


@dataclass(frozen=True, slots=True)
class StopExecution:
    """Make an execution obey its stop now, whatever it is waiting for."""

    execution: str


Output = ReleaseSlot | RetakeSlot | StopExecution


def advance(state: SessionState, event: SessionEvent) -> tuple[SessionState, tuple[Output, ...]]:
    """Return the state after an event, and what the worker has to do about it."""
    after, outputs = event.after(state), list[Output]()
    if after.phase is Phase.IDLE and not after.executions and not after.stopped and not after.left:
        return IDLE, ()
    for one in after.executions:
        before = state.execution(one.id)
        if before is not None and before.needs_slot != one.needs_slot:
            outputs.append(RetakeSlot(one.id) if one.needs_slot else ReleaseSlot(one.id))
    if isinstance(event, StopRequested):
        outputs += [StopExecution(one.id) for one in after.executions if event.execution in ("", one.id)]
    return after, tuple(outputs)
