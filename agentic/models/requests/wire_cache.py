"""Wire forms of messages and histories, kept so that a request costs what is new in it.

Messages and tools keep their identity from request to request (``agentic.ports.runtime.Message``).  An entry holds what it was
made of, so an ``id()`` cannot be given to another object while the entry lives.

A history grows at its end; where it does not (it was compacted, say), what was made of it is made again.  Conversations are
told apart by their first message.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from operator import is_
from typing import Final, Generic, Protocol, TypeVar

from agentic.ports.pictures import images_of
from agentic.ports.runtime import Message, ToolSpec

Wire = TypeVar("Wire")

CAPACITY: Final = 64_000_000
TOOLBOXES: Final = 64


class WireCache(Generic[Wire]):
    """The oldest wire forms are dropped beyond ``capacity`` characters of content; what is still used is encoded again."""

    def __init__(self, encode: Callable[[Message], Wire], *, capacity: int = CAPACITY) -> None:
        self._encode = encode
        self._capacity = capacity
        self._kept: OrderedDict[int, tuple[Message, Wire, int]] = OrderedDict()
        self._size = 0
        self.encoded = 0
        """How many messages were encoded so far."""

    def wires(self, messages: Sequence[Message]) -> list[Wire]:
        """The messages' wire forms, in order, each encoded once."""
        kept = self._kept
        found: list[Wire] = []
        for message in messages:
            entry = kept.get(id(message))
            found.append(self._add(message) if entry is None else entry[1])
        return found

    def _add(self, message: Message) -> Wire:
        wire = self._encode(message)
        self.encoded += 1
        weight = size(message)
        self._kept[id(message)] = (message, wire, weight)
        self._size += weight
        while self._size > self._capacity and len(self._kept) > 1:
            _, (_, _, dropped) = self._kept.popitem(last=False)
            self._size -= dropped
        return wire

    def __len__(self) -> int:
        return len(self._kept)


class ToolCache(Generic[Wire]):
    """The wire forms of the last few toolboxes."""

    def __init__(self, encode: Callable[[tuple[ToolSpec, ...]], Wire]) -> None:
        self._encode = encode
        self._kept: OrderedDict[tuple[int, ...], tuple[tuple[ToolSpec, ...], Wire]] = OrderedDict()

    def wire(self, tools: tuple[ToolSpec, ...]) -> Wire:
        """The tools' wire form, encoded once."""
        key = tuple(map(id, tools))
        entry = self._kept.get(key)
        if entry is None:
            entry = (tools, self._encode(tools))
            self._kept[key] = entry
            if len(self._kept) > TOOLBOXES:
                self._kept.popitem(last=False)
        return entry[1]


def size(message: Message) -> int:
    """About how many characters a message holds."""
    total = 400 + len(message.text) + sum(len(answer.text) for answer in message.answers)
    total += sum(len(image.data) for image in images_of(message))
    total += sum(len(opaque) + len(text) for _, text, opaque in message.reasoning)
    return total + sum(len(str(call.arguments)) for call in message.calls)


GROWN_CAPACITY: Final = 32_000_000


class Taking(Protocol):
    """What is made of a history, message by message."""

    def take(self, messages: Sequence[Message]) -> None:
        """Go on with these messages, which follow on those before."""
        ...


Made = TypeVar("Made", bound=Taking)


class Grown(Generic[Made]):
    """The longest unused conversations are let go of beyond ``capacity`` characters, and made again when they come."""

    def __init__(self, begin: Callable[[], Made], *, capacity: int = GROWN_CAPACITY) -> None:
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
