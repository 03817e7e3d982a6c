"""What an item whose fate is unknown may have become already: read back from its channel before it is posted again.

A nonce makes a repetition one message, but Discord remembers it for minutes only.  After a longer break (a crash and a late
restart, a network that was away, a machine that slept) an item may stand there although nobody recorded it.  Items of a
channel are posted one after the other and recorded in that order, so only the first that waits is in doubt, and it stands
below everything that was recorded.  It is known by its key in a button, a progress message without buttons by when its
execution began, and what has neither by its words, what it replies to and its files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.runtime import OutboxRow, Store

_BEGAN = re.compile(r"<t:(\d+):R>")


@dataclass(frozen=True, slots=True)
class SeenMessage:
    """A message of the bot's as it stands in a channel."""

    id: str
    content: str
    keys: frozenset[str] = frozenset()
    """Keys of outbox items in its buttons."""
    reply_to: str = ""
    files: int = 0


class Doubts:
    """Which item of each channel may have been posted without being recorded."""

    def __init__(self) -> None:
        self._items: dict[str, str] = {}

    def inherit(self, rows: Iterable[OutboxRow]) -> None:
        """An earlier process left these undelivered, in this order."""
        for row in rows:
            self._items.setdefault(row.item.thread, row.item.key)

    def arise(self, item: OutboxItem) -> None:
        """It was sent, and no answer came."""
        self._items[item.thread] = item.key

    def settle(self, item: OutboxItem) -> None:
        """Its messages are recorded."""
        if self.about(item):
            del self._items[item.thread]

    def about(self, item: OutboxItem) -> bool:
        """Whether it may stand there already."""
        return self._items.get(item.thread) == item.key


async def known(store: Store, message: str) -> bool:
    """Whether a message was recorded as what an item became."""
    return await store.by_message(message) is not None


@dataclass(frozen=True, slots=True)
class ExpectedPost:
    """What an item becomes: its parts as they are posted, the files with the last of them, what the first replies to."""

    item: OutboxItem
    parts: tuple[str, ...]
    files: int = 0
    reply_to: str = ""


async def standing(store: Store, wanted: ExpectedPost, seen: Sequence[SeenMessage]) -> tuple[list[str], int]:
    """The messages that it is already, and which part is still to come; ``seen`` are oldest first.

    Its key stands under the last part: where that is there all of it was posted, also what somebody has deleted since.
    """
    if wanted.item.sort == "progress":
        shown = await _progress(store, wanted.item, seen)
        return shown, len(shown)
    last = next((one for one in seen if wanted.item.key in one.keys), None)
    left = [one for one in seen if not one.keys]
    found: list[str] = []
    for index, part in enumerate(wanted.parts):
        whole = index == len(wanted.parts) - 1
        if whole and last is not None:
            break
        one = _first_alike(left, part, wanted.files if whole else 0, "" if index else wanted.reply_to)
        if one is None:
            break
        left = left[left.index(one) + 1 :]
        found.append(one.id)
    return ([*found, last.id], len(wanted.parts)) if last is not None else (found, len(found))


async def _progress(store: Store, item: OutboxItem, seen: Sequence[SeenMessage]) -> list[str]:
    """Its words change all the time; without buttons it still says when its execution began."""
    row = await store.execution(item.execution)
    if row is None or row.started_at is None:
        return []
    began = str(int(row.started_at.timestamp()))
    return [
        one.id
        for one in seen
        if item.key in one.keys or (not one.keys and began in _BEGAN.findall(one.content.partition("\n")[0]))
    ][:1]


def _first_alike(seen: Sequence[SeenMessage], part: str, files: int, reply_to: str) -> SeenMessage | None:
    """Discord takes away space around a text, and the reference to a message that was deleted."""
    words = part.split()
    for one in seen:
        if one.content.split() == words and one.files == files and one.reply_to in ("", reply_to):
            return one
    return None
