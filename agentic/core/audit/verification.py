"""Whether the rules would decide again what a log says they decided.

A log holds decisions (``Asked``, ``TurnEnded``, ``Finished``, the intents …) and what came from outside (answers, results,
what people said, deadlines).  What came from outside is folded.  A decision must be what ``decide`` answers in the state
before it.  Three things stand between a decision and its event in the loop, and are allowed for here:

- Results come in whenever the loop waits.  It perceives, looks at what a gated call would touch, sets money aside and
  ends the sandbox *after* it has decided: so a request, an intent and the end may also follow from a state with only
  results between (``_window``).  Facts, questions and cancellations are noted at once and get no such room.
- Calls that begin together are noted one after another from one decision (``_batch``); when somebody speaks meanwhile the
  rest is left.  The facts of one ``Record`` are noted together, with nothing between (``_due``).
- A checkpoint begins when the rules want one and is noted when it ends, whatever was decided meanwhile (``_wanted``); so
  is a look at what an owner that died left in the workspace (``_inspects``).  Who leaves in order does both unasked.

A fork's log begins with a copy.  What was decided there was decided in another thread, of another requester: it is folded
here, and verified in the log that it was copied from.  What people grant where it is gone on with follows on
``WorkspaceRestored``, and is from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from agentic.core.events.execution_events import (
    AllowancesEnded,
    AllowanceUsed,
    Asked,
    CancelRequested,
    CheckpointSaved,
    CommitCreated,
    Compacted,
    DeadlinePassed,
    Decided,
    Envelope,
    Escalated,
    Event,
    Finished,
    Gated,
    Intervened,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Moment,
    Noted,
    OwnerChanged,
    Perceived,
    PlanEntered,
    PlanExited,
    PolicyChanged,
    PullRequestOpened,
    Quarantined,
    Reported,
    Started,
    SubagentFinished,
    TodoChanged,
    ToolFinished,
    ToolStarted,
    Triaged,
    TurnEnded,
    Watched,
    WorkspaceFound,
    WorkspaceRestored,
)
from agentic.core.fold.fold import evolve
from agentic.core.fold.ownership import cut_off
from agentic.core.rules.approvals import allowed_of
from agentic.core.rules.decide import RULES_VERSION, decide
from agentic.core.state.actions import (
    Action,
    Ask,
    Cancel,
    Checkpoint,
    Consult,
    Finish,
    Inspect,
    Record,
    Think,
    UseTools,
    Wait,
)
from agentic.core.state.execution import Call, Execution

Source = Literal["rules", "outside", "otherwise", "copied", "other rules"]
"""The rules at hand decided it; they did not have to; they would have decided otherwise; it is a copy of another log's
event; rules of another version decided then."""
_RESULTS = (
    ModelAnswered, ModelFailed, ToolFinished, Asked, Noted, Reported, TodoChanged, PlanEntered, PlanExited,
    CommitCreated, PullRequestOpened, SubagentFinished, Perceived, AllowancesEnded,
)  # fmt: skip
_RECORDED = (
    Quarantined
    | Triaged
    | PolicyChanged
    | Decided
    | TurnEnded
    | Intervened
    | Escalated
    | Compacted
    | AllowanceUsed
    | Watched
)


@dataclass(frozen=True, slots=True)
class Ruled:
    """What the rules answer in a state."""

    state: Execution
    action: Action


@dataclass(frozen=True, slots=True)
class EventOrigin:
    """Where an event comes from.

    ``ruled`` is the decision that gave it, or, where another one is in the log, the one that the rules give at this place.
    """

    source: Source
    after: Execution
    """The state with the event."""
    ruled: Ruled | None = None
    follows: Ruled | None = None
    """What the rules say next, in the state with the event; None where facts of the same decision still follow."""


_Kind = Ruled | Literal["result", "turn", "other"]
"""As the rules decide; what an effect came to; what else makes the loop decide anew; not as the rules decide."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where the log says something else than the rules."""

    seq: int
    logged: Event
    ruled: Action
    expected: Event | None = None
    """The event that the rules give at this place, where it is an event of theirs."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of it."""

    decisions: tuple[int, ...]
    """Where the decisions stand that the rules give again."""
    divergence: Divergence | None = None
    """The first one; what follows it was not looked at."""
    copied: int = 0
    """Through which event it is a copy of another log, which was not looked at."""
    others: tuple[tuple[int, int, int], ...] = ()
    """(first, last, version): parts of the log that other rules decided, and these cannot judge."""


def verify(log: Sequence[Envelope], version: int = RULES_VERSION) -> Verification:
    """Walk a log, deciding again; ``version`` is that of the rules at hand."""
    copied = copied_through(log)
    walk = _Walk(version, copied)
    found = (walk.step(envelope) for envelope in log)
    divergence = next((one for one in found if one is not None), None)
    return Verification(tuple(walk.decisions), divergence, copied, _spans(walk.others))


def origin_of(
    log: Sequence[Envelope], seq: int, begin: Execution | None = None, version: int = RULES_VERSION
) -> EventOrigin:
    """Where the event ``seq`` comes from, whatever the rules say of those before it.

    A decision is seldom far from its event: with ``begin``, the state after some event well before it, the walk begins
    there, and at the first event only where that finds no decision (what a look found may have been wanted long before).
    """
    if begin is not None and begin.seq and not isinstance(log[seq - 1].event, WorkspaceFound):
        near = _origin(log, seq, version, begin)
        if near.source != "otherwise":
            return near
    return _origin(log, seq, version, Execution())


def _origin(log: Sequence[Envelope], seq: int, version: int, begin: Execution) -> EventOrigin:
    walk = _Walk(version, copied_through(log), begin)
    for envelope in log[begin.seq : seq - 1]:
        walk.step(envelope)
    return walk.step_with_origin(log[seq - 1])[0]


def as_written(log: Sequence[Envelope]) -> list[Envelope]:
    """The log with the copied events of a fork under fences that change where their owners did."""
    copied = copied_through(log)
    written: list[Envelope] = []
    younger = 0
    for envelope in reversed(log):
        update = {"fence": envelope.fence - younger}
        written.append(envelope.model_copy(update=update) if younger and envelope.seq <= copied else envelope)
        younger += isinstance(envelope.event, OwnerChanged) and envelope.seq <= copied
    return written[::-1]


def copied_through(log: Sequence[Envelope]) -> int:
    """The last event that a fork has from another execution; 0 where it is none."""
    first = log[0].event if log else None
    return first.forked_from[1] if isinstance(first, Started) and first.forked_from is not None else 0


def _spans(others: Iterable[tuple[int, int]]) -> tuple[tuple[int, int, int], ...]:
    spans: list[tuple[int, int, int]] = []
    for seq, version in others:
        if spans and (spans[-1][1], spans[-1][2]) == (seq - 1, version):
            spans[-1] = (spans[-1][0], seq, version)
        else:
            spans.append((seq, seq, version))
    return tuple(spans)


class _Walk:
    def __init__(self, version: int, copied: int, begin: Execution | None = None) -> None:
        self.decisions: list[int] = []
        self.others: list[tuple[int, int]] = []
        self._version = version
        self._execution = begin or Execution()
        self._copied = copied
        self._window: list[Ruled] = []
        self._due: tuple[Event, ...] = ()
        self._batch: tuple[Call, ...] = ()
        self._batch_of: Ruled | None = None
        self._wanted: dict[Moment, Ruled] = {}
        self._inspects: Ruled | None = None
        self._put_back = False

    def step(self, envelope: Envelope) -> Divergence | None:
        """One event further; how it differs from what the rules say."""
        return self.step_with_origin(envelope)[1]

    def step_with_origin(self, envelope: Envelope) -> tuple[EventOrigin, Divergence | None]:
        """One event further; where it comes from, and how it differs from what the rules say."""
        before, event = self._execution, envelope.event
        own = envelope.seq > self._copied
        kind = self._kind(event) if own and before.rules == self._version else "turn"
        divergence = self._divergence(envelope) if kind == "other" else None
        ruled = kind if isinstance(kind, Ruled) else self._ruled if kind == "other" else None
        if isinstance(kind, Ruled):
            self.decisions.append(envelope.seq)
        elif kind == "other":
            self._due = ()
        self._execution = evolve(before, envelope)
        if own and self._execution.rules != self._version:
            self.others.append((envelope.seq, self._execution.rules))
        self._go_on(event, kind)
        follows = None if self._due else self._window[-1]
        return EventOrigin(self._source(own, before, kind), self._execution, ruled, follows), divergence

    def _source(self, own: bool, before: Execution, kind: _Kind) -> Source:
        if not own:
            return "copied"
        if before.started is not None and before.rules != self._version:
            return "other rules"
        return "rules" if isinstance(kind, Ruled) else "otherwise" if kind == "other" else "outside"

    def _go_on(self, event: Event, kind: _Kind) -> None:
        """What may follow."""
        self._put_back = isinstance(event, WorkspaceRestored) or (self._put_back and isinstance(event, PolicyChanged))
        if isinstance(event, OwnerChanged | CheckpointSaved):
            self._wanted.clear()
        if isinstance(event, OwnerChanged | WorkspaceFound):
            self._inspects = None
        if self._due:
            return
        if kind != "result" and not isinstance(event, CheckpointSaved | WorkspaceFound):
            self._window.clear()
            self._batch = self._batch if isinstance(event, ToolStarted | Gated | ToolFinished) else ()
        ruled = Ruled(self._execution, decide(self._execution))
        self._window.append(ruled)
        if isinstance(ruled.action, Checkpoint):
            self._wanted.setdefault(ruled.action.moment, ruled)
        if isinstance(ruled.action, Inspect) and self._inspects is None:
            self._inspects = ruled

    def _kind(self, event: Event) -> _Kind:
        if self._due:
            return self._recorded(event)
        match event:
            case ModelRequested():
                return self._decision(lambda action: _asks(action, event))
            case Finished():
                return self._decision(lambda action: action == Finish(event))
            case DeadlinePassed():
                return self._decision(lambda action: event.ref in _waited_for(action))
            case CheckpointSaved(why="leaving"):
                return "turn"
            case WorkspaceFound(never_begun=()) if self._execution.touched and not self._inspects:
                return "turn"  # who leaves in order
            case CheckpointSaved():
                return self._wanted.get(event.why, "other")
            case WorkspaceFound():
                return self._inspects or "other"
            case CancelRequested():
                told = event.restoring is not None
                return "turn" if told else self._decided_now(Cancel(event.refs, event.reason))
            case Gated(put_back=True) if self._is_result(event):
                return "result"
            case ToolStarted() | Gated():
                return self._begins(event) or "other"
            case _:
                return self._fact(event)

    def _fact(self, event: Event) -> _Kind:
        """A fact that a rule records, or what an effect came to."""
        if self._is_result(event):
            return "result"
        match event:
            case ToolFinished(outcome="refused") if begun := self._begins(event):
                return begun
            case Asked():
                return self._decided_now(Ask(event))
            case PolicyChanged() if self._put_back:
                return "turn"
            case ToolFinished() | ModelFailed():
                return self._recorded(event)
            case _:
                return self._recorded(event) if isinstance(event, _RECORDED) else "turn"

    @property
    def _ruled(self) -> Ruled | None:
        """What the rules say in the state before the event, or before the first of the facts that are recorded together."""
        return self._window[-1] if self._window else None

    @property
    def _now(self) -> Action:
        return self._ruled.action if self._ruled is not None else Wait()

    def _decision(self, fits: Callable[[Action], bool]) -> _Kind:
        """The first decision since the last turn of things that the event can follow from."""
        return next((ruled for ruled in self._window if fits(ruled.action)), None) or "other"

    def _decided_now(self, action: Action) -> _Kind:
        return self._window[-1] if self._window and self._window[-1].action == action else "other"

    def _is_result(self, event: Event) -> bool:
        """Whether an effect in flight gave it, or a look before a request."""
        if isinstance(event, ToolFinished | Gated):
            recalled = cut_off(self._execution) if self._inspects else ()
            return any(call.id == event.call for call in (*self._execution.calls_in_flight, *recalled))
        if isinstance(event, ModelFailed):
            request = self._execution.request_in_flight
            return request is not None and request.id == event.request
        if isinstance(event, Asked):
            return bool(event.call) and event.sort != "approval"
        return isinstance(event, _RESULTS)

    def _recorded(self, event: Event) -> _Kind:
        """One of the facts that are recorded together, in their order."""
        due = self._due or (self._now.events if isinstance(self._now, Record) else ())
        if not due or due[0] != event:
            return "other"
        self._due = due[1:]
        return self._ruled or "other"

    def _begins(self, event: ToolStarted | Gated | ToolFinished) -> Ruled | None:
        """The next of the calls that begin together, or the first of others."""
        begun = [(each.action, each) for each in self._window if isinstance(each.action, UseTools)]
        batches = [(self._batch, self._batch_of), *((action.calls, ruled) for action, ruled in begun)]
        calls, ruled = next((each for each in batches if each[0] and each[0][0].id == event.call), ((), None))
        if not calls or (isinstance(event, ToolStarted) and not _intends(event, calls[0])):
            return None
        held = [action.leaving for action, _ in begun if action.calls is calls and action.leaving is not None]
        if held and not (isinstance(event, ToolFinished) or (isinstance(event, Gated) and event.leaving == held[0])):
            return None
        self._batch, self._batch_of = calls[1:], ruled
        return ruled

    def _divergence(self, envelope: Envelope) -> Divergence:
        expected: Event | None = None
        match self._now:
            case Record(events):
                expected = (self._due or events)[0]
            case Ask(asked):
                expected = asked
            case Finish(finished):
                expected = finished
            case _:
                pass
        return Divergence(envelope.seq, envelope.event, self._now, expected)


def _asks(action: Action, event: ModelRequested) -> bool:
    if not isinstance(action, Think | Consult):
        return False
    asked = (event.turn, event.purpose, event.tier, event.model, event.attempt)
    return (action.turn, action.purpose, action.tier, action.model, action.attempt) == asked


def _waited_for(action: Action) -> tuple[str, ...]:
    return tuple(timer.ref for timer in action.timers) if isinstance(action, Wait | Checkpoint | Inspect) else ()


def _intends(event: ToolStarted, call: Call) -> bool:
    """The intent of just this call, under the approval it has; one to which a watcher objects must have one."""
    approval = call.approval or (call.intent.approval if call.intent is not None else "")
    if call.objection and not approval:
        return False
    begun = (event.tool, event.provider_id, event.approval, event.allowed)
    return begun == (call.block.tool, call.block.provider_id, approval, allowed_of(call))
