"""What must be true of every log, checked by reading it once; pure.

Each broken promise is one line.  An empty result means: the log is one that an execution could have written, each
intent has its one result, and no call without a key was begun twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from agentic.core.events import (
    Envelope,
    Finished,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    OwnerChanged,
    Started,
    ToolFinished,
    ToolStarted,
)


def broken_promises(log: Sequence[Envelope]) -> tuple[str, ...]:
    """What is wrong with a log, in plain words; empty where nothing is."""
    if not log:
        return ("the log is empty",)
    return (*_order(log), *_calls(log), *_requests(log))


def _order(log: Sequence[Envelope]) -> Iterator[str]:
    if not isinstance(log[0].event, Started):
        yield f"it begins with {log[0].event.kind!r}, not with 'started'"
    fence = 0
    finished = 0
    for place, envelope in enumerate(log, 1):
        if envelope.seq != place:
            yield f"event {place} is numbered {envelope.seq}"
        if envelope.fence < fence:
            yield f"event {envelope.seq} was written under fence {envelope.fence}, after fence {fence}"
        fence = envelope.fence
        if finished:
            yield f"event {envelope.seq} ({envelope.event.kind}) follows the end at {finished}"
        if isinstance(envelope.event, Finished):
            finished = envelope.seq


def _calls(log: Sequence[Envelope]) -> Iterator[str]:
    begun = Counter[str]()
    ended = Counter[str]()
    effects: dict[str, str] = {}
    for envelope in log:
        if isinstance(envelope.event, ToolStarted):
            begun[envelope.event.call] += 1
            effects[envelope.event.call] = envelope.event.effect
        elif isinstance(envelope.event, ToolFinished):
            ended[envelope.event.call] += 1
    for call, times in begun.items():
        if times > 1 and effects[call] == "unkeyed":
            yield f"call {call} was begun {times} times, and nothing says that it may be"
    for call, times in ended.items():
        if times > 1:
            yield f"call {call} has {times} results"
    if _ended(log):
        for call in begun.keys() - ended.keys():
            yield f"call {call} has no result"


def _requests(log: Sequence[Envelope]) -> Iterator[str]:
    asked = Counter(e.event.request for e in log if isinstance(e.event, ModelRequested))
    answered = Counter(e.event.request for e in log if isinstance(e.event, ModelAnswered | ModelFailed))
    for request, times in answered.items():
        if request not in asked:
            yield f"request {request} was answered and never made"
        elif times > 1:
            yield f"request {request} has {times} answers"
    if _ended(log):
        for request in asked.keys() - answered.keys():
            yield f"request {request} has no answer"


def _ended(log: Sequence[Envelope]) -> bool:
    return isinstance(log[-1].event, Finished)


def owners(log: Sequence[Envelope]) -> int:
    """How many processes worked on it, one after another."""
    return 1 + sum(isinstance(envelope.event, OwnerChanged) for envelope in log)
