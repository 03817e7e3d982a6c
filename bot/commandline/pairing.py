"""What belongs together in a log: intents and results, requests and answers, questions and decisions; pure.

Each function gives a line for each thing that does not pair; ``verdict`` gathers them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from agentic.core.amounts import STOP
from agentic.core.answering import at_least
from agentic.core.events import (
    Asked,
    CallBlock,
    Decided,
    Envelope,
    Finished,
    Gated,
    InputReceived,
    Level,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    ToolFinished,
    ToolStarted,
    WorkspaceFound,
    WorkspaceRestored,
)
from agentic.core.identity import call_id
from agentic.core.lazy_dataclass import dataclass
from agentic.core.peopled import ALLOW, MACHINE
from agentic.core.verifying import as_written


def unpaired_calls(log: Sequence[Envelope]) -> Iterator[str]:
    """Each intent has one result; a call without a key is begun once; again means: by another owner, with the same key.

    What is begun, or has a result, is a call that an answer made.
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
    """Calls that had an intent, and are as if they had not."""
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
    """Each request has one answer or failure, and nothing is answered that was not asked."""
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
    """Ending it where more was asked for needs no right to give more."""
    return "executor" if asked.sort == "extension" and decided.choice == STOP else asked.who_may


@dataclass(slots=True)
class _Approval:
    """What a person is asked to allow, and whether they did."""

    call: str
    args_sha: str
    given: bool = False


def unapproved_calls(log: Sequence[Envelope]) -> Iterator[str]:
    """What needed an approval began only under one: of the same call, with the same arguments, given before."""
    gates: dict[str, Gated] = {}
    approvals: dict[str, _Approval] = {}
    begun: set[str] = set()
    for envelope in log:
        event = envelope.event
        if isinstance(event, Gated):
            gates[event.call] = event
        elif isinstance(event, Asked) and event.sort == "approval":
            approvals[event.question] = _Approval(event.call, event.args_sha)
        elif isinstance(event, Decided) and event.question in approvals:
            approvals[event.question].given = event.choice == ALLOW
        elif isinstance(event, ToolStarted) and (event.approval or event.call in gates) and event.call not in begun:
            begun.add(event.call)
            approval = approvals.get(event.approval)
            if approval is None or not approval.given or approval.call != event.call:
                yield f"call {event.call} was begun at {envelope.seq} without the approval that it needed"
            elif approval.args_sha != event.args_sha:
                yield f"call {event.call} was begun at {envelope.seq} with other arguments than were approved"


def taken_twice(log: Sequence[Envelope]) -> Iterator[str]:
    """What a person did is taken in once."""
    taken = Counter(e.event.inbox for e in log if isinstance(e.event, InputReceived))
    for item, times in taken.items():
        if times > 1:
            yield f"what came in as {item} was taken in {times} times"


def ended_in(log: Sequence[Envelope]) -> bool:
    """Whether the log has its end."""
    return isinstance(log[-1].event, Finished)
