"""What is done to a store beside the bot: looking for damage, copying it, taking executions out and bringing them in.

Commands of the operator do it while a bot may be at work on the same store, so nothing here waits for an event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from agentic.core.events.execution_events import Envelope
from agentic.ports.errors import StoreError
from agentic.ports.retention import Kept
from agentic.ports.stores import LabelRow

Value = None | int | float | str | bytes
Row = tuple[Value, ...]

SESSION_FIELDS = ("thread", "channel", "guild", "title", "created", "accessed", "confidence", "settings")
EXECUTION_FIELDS = ("name", "thread", "task", "started_at", "finished")
EVENT_FIELDS = ("seq", "at", "fence", "version", "checksum", "cause", "build", "event")
EventRow = tuple[int, int, int, int, int, str, str, str]
"""Values of ``EVENT_FIELDS``: times in microseconds since 1970, the event as JSON, a checksum over all of it."""

Told = Callable[[int], None]
"""Is told the bytes that were copied since it was last told."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is not as it was written."""

    what: str
    execution: str = ""
    """The execution whose log it stands in, '' where it concerns the whole store."""


@dataclass(frozen=True, slots=True)
class StoreFinding:
    """How a part of a store on other machines stands: such as its table."""

    part: str
    name: str
    verdict: Literal["ok", "limited", "wrong"]
    """wrong: nothing can be kept like this; limited: it can, and something is missing."""
    said: str
    """In words, with what to do."""


@dataclass(frozen=True, slots=True)
class StoredExecution:
    """One execution verbatim: what is stored, as it is stored."""

    execution: Row
    """Values of ``EXECUTION_FIELDS``."""
    events: tuple[EventRow, ...]
    outcomes: tuple[EventRow, ...]

    @property
    def name(self) -> str:
        """Its id."""
        return str(self.execution[0])

    @property
    def thread(self) -> str:
        """Its thread."""
        return str(self.execution[1])


class StoreExport(Protocol):
    """Reads single executions as they stand at one moment."""

    def names(self, thread: str) -> list[str]:
        """The executions of a thread, oldest first."""
        ...

    def execution(self, name: str) -> StoredExecution | None:
        """One execution, None where there is none of that name."""
        ...

    def was_deleted(self, name: str) -> bool:
        """Whether there was an execution of this name whose log is gone."""
        ...

    def session(self, thread: str) -> Row | None:
        """Values of ``SESSION_FIELDS``."""
        ...

    def content(self, sha: str) -> bytes | None:
        """Content by its hash.  Raises ``StoreCorrupt`` where it is not what was written."""
        ...


class StoreImport(Protocol):
    """Adds executions of another store; all of it is durable at the end, or no reader finds any of it."""

    def execution(self, coming: StoredExecution) -> bool:
        """Add one that was checked, which nobody takes up; False where all of it was there.

        Raises ``StoreError`` where its name belongs to another one.
        """
        ...

    def session(self, row: Row) -> None:
        """Add a thread's row; one that is there stays."""
        ...

    def guild(self, thread: str) -> str:
        """The guild of a thread, '' where the thread is not known."""
        ...

    def content(self, sha: str, content: bytes) -> None:
        """Add content under its hash, once."""
        ...

    def label(self, row: LabelRow) -> None:
        """Keep how an execution came out."""
        ...


class DatabaseMaintenance(Protocol):
    """What can be done to any database of a home, whatever is kept in it."""

    def damage(self, *, thoroughly: bool = False) -> tuple[Damage, ...]:
        """What is wrong with its structure; ``thoroughly`` with its indexes too, in about a minute for a gigabyte."""
        ...

    def copy(self, target: Path, told: Told = lambda _: None) -> None:
        """Write it as it is at this moment to ``target``, a new file, and make that durable."""
        ...

    def acts_by_itself(self) -> bool:
        """Whether it does more than hold what was written: one from elsewhere may; one that cannot be read does not."""
        ...


class StoreTransfer(Protocol):
    """Takes executions out of a store of executions, and brings them in."""

    def streams(self, stored: StoredExecution) -> tuple[list[Envelope], list[Envelope]]:
        """Its log and its outcome, each event held against its checksum.  Raises ``StoreCorrupt`` and ``StoreTooNew``."""
        ...

    def problems(self, stored: StoredExecution) -> Sequence[StoreError]:
        """What of it is not as it was written.  Raises ``StoreTooNew`` where that cannot be judged."""
        ...

    def exporting(self) -> AbstractContextManager[StoreExport]:
        """Look at it; nothing is changed."""
        ...

    def importing(self) -> AbstractContextManager[StoreImport]:
        """Make it if it is not there, and add to it; nothing counts where it is left by an error."""
        ...


class StoreMaintenance(DatabaseMaintenance, StoreTransfer, Protocol):
    """What can be done to the store of executions besides."""

    def unreadable(self, home: Path | None = None) -> tuple[Damage, ...]:
        """What of its events, items and contents is not what was written, where its structure is good.

        Large contents of a copy lie in the ``home`` that it was taken from.
        Raises ``StoreTooNew`` and ``StoreUnavailable``.
        """
        ...

    def kept(self) -> Kept:
        """How much there is.  Raises ``StoreError``."""
        ...

    def move_in(self) -> None:
        """Make a copy that was brought here one to work on: nobody holds a lease in it.

        Raises ``StoreTooNew`` and ``StoreCorrupt``.
        """
        ...

    def promise(self) -> None:
        """Say durably that there will be a store, so that a bot does not begin afresh while it is being brought here."""
        ...
