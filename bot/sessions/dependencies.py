"""What every thread with an agent stands on: stores, the loop, tools, places in the line, and who begins an execution."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from agentic.core.events.execution_events import InboxItem, OutboxItem, Started
from agentic.core.state.execution import Execution
from agentic.ports.runtime import (
    Clock,
    Lease,
    SessionRow,
    Store,
    Toolbox,
)
from agentic.runtime.shutdown import Leaving
from bot.ports.actions import ForkAction
from bot.sessions.learning import Learning
from bot.sessions.lease import Allow, nothing_to_end
from bot.sessions.slots import Courtesy, Slots


class Runner(Protocol):
    """``agentic.runtime.loop.Loop``."""

    async def run(
        self, lease: Lease, execution: str, toolbox: Toolbox, doorbell: asyncio.Event, started: Started | None = None
    ) -> Execution:
        """Run an execution to its end."""
        ...


class ToolSource(Protocol):
    """What gives a thread its tools."""

    def toolbox(self, thread: str) -> Toolbox:
        """The tools of a new agent in the thread's world."""
        ...


@dataclass(frozen=True, slots=True)
class Acted:
    """What somebody did to what an execution left behind came to: the receipt's words.

    ``redo``: the execution that was undone, where that can be taken back; ``label``: the words of the button for it.
    """

    text: str
    redo: str = ""
    label: str = ""


def receipt_of(item: InboxItem, acted: Acted) -> OutboxItem:
    """What is said of an act, once for each item."""
    return OutboxItem(
        key=f"{item.id}.done", thread=item.thread, execution="", sort="receipt", text=acted.text,
        target=item.message, redo=acted.redo, redo_label=acted.label,
    )  # fmt: skip


class Acts(Protocol):
    """What people do to what an execution left behind: undo it, take it up again, merge its branch."""

    async def act(self, item: InboxItem, session: SessionRow, lease: Lease) -> Acted:
        """Do it, at most once in effect, under the thread's lease.  Raises ``AgenticError``."""
        ...

    async def ended(self, execution: Execution) -> None:
        """An execution has ended, and nothing of it runs any more.  Never fails."""
        ...

    async def begins(self, thread: str) -> None:
        """The thread's next execution is about to begin.  Never fails."""
        ...


@dataclass(frozen=True, slots=True)
class Ground:
    """The same for every session of a process."""

    store: Store
    clock: Clock
    runner: Runner
    workshop: ToolSource
    learning: Learning
    slots: Slots
    owner: str
    begin: Callable[[InboxItem, SessionRow, Toolbox], Awaitable[Started]]
    tell: Callable[[OutboxItem], Awaitable[None]]
    acts: Acts | None = None
    forking: ForkAction | None = None
    leaving: Leaving = field(default_factory=Leaving)
    """Shared with the runner."""
    drain_seconds: float = 0.0
    """So long what is in the middle of something may take to end when the process does."""
    courtesy: Courtesy = field(default_factory=Courtesy)
    allow: Allow = nothing_to_end
    """Told until when the effects of a thread may go on."""
    missed: Callable[[str], Awaitable[None]] | None = None
    """Waits until what was said in a thread while nobody listened has been read; then what ran there may go on."""
