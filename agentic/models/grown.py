"""What was made of each conversation's history, kept so that a request costs what is new in it.

A history keeps the identity of its messages and grows at its end; where it does not (it was compacted, say), what was made
of it is made again.  Conversations are told apart by their first message.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from operator import is_
from typing import Final, Generic, Protocol, TypeVar

from agentic.models.wire_cache import size
from agentic.ports import Message

CAPACITY: Final = 32_000_000


class Taking(Protocol):
    """What is made of a history, message by message."""

    def take(self, messages: Sequence[Message]) -> None:
        """Go on with these messages, which follow on those before."""
        ...


Made = TypeVar("Made", bound=Taking)


class Grown(Generic[Made]):
    """The longest unused conversations are let go of beyond ``capacity`` characters, and made again when they come."""

    def __init__(self, begin: Callable[[], Made], *, capacity: int = CAPACITY) -> None:
        self._begin = begin
        self._capacity = capacity
        self._kept: OrderedDict[int, tuple[tuple[Message, ...], Made, int]] = OrderedDict()
        self._size = 0

    def of(self, messages: Sequence[Message]) -> Made:
        """What is made of exactly these messages."""
        history = tuple(messages)
        if not history:
            return self._begin()
        # Taken out meanwhile: what breaks off in the middle of a message is not gone on with.
        known, made, weight = self._kept.pop(id(history[0]), ((), None, 0))
        self._size -= weight
        if made is None or len(known) > len(history) or not all(map(is_, known, history)):
            known, made, weight = (), self._begin(), 0
        new = history[len(known) :]
        made.take(new)
        self._keep(history, made, weight + sum(map(size, new)))
        return made

    def _keep(self, history: tuple[Message, ...], made: Made, weight: int) -> None:
        self._kept[id(history[0])] = (history, made, weight)
        self._size += weight
        while self._size > self._capacity and len(self._kept) > 1:
            _, (_, _, dropped) = self._kept.popitem(last=False)
            self._size -= dropped

    def __len__(self) -> int:
        return len(self._kept)
