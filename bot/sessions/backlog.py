"""The bound on messages that wait in one thread, in the order they were written.

An item waits while it lies in the inbox, and while an execution holds it that has not sent it to a model yet. Whoever
writes more is told once that the inbox is full and, when there is room again, how many messages were left out.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from agentic.core.events.execution_events import (
    Envelope,
    Finished,
    InboxItem,
    InputReceived,
    ModelRequested,
    Sort,
    Started,
)
from bot.rendering.discord_text import plain

ROOM = 50
MESSAGES: frozenset[Sort] = frozenset(("task", "queue", "guidance", "side", "edited"))
"""Kinds of items that take up room; reactions, answers and stops always fit."""
FULL = (
    "{room} messages are already waiting here, more than I can handle at once. I'm skipping this one and what "
    "follows until I've read those."
)
ROOM_AGAIN = "I have room again. I skipped {count}; send again what still matters."


@dataclass(slots=True)
class Crowd:
    """The items that wait in one thread; ``waiting`` are ids of inbox items."""

    waiting: set[str] = field(default_factory=set[str])
    unseen: int = 0
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    """Number of refused messages, by the name of their author."""
    room: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def full(self) -> bool:
        """Whether there is no more room."""
        return len(self.waiting) + self.unseen >= ROOM

    def refuses(self, item: InboxItem) -> bool:
        """Whether the item does not fit; a refused item is counted."""
        if item.sort not in MESSAGES or not self.full or not self.waiting.isdisjoint((item.id, item.message)):
            return False  # an edit of what waits takes its place
        self.room.clear()
        self.left_out[item.author.name] = self.left_out.get(item.author.name, 0) + 1
        return True

    def added(self, item: InboxItem) -> None:
        """Count an item that was stored in the inbox."""
        if item.sort in MESSAGES:
            self.waiting.add(item.id)

    def found(self, pending: list[InboxItem]) -> None:
        """Replace what is known by the present contents of the inbox."""
        self.waiting = {item.id for item in pending if item.sort in MESSAGES}
        self._look()

    def saw(self, envelope: Envelope) -> None:
        """Follow the log: an execution took items, or sent them to a model."""
        event = envelope.event
        if isinstance(event, Started):
            self.waiting.discard(event.inbox)
            self.unseen = 0
        elif isinstance(event, InputReceived):
            self.waiting.discard(event.inbox)
            self.unseen += event.sort in MESSAGES
        elif isinstance(event, ModelRequested | Finished):
            self.unseen = 0
        else:
            return
        self._look()

    def gone(self, ids: list[str]) -> None:
        """Remove items that were discarded."""
        self.waiting.difference_update(ids)
        self._look()

    def over(self) -> str:
        """Return the notice for when there is room again, '' for none; counting starts anew."""
        counts = [f"{number} of {plain(name, 40)}'s messages" for name, number in self.left_out.items()]
        self.left_out.clear()
        return ROOM_AGAIN.format(count=", ".join(counts))

    def _look(self) -> None:
        if not self.full:
            self.room.set()
