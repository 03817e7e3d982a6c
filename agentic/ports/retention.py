"""How long things are kept, and how they go: logs that expired, threads that were deleted, what a person had erased."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from agentic.core.events.execution_events import Envelope, OutboxItem

__all__ = ["Buried", "Kept", "Retention"]


@dataclass(frozen=True, slots=True)
class Buried:
    """An execution whose log was deleted: that it was there is still known, and nothing that was said in it."""

    execution: str
    thread: str
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """How much a store holds."""

    executions: int = 0
    open: int = 0
    events: int = 0
    oldest: datetime | None = None
    """When the oldest execution began whose log is there."""
    outbox: int = 0
    bytes: int = 0
    """On the disk, large contents included; 0 where nothing is on a disk."""
    free: int = 0
    """Of these, room that the next logs are written into."""


class Retention(Protocol):
    """Deletes what need not be kept, in pieces that nobody waits for.

    A log goes in two steps.  It is *buried* in one transaction: from then on no reader finds it.  Then its rows are
    *cleared*, piece by piece.  A process may die between any two pieces; the next one goes on where it was.  Contents that
    no log names any more are swept afterwards.  Ids of inbox items and fences are never deleted.
    """

    async def expire(self, before: datetime, most: int = 20) -> int:
        """Bury finished executions of which nothing happened since ``before``; how many those were, at most ``most``.

        All logs of a thread stay while something in it is open, waits in its inbox, or is still to be delivered.
        """
        ...

    async def bury(self, executions: Sequence[str]) -> int:
        """Bury these executions, whatever their age; how many were.  One that is open stays."""
        ...

    async def forget_thread(self, thread: str, facts: Sequence[str] = ()) -> bool:
        """Let go of all that is kept of a thread that is no more; False, and nothing is done, while something is open.

        ``facts``: keys of small facts that go as well.  Its fence, its labels, ids of inbox items and what was asked about
        lessons stay.
        """
        ...

    async def burials(self) -> list[str]:
        """Threads with executions that are buried and not cleared yet."""
        ...

    async def clear(self, thread: str) -> bool:
        """Delete a piece of what is buried in a thread; False when nothing is left of it."""
        ...

    async def buried(self, thread: str) -> list[Buried]:
        """Executions of a thread whose logs were deleted, oldest first."""
        ...

    async def was_buried(self, execution: str) -> Buried | None:
        """An execution whose log was deleted; None where it is there, or never was."""
        ...

    async def expire_outbox(self, now: datetime, before: datetime) -> bool:
        """Delete a piece of what was delivered before ``before``, with its receipts; True while more may be left.

        An item's age counts from the first call after it was put.  What asks about a lesson stays.
        """
        ...

    async def sweep_blobs(self) -> bool:
        """Do a piece of deleting contents that no log names; True while more is to be done."""
        ...

    async def scrub(self) -> bool:
        """Take what was deleted or put in another's place out of the files too; False where somebody reads it just now."""
        ...

    async def rewrite(self, execution: str, log: Sequence[Envelope], outcome: Sequence[Envelope]) -> bool:
        """Put other events in the place of those that a finished execution has; nothing else of a log ever changes.

        False, and nothing is done, where it is open or gone, or has not exactly these places.
        """
        ...

    async def said_in(self, thread: str) -> list[OutboxItem]:
        """All outbox items of a thread, delivered or not, in order."""
        ...

    async def reword(self, items: Sequence[OutboxItem]) -> None:
        """Put items in the place of those under the same keys; what those became in Discord stays known."""
        ...

    async def erase_spending(self, scope: str, before: str) -> None:
        """Forget what stands in the ledger under ``scope`` for days (YYYY-MM-DD) before ``before``."""
        ...

    async def mentioning(self, words: str) -> list[str]:
        """Executions in whose log or outcome these characters stand somewhere, oldest first; reads all there is."""
        ...

    async def kept(self) -> Kept:
        """How much there is."""
        ...
