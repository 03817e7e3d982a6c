"""Children of an execution: parts of its work, done side by side by executions of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentic.core.claims.comparison import TriedApproach
from agentic.core.events.execution_events import (
    UNEXPOSED,
    Exposure,
    FileChange,
    Finished,
    QuotedMessage,
    StaleFile,
    SubagentFinished,
)
from agentic.ports.runtime import Saved


@dataclass(frozen=True, slots=True)
class ChildTask:
    """A part of the work; its role is read from its words where none is given."""

    task: str
    role: str | None = None
    """planner, coder, reviewer (asked of a model of another family than its parent's, where one is configured), or a role of
    people's own.
    """
    quoted: tuple[QuotedMessage, ...] = ()
    """What it is given as data."""
    reader: bool = False
    """All it does is to read what it is given and to answer: it has no tools, and is asked of the cheapest tier."""


@dataclass(frozen=True, slots=True)
class ChildResult:
    """What a child came to; its task is the one that it was begun with, whoever began it."""

    task: ChildTask
    finished: Finished
    ended: SubagentFinished
    """The same for its parent's log."""
    changes: tuple[FileChange, ...] = ()
    exposure: Exposure = UNEXPOSED
    conflicts: tuple[StaleFile, ...] = ()
    tried: TriedApproach | None = None
    """What can be taken of it, where it had a workspace of its own."""


@dataclass(frozen=True, slots=True)
class FileDifference:
    """A file that differs between two snapshots; ``lines`` is a unified diff, empty where it is no text or too long."""

    path: str
    added: int = 0
    removed: int = 0
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """What a child's workspace brought into its thread's; with ``conflicts``, each a path with the reason, nothing."""

    changes: tuple[FileChange, ...] = ()
    conflicts: tuple[str, ...] = ()


class OwnWorkspaces(Protocol):
    """Copies of a thread's workspace, one for each child that has its own.

    Each may be asked again for the same after a crash, and then does what is left to do.
    """

    async def checkpoint(self) -> Saved:
        """Keep the thread's workspace as it is."""
        ...

    async def open(self, place: str, base: str) -> None:
        """Make a copy as the thread's snapshot ``base`` has it.  Raises ``SandboxError`` where that cannot be done."""
        ...

    async def close(self, place: str, *, keep: bool) -> Saved:
        """End what runs in a copy; with ``keep``, save what it came to."""
        ...

    async def differences(self, place: str, base: str, end: str) -> tuple[FileDifference, ...]:
        """What was changed in a copy.  Raises ``SandboxError``."""
        ...

    async def take(self, place: str, base: str, end: str) -> Taken:
        """Bring what was changed in a copy into the thread's workspace, or nothing where that changed in the same files
        since ``base``.  Raises ``SandboxError``.
        """
        ...

    async def drop(self, places: Sequence[str]) -> None:
        """Delete copies; their snapshots stay as long as the logs that name them."""
        ...


class Children(Protocol):
    """The children of one execution."""

    @property
    def workspaces(self) -> OwnWorkspaces | None:
        """The workspaces of children that have their own; None where there can be none."""
        ...

    async def run(
        self,
        call: str,
        tasks: Sequence[ChildTask],
        on_output: Callable[[str], None],
        *,
        first: int = 0,
        share: int = 0,
    ) -> tuple[ChildResult, ...] | str:
        """Have the parts done side by side, in the parent's workspace and out of what is left of its caps; or why not.

        For the same call the same children: those that have ended keep their result, the others go on from where they are.
        Where the call is cancelled by its execution, they are stopped, and it answers what they came to; cancelled for
        any other reason it raises ``CancelledError``, and they are left to whoever begins the call again.

        A call that has children more than once numbers them from ``first`` on, and says among how many in all its money
        is shared (``share``; 0: these).
        """
        ...

    async def approach(
        self, call: str, ways: Sequence[str], on_output: Callable[[str], None]
    ) -> tuple[str, tuple[ChildResult, ...]] | str:
        """Have the parent's task done in each of these ways, in workspaces of their own that begin at one checkpoint.

        Answers that checkpoint with what each came to, or why it cannot be done.  The rest is as with ``run``.
        """
        ...
