"""Keeps the pairing of tool calls and results that every provider insists on.  Pure.

On the way in, each call of an answer gets an id that occurs nowhere else in the history (``unique_ids``).  On the way
out, each call in the history has exactly one result, in call order, in the message after it (``paired``): a call
without one gets a failed result that says so, a result without a call is dropped.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence, Set
from dataclasses import replace
from typing import Final

from agentic.core.events.execution_events import Block, CallBlock
from agentic.ports.runtime import Message, ToolAnswer, ToolCall

NO_RESULT: Final = "No result of this call was recorded. Whether it took effect is unknown: check before repeating it."


def call_ids(messages: Iterable[Message]) -> set[str]:
    """Every call id in the history."""
    return {call.provider_id for message in messages for call in message.calls}


def unique_ids(
    blocks: Sequence[Block], messages: Sequence[Message], known: Set[str] | None = None
) -> tuple[Block, ...]:
    """The blocks with missing and repeated call ids replaced; those that are unique stay as the provider gave them.

    ``known``: the ids of all calls in the messages, where they were collected before.
    """
    if not any(isinstance(block, CallBlock) for block in blocks):
        return tuple(blocks)
    taken = _Taken(call_ids(messages) if known is None else known)
    repaired: list[Block] = []
    for place, block in enumerate(blocks):
        if isinstance(block, CallBlock):
            if not block.provider_id.strip() or block.provider_id in taken:
                block = block.model_copy(update={"provider_id": _free(f"call_{len(messages)}_{place}", taken)})
            taken.add(block.provider_id)
        repaired.append(block)
    return tuple(repaired)


def paired(messages: Sequence[Message]) -> Sequence[Message]:
    """The history with every call answered once and in order.

    The same object where nothing is wrong, which is checked in one cheap pass; untouched messages keep their identity.
    """
    return messages if _is_paired(messages) else _repair(messages)


class Pairing:
    """Whether a history is paired, found out message by message."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        """The ids of all its calls, while nothing is wrong."""
        self.broken = False
        """Something is wrong that nothing later can put right."""
        self._open: tuple[ToolCall, ...] = ()

    @property
    def holds(self) -> bool:
        """Every call so far is answered, once and in order."""
        return not self.broken and not self._open

    def take(self, messages: Sequence[Message]) -> None:
        """Go on with these messages."""
        for message in messages:
            if message.answers or message.calls or self._open:
                self.broken = self.broken or not (self._answers(message) and self._asks(message))
                self._open = message.calls

    def _answers(self, message: Message) -> bool:
        if not message.answers and not self._open:
            return True
        if message.role != "user" or len(message.answers) != len(self._open):
            return False
        return all(
            call.provider_id == answer.provider_id for call, answer in zip(self._open, message.answers, strict=True)
        )

    def _asks(self, message: Message) -> bool:
        for call in message.calls:
            if message.role != "assistant" or not call.provider_id or call.provider_id in self.ids:
                return False
            self.ids.add(call.provider_id)
        return True


class PairedHistory:
    """Something made of a history message by message, which also knows whether it is paired."""

    def __init__(self) -> None:
        self.pairing = Pairing()

    def take(self, messages: Sequence[Message]) -> None:
        """Go on with these messages."""
        self.pairing.take(messages)

    def call_ids(self, messages: Sequence[Message]) -> Set[str]:
        """The ids of all calls in these messages, which are those that were taken."""
        return call_ids(messages) if self.pairing.broken else self.pairing.ids


def _is_paired(messages: Sequence[Message]) -> bool:
    pairing = Pairing()
    pairing.take(messages)
    return pairing.holds


def _repair(messages: Sequence[Message]) -> tuple[Message, ...]:
    repaired: list[Message] = []
    seen: set[str] = set()
    place = 0
    while place < len(messages):
        message = messages[place]
        place += 1
        if message.role != "assistant":
            repaired.extend(
                _kept(replace(message, answers=(), calls=()) if message.answers or message.calls else message)
            )
            continue
        if message.answers:
            message = replace(message, answers=())
        follower = messages[place] if place < len(messages) and messages[place].role == "user" else None
        named, renamed = _named(message.calls, seen)
        repaired.extend(_kept(replace(message, calls=named) if renamed else message))
        if not named:
            continue
        if follower is not None:
            place += 1
        repaired.append(_answered(message.calls, named, follower))
    return tuple(repaired)


def _kept(message: Message) -> tuple[Message, ...]:
    """A message that held nothing but orphans is left out."""
    return (message,) if message.text or message.calls or message.reasoning else ()


def _named(calls: tuple[ToolCall, ...], seen: set[str]) -> tuple[tuple[ToolCall, ...], bool]:
    named: list[ToolCall] = []
    for place, call in enumerate(calls):
        if not call.provider_id or call.provider_id in seen:
            call = replace(call, provider_id=_free(f"call_{len(seen)}_{place}", seen))
        seen.add(call.provider_id)
        named.append(call)
    return tuple(named), tuple(named) != calls


def _answered(asked: tuple[ToolCall, ...], named: tuple[ToolCall, ...], follower: Message | None) -> Message:
    """The message after ``asked``, with one answer a call; the first of several answers to a call counts."""
    left = list(follower.answers) if follower is not None else []
    answers: list[ToolAnswer] = []
    for old, call in zip(asked, named, strict=True):
        found = next((answer for answer in left if answer.provider_id == old.provider_id), None)
        if found is None:
            answers.append(ToolAnswer(call.provider_id, call.tool, NO_RESULT, failed=True))
            continue
        left.remove(found)
        answers.append(found if found.provider_id == call.provider_id else replace(found, provider_id=call.provider_id))
    if follower is None:
        return Message("user", answers=tuple(answers))
    same = tuple(answers) == follower.answers and not follower.calls
    return follower if same else replace(follower, answers=tuple(answers), calls=())


class _Taken:
    """Ids that were there before, and those that came since."""

    def __init__(self, before: Set[str]) -> None:
        self._before = before
        self._since: set[str] = set()

    def __contains__(self, name: object) -> bool:
        return name in self._before or name in self._since

    def add(self, name: str) -> None:
        """One more."""
        self._since.add(name)


def _free(wanted: str, taken: Container[str]) -> str:
    candidate, count = wanted, 0
    while candidate in taken:
        count += 1
        candidate = f"{wanted}_{count}"
    return candidate
