"""Children of an execution: parts of its work, done side by side by executions of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentic.core.events.execution_events import (
    UNEXPOSED,
    Exposure,
    FileChange,
    Finished,
    QuotedMessage,
    StaleFile,
    SubagentFinished,
)


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


class Children(Protocol):
    """The children of one execution."""

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
