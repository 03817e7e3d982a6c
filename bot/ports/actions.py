"""What a fork and other actions on a finished task give, and what they answer where they cannot be done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from agentic.core.events.execution_events import InboxItem, OutboxItem
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import Clock, SessionRow, Store


class NotDone(AgenticError):
    """Nothing was done; the message is what is told."""


@dataclass(frozen=True, slots=True)
class Forked:
    """A complete fork: the new session, and the words of the receipt."""

    row: SessionRow
    text: str


class ForkAction(Protocol):
    """What makes a new thread out of an earlier one."""

    @property
    def store(self) -> Store: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def tell(self) -> Callable[[OutboxItem], Awaitable[None]]: ...

    async def fork(self, item: InboxItem, source: SessionRow) -> Forked:
        """Fork ``source``, once for each item.  Raises ``NotDone``, ``SnapshotLost``, ``StoreError`` and ``OSError``."""
        ...
