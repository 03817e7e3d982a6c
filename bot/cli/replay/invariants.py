"""Invariants of a log, checked by reading it once; pure.

Each violation is one line. Without any, the log is one that an execution could have written: each intent has its one
result, each request its answer, each question its decision; no call without a key was begun twice, and none that needs
approval without one for just that call; after a stop nothing was begun; what people said reached the model or is
reported as lost; the caps hold; the end agrees with the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentic.core.audit.verification import as_written
from agentic.core.events.execution_events import (
    Act,
    AllowancesEnded,
    AllowanceUsed,
    Asked,
    BranchMerged,
    BranchRejected,
    BudgetRefused,
    CallBlock,
    CheckpointSaved,
    CommitCreated,
    DeadlinePassed,
    Decided,
    Envelope,
    Evaluated,
    Event,
    FeedbackGiven,
    Finished,
    Gated,
    InputReceived,
    Judged,
    Level,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    OwnerChanged,
    Person,
    Reflected,
    Started,
    ToolFinished,
    ToolStarted,
    TrialDecided,
    TurnEnded,
    WorkspaceFound,
    WorkspaceRestored,
)
from agentic.core.events.ids import call_id
from agentic.core.fold.fold import evolve
from agentic.core.fold.people import ALLOW, ALWAYS, FOR_TASK, MACHINE
from agentic.core.rules import task_end, used_up_limits
from agentic.core.rules.approvals import acts_of, is_within
from agentic.core.state.execution import Execution
from agentic.core.text.amounts import STOP
from agentic.core.text.answers import at_least, least


def unpaired_calls(log: Sequence[Envelope]) -> Iterator[str]:
    """Each intent has one result; a call without a key begins once, one with a key again only under another owner with
    the same key.

    Every call that begins, or has a result, was made by an answer.
    """
    begun: dict[str, list[Envelope]] = {}
    ended = Counter[str]()
    yield from _calls_of_no_answer(log)
    for envelope in as_written(log):
        event = envelope.event
        if isinstance(event, ToolStarted):
            if ended[event.call]:
                yield f"call {event.call} was begun at {envelope.seq}, after its result"
            begun.setdefault(event.call, []).append(envelope)
        elif isinstance(event, WorkspaceFound | Gated):
            for call in _not_begun(event):
                begun.pop(call, None)
        elif isinstance(event, ToolFinished):
            ended[event.call] += 1
    for call, intents in begun.items():
        yield from _begun_again(call, intents)
    for call, times in ended.items():
        if times > 1:
            yield f"call {call} has {times} results"
    if ended_in(log):
        for call in begun.keys() - ended.keys():
            yield f"call {call} has no result"


def _calls_of_no_answer(log: Sequence[Envelope]) -> Iterator[str]:
    made = set[str]()
    for envelope in log:
        event = envelope.event
        if isinstance(event, ModelAnswered):
            calls = [block for block in event.blocks if isinstance(block, CallBlock)]
            made |= {call_id(event.request, index) for index in range(len(calls))}
        elif isinstance(event, ToolStarted | ToolFinished) and event.call not in made:
            what = "was begun" if isinstance(event, ToolStarted) else "has a result"
            yield f"call {event.call} {what} at {envelope.seq}, and no answer made it"


def _not_begun(event: WorkspaceFound | Gated) -> tuple[str, ...]:
    """Return calls that had an intent and count as not begun."""
    if isinstance(event, WorkspaceFound):
        return event.never_begun
    return (event.call,) if event.put_back else ()


def _begun_again(call: str, intents: list[Envelope]) -> Iterator[str]:
    events = [envelope.event for envelope in intents if isinstance(envelope.event, ToolStarted)]
    if len(events) == 1:
        return
    if any(event.effect == "unkeyed" for event in events):
        yield f"call {call} was begun {len(events)} times, and nothing says that it may be"
    if len({(event.key, event.args_sha) for event in events}) > 1:
        yield f"call {call} was begun again with another key or other arguments"
    if len({envelope.fence for envelope in intents}) < len(intents):
        yield f"call {call} was begun again by the same owner"


def unpaired_requests(log: Sequence[Envelope]) -> Iterator[str]:
    """Each request has one answer or failure, and each answer has its request."""
    asked = Counter(e.event.request for e in log if isinstance(e.event, ModelRequested))
    answered = Counter(e.event.request for e in log if isinstance(e.event, ModelAnswered | ModelFailed))
    for request, times in asked.items():
        if times > 1:
            yield f"request {request} was made {times} times"
    for request, times in answered.items():
        if request not in asked:
            yield f"request {request} was answered and never made"
        elif times > 1:
            yield f"request {request} has {times} answers"
    if ended_in(log):
        for request in asked.keys() - answered.keys():
            yield f"request {request} has no answer"


def unpaired_questions(log: Sequence[Envelope]) -> Iterator[str]:
    """One question is open at a time; it is decided once, by somebody who may."""
    open_: Asked | None = None
    for envelope in log:
        event = envelope.event
        if isinstance(event, Asked):
            if open_ is not None:
                yield f"question {event.question} was asked at {envelope.seq} while {open_.question} was open"
            open_ = event
        elif isinstance(event, Decided):
            if open_ is None or open_.question != event.question:
                yield f"question {event.question} was decided at {envelope.seq} and was not open"
            elif event.by.id != MACHINE.id and not at_least(event.by.level, _least(open_, event)):
                yield f"question {event.question} was decided by {event.by.name}, who may not"
            open_ = None
        elif isinstance(event, WorkspaceRestored):
            open_ = None  # it is gone on with from there


def _least(asked: Asked, decided: Decided) -> Level:
    """Return the level that the decision needed; ending the execution needs no right to raise a cap."""
    return "executor" if asked.sort == "extension" and decided.choice == STOP else least(asked, decided.choice)


@dataclass(slots=True)
class _Approval:
    """What a person is asked to allow, and whether they did."""

    call: str
    args_sha: str
    allows: tuple[Act, ...] = ()
    given: bool = False


def unapproved_calls(log: Sequence[Envelope]) -> Iterator[str]:
    """A call that needs approval begins only after one for the same call with the same arguments."""
    gates: dict[str, Gated] = {}
    approvals: dict[str, _Approval] = {}
    begun: set[str] = set()
    allowed: dict[str, tuple[Person, tuple[Act, ...]]] = {}
    for envelope in log:
        event = envelope.event
        _allow(allowed, approvals, event)
        if isinstance(event, Gated):
            gates[event.call] = event
        elif isinstance(event, Asked) and event.sort == "approval":
            approvals[event.question] = _Approval(event.call, event.args_sha, event.allows)
        elif isinstance(event, AllowanceUsed):
            by, acts = allowed.get(event.question, (None, ()))
            if by != event.by or not all(is_within(act, acts) for act in event.acts):
                yield f"call {event.call} went on at {envelope.seq} although nobody had allowed that for the whole task"
        elif isinstance(event, Decided) and event.question in approvals:
            approvals[event.question].given = event.choice in (ALLOW, ALWAYS, FOR_TASK)
        elif isinstance(event, ToolStarted) and (event.approval or event.call in gates) and event.call not in begun:
            begun.add(event.call)
            if event.allowed is not None and not event.approval:
                gate = gates.get(event.call)
                if gate is None or gate.args_sha != event.args_sha or acts_of(gate) != event.allowed.acts:
                    yield f"call {event.call} was begun at {envelope.seq} as allowed, and it is not what was allowed"
                continue
            approval = approvals.get(event.approval)
            if approval is None or not approval.given or approval.call != event.call:
                yield f"call {event.call} was begun at {envelope.seq} without the approval that it needed"
            elif approval.args_sha != event.args_sha:
                yield f"call {event.call} was begun at {envelope.seq} with other arguments than were approved"


def _allow(
    allowed: dict[str, tuple[Person, tuple[Act, ...]]], approvals: Mapping[str, _Approval], event: Event
) -> None:
    """What people let the whole task do after an event, by the question at which they did."""
    if isinstance(event, Decided) and event.choice == FOR_TASK and event.question in approvals:
        allowed[event.question] = event.by, approvals[event.question].allows
    elif isinstance(event, WorkspaceRestored) or (isinstance(event, InputReceived) and event.sort == "revoke"):
        allowed.clear()
    elif isinstance(event, AllowancesEnded):
        for question in [each for each, (by, _) in allowed.items() if by.id == event.person]:
            del allowed[question]


def taken_twice(log: Sequence[Envelope]) -> Iterator[str]:
    """Each inbox item is taken once."""
    taken = Counter(e.event.inbox for e in log if isinstance(e.event, InputReceived))
    for item, times in taken.items():
        if times > 1:
            yield f"what came in as {item} was taken in {times} times"


def ended_in(log: Sequence[Envelope]) -> bool:
    """Whether the log has a ``Finished``."""
    return isinstance(log[-1].event, Finished)


_Step = tuple[Execution, Envelope]
"""The state before an event, and the event."""
_AFTERWARDS = (
    FeedbackGiven, Judged, Evaluated, Reflected, WorkspaceRestored, BranchMerged, BranchRejected, CheckpointSaved,
    ModelRequested, ModelAnswered, ModelFailed, BudgetRefused, Asked, DeadlinePassed, TrialDecided,
)  # fmt: skip
_OF_AN_END = (Judged, Evaluated, Reflected, TrialDecided)


def broken_promises(log: Sequence[Envelope], outcome: Sequence[Envelope] = ()) -> tuple[str, ...]:
    """Return the violations of a log and its outcome, in plain words."""
    if not log:
        return ("the log is empty",)
    if not isinstance(log[0].event, Started):
        return (f"it begins with {log[0].event.kind!r}, not with 'started'",)
    steps = _steps(log)
    return (
        *_order(log), *_turns(steps), *unpaired_calls(log), *unpaired_requests(log), *unpaired_questions(log),
        *unapproved_calls(log), *taken_twice(log), *_stops(steps), *_caps(steps), *_checkpoints(steps), *_ends(steps),
        *_afterwards(log, outcome),
    )  # fmt: skip


def _steps(log: Sequence[Envelope]) -> list[_Step]:
    execution = Execution()
    steps: list[_Step] = []
    for envelope in log:
        steps.append((execution, envelope))
        execution = evolve(execution, envelope)
    return steps


def _order(log: Sequence[Envelope]) -> Iterator[str]:
    fence = finished = 0
    for place, envelope in enumerate(log, 1):
        if envelope.execution != log[0].execution:
            yield f"event {envelope.seq} is of another execution, {envelope.execution}"
        if envelope.seq != place:
            yield f"event {place} is numbered {envelope.seq}"
        if envelope.fence < fence:
            yield f"event {envelope.seq} was written under fence {envelope.fence}, after fence {fence}"
        fence = envelope.fence
        if isinstance(envelope.event, Started) and place > 1:
            yield f"it begins again at {envelope.seq}"
        if isinstance(envelope.event, WorkspaceRestored):
            finished = 0  # it was gone on with from there
        if finished:
            yield f"event {envelope.seq} ({envelope.event.kind}) follows the end at {finished}"
        if isinstance(envelope.event, Finished):
            finished = envelope.seq


def _turns(steps: Sequence[_Step]) -> Iterator[str]:
    for before, envelope in steps:
        event, turn = envelope.event, before.turn
        if isinstance(event, ModelRequested) and event.purpose == "turn":
            due = turn.number + 1 if turn.ended else turn.number
            if event.turn != due:
                yield f"turn {event.turn} was begun at {envelope.seq} where turn {due} was due"
            if before.request_in_flight is not None:
                yield f"request {event.request} was made at {envelope.seq} while {before.request_in_flight.id} ran"
        if isinstance(event, TurnEnded) and (event.turn != turn.number or before.open_calls):
            yield f"turn {event.turn} ended at {envelope.seq} before all of it was done"


def _stops(steps: Sequence[_Step]) -> Iterator[str]:
    """After a stop nothing begins, and the end is that of a stop."""
    for before, envelope in steps:
        event = envelope.event
        if before.stopping is None:
            continue
        if isinstance(event, ToolStarted | ModelRequested | Gated | Asked) and not _from_a_tool(event):
            yield f"{event.kind} at {envelope.seq} was begun after {before.stopping.author.name} had stopped it"
        if isinstance(event, Finished) and event.reason != "stopped":
            yield f"it was stopped by {before.stopping.author.name} and ended as {event.reason}"


def _from_a_tool(event: ToolStarted | ModelRequested | Gated | Asked) -> bool:
    """Whether the event is a result of a running call, which may come while the call is being ended."""
    if isinstance(event, Gated):
        return event.put_back
    return isinstance(event, Asked) and bool(event.call) and event.sort != "approval"


def _caps(steps: Sequence[_Step]) -> Iterator[str]:
    """No request is made where the budget is used up, so at most the cap and one request are spent."""
    for before, envelope in steps:
        event = envelope.event
        if isinstance(event, ModelRequested) and used_up_limits.reached(before) is not None:
            yield f"request {event.request} was made at {envelope.seq} with the budget used up"


def _checkpoints(steps: Sequence[_Step]) -> Iterator[str]:
    through = 0
    for before, envelope in steps:
        event = envelope.event
        if not isinstance(event, CheckpointSaved):
            continue
        if not through <= event.through_seq < envelope.seq:
            yield f"the checkpoint at {envelope.seq} says that it holds the log through {event.through_seq}"
        if event.turn > before.turn.number:
            yield f"the checkpoint at {envelope.seq} is said to be of turn {event.turn}, which had not begun"
        if not event.manifest and not event.problem:
            yield f"the checkpoint at {envelope.seq} names neither a copy nor why there is none"
        through = event.through_seq


def _ends(steps: Sequence[_Step]) -> Iterator[str]:
    """The end has a reason that agrees with the log, and reports what did not reach the model."""
    before, envelope = steps[-1]
    event = envelope.event
    if not isinstance(event, Finished):
        return
    borne_out = {
        "stopped": before.stopping is not None,
        "cancelled": before.withdrawn is not None,
        "budget": used_up_limits.reached(before) is not None,
        "limit": before.turn.number >= before.turn_limit,
        "done": before.turn.answered and before.question is None,
        "tour": before.policy.tour and before.turn.answered,
    }
    if not borne_out.get(event.reason, True):
        yield f"it ended as {event.reason}, and nothing in the log says why"
    lost = bool(task_end.unseen(before))
    if lost and event.reason == "done":
        yield "it ended as done, and what was said last had not reached the model"
    elif lost and not any(said in event.answer for said in task_end.UNSEEN):
        yield "what was said last did not reach the model, and the end does not say so"


def _afterwards(log: Sequence[Envelope], outcome: Sequence[Envelope]) -> Iterator[str]:
    """Check what people and the evaluator added after the end."""
    offers = {envelope.event.offer for envelope in log if isinstance(envelope.event, CommitCreated)}
    merged: set[str] = set()
    for place, envelope in enumerate(outcome, 1):
        event = envelope.event
        if (envelope.execution, envelope.seq) != (log[0].execution, place):
            yield f"outcome {place} is numbered {envelope.execution}/{envelope.seq}"
        if not isinstance(event, _AFTERWARDS) or (isinstance(event, ModelRequested) and event.purpose == "turn"):
            yield f"outcome {place} ({event.kind}) belongs into the log"
        if isinstance(event, _OF_AN_END) and not ended_in(log):
            yield f"outcome {place} ({event.kind}) judges an execution that has not ended"
        if isinstance(event, BranchMerged | BranchRejected):
            if event.offer not in offers:
                yield f"outcome {place} is about {event.offer}, which was never offered"
            if event.offer in merged:
                yield f"outcome {place} decides about {event.offer}, which was merged before"
            merged |= {event.offer} if isinstance(event, BranchMerged) else set()
    if outcome:
        yield from unpaired_requests(outcome)


def owners(log: Sequence[Envelope]) -> int:
    """Return how many processes worked on it, one after another."""
    return 1 + sum(isinstance(envelope.event, OwnerChanged) for envelope in log)
