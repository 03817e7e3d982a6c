"""What must be true of every log, checked by reading it once; pure.

Each broken promise is one line.  An empty result means: the log is one that an execution could have written; each intent
has its one result; no call without a key was begun twice, and none that a person must allow without a yes to just that;
after a stop nothing was begun; what people said reached the model or is said to be lost; the caps hold; the end is one
that the log bears out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentic.core import closing, used_up
from agentic.core.events import (
    Asked,
    BranchMerged,
    BranchRejected,
    BudgetRefused,
    CheckpointSaved,
    CommitCreated,
    DeadlinePassed,
    Envelope,
    Evaluated,
    FeedbackGiven,
    Finished,
    Gated,
    Judged,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    OwnerChanged,
    Reflected,
    Started,
    ToolStarted,
    TrialDecided,
    TurnEnded,
    WorkspaceRestored,
)
from agentic.core.evolving import evolve
from agentic.core.execution import Execution
from bot.commandline.pairing import (
    ended_in,
    taken_twice,
    unapproved_calls,
    unpaired_calls,
    unpaired_questions,
    unpaired_requests,
)

_Step = tuple[Execution, Envelope]
"""The state before an event, and the event."""
_AFTERWARDS = (
    FeedbackGiven, Judged, Evaluated, Reflected, WorkspaceRestored, BranchMerged, BranchRejected, CheckpointSaved,
    ModelRequested, ModelAnswered, ModelFailed, BudgetRefused, Asked, DeadlinePassed, TrialDecided,
)  # fmt: skip
_OF_AN_END = (Judged, Evaluated, Reflected, TrialDecided)


def broken_promises(log: Sequence[Envelope], outcome: Sequence[Envelope] = ()) -> tuple[str, ...]:
    """What is wrong with a log and with what came after its end, in plain words; empty where nothing is."""
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
    """After a stop nothing is begun; the end is that of a stop."""
    for before, envelope in steps:
        event = envelope.event
        if before.stopping is None:
            continue
        if isinstance(event, ToolStarted | ModelRequested | Gated | Asked) and not _from_a_tool(event):
            yield f"{event.kind} at {envelope.seq} was begun after {before.stopping.author.name} had stopped it"
        if isinstance(event, Finished) and event.reason != "stopped":
            yield f"it was stopped by {before.stopping.author.name} and ended as {event.reason}"


def _from_a_tool(event: ToolStarted | ModelRequested | Gated | Asked) -> bool:
    """A question, or that it was put back, is what a call that ran came to: it may come while the call is being ended."""
    if isinstance(event, Gated):
        return event.put_back
    return isinstance(event, Asked) and bool(event.call) and event.sort != "approval"


def _caps(steps: Sequence[_Step]) -> Iterator[str]:
    """No request is made where the budget is used up: so what was spent is at most the cap and one request."""
    for before, envelope in steps:
        event = envelope.event
        if isinstance(event, ModelRequested) and used_up.reached(before) is not None:
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
    """The end has a reason that the log bears out, and what did not reach the model is said."""
    before, envelope = steps[-1]
    event = envelope.event
    if not isinstance(event, Finished):
        return
    borne_out = {
        "stopped": before.stopping is not None,
        "cancelled": before.withdrawn is not None,
        "budget": used_up.reached(before) is not None,
        "limit": before.turn.number >= before.turn_limit,
        "done": before.turn.answered and before.question is None,
        "tour": before.policy.tour and before.turn.answered,
    }
    if not borne_out.get(event.reason, True):
        yield f"it ended as {event.reason}, and nothing in the log says why"
    lost = closing.unseen(before).strip()
    if lost and event.reason == "done":
        yield "it ended as done, and what was said last had not reached the model"
    elif lost and lost not in event.answer:
        yield "what was said last did not reach the model, and the end does not say so"


def _afterwards(log: Sequence[Envelope], outcome: Sequence[Envelope]) -> Iterator[str]:
    """What people and the evaluator added after the end."""
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
    """How many processes worked on it, one after another."""
    return 1 + sum(isinstance(envelope.event, OwnerChanged) for envelope in log)
