"""Results and errors of forks and other actions on a finished task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from agentic.core.events.execution_events import InboxItem, OutboxItem
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import Clock, SessionRow, Store


class NotDone(AgenticError):
    """Nothing was done; the message is for the person."""


@dataclass(frozen=True, slots=True)
class Forked:
    """A complete fork: the new session, and the text of the receipt."""

    row: SessionRow
    text: str


class ForkAction(Protocol):
    """Makes a new thread out of an earlier one."""

    @property
    def store(self) -> Store: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def owner(self) -> str: ...

    @property
    def tell(self) -> Callable[[OutboxItem], Awaitable[None]]: ...

    async def fork(self, item: InboxItem, source: SessionRow) -> Forked:
        """Fork ``source``, once for each item. Raises ``NotDone``, ``SnapshotLost``, ``StoreError`` and ``OSError``."""
        ...
