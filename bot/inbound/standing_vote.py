"""A person's current vote: the last one they gave through a message, wherever it is stored."""

from __future__ import annotations

from typing import Literal

from agentic.core.events.execution_events import FeedbackGiven, InputReceived
from agentic.ports.runtime import Store

Vote = Literal["up", "down", "none"]
Standing = tuple[Vote, str]
"""The vote and what it is about: a progress message may show a later turn now than when the vote was given."""


async def standing_vote(store: Store, thread: str, target: str, message: str, person: str) -> Standing:
    """Return the current vote; 'none' where there is none, or where it was withdrawn.

    A vote in the inbox is newer than one in the outcome of an execution, and that is newer than one in its log.
    """
    waiting = [i for i in await store.pending(thread) if i.sort == "feedback" and i.author.id == person]
    for item in reversed(waiting):
        if item.message == message or item.target == target:
            return _vote(item.text), item.target
    execution = target.partition("/")[0]
    if not execution or await store.execution(execution) is None:
        return "none", target
    return await _kept(store, execution, target, message, person)


async def _kept(store: Store, execution: str, target: str, message: str, person: str) -> Standing:
    standing: Standing = ("none", target)
    async for envelope in store.read(execution):
        event = envelope.event
        if not isinstance(event, InputReceived) or event.sort != "feedback" or event.author.id != person:
            continue
        if event.message == message or event.target == target:
            standing = (_vote(event.text), event.target)
    for envelope in await store.read_outcome(execution):
        event = envelope.event
        if isinstance(event, FeedbackGiven) and event.by.id == person and _alike(event.target, target):
            standing = (event.vote, event.target)
    return standing


def _alike(given: str, target: str) -> bool:
    """Whether both are about the result, or both about a turn of the same execution."""
    return given == target or ("/turn:" in given and "/turn:" in target)


def _vote(text: str) -> Vote:
    return "up" if text == "up" else "down" if text == "down" else "none"
