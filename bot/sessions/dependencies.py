"""The parts that all sessions of a process share: stores, the loop, tools, slots, and what begins an execution."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from agentic.core.events.execution_events import InboxItem, OutboxItem, Started
from agentic.core.state.execution import Execution
from agentic.doorbells.doorbell import Doorbell
from agentic.ports.children import Children, OwnWorkspaces
from agentic.ports.runtime import (
    Clock,
    Lease,
    SessionRow,
    Store,
    Toolbox,
)
from agentic.runtime.child_runs import ChildRegistry, LoopRunner
from agentic.runtime.shutdown import Leaving
from bot.ports.actions import ForkAction
from bot.sessions.learning import Learning
from bot.sessions.lease import Allow, nothing_to_end
from bot.sessions.slots import Courtesy, Slots


class ToolSource(Protocol):
    """Makes the toolbox of a thread."""

    def toolbox(self, thread: str, children: Children | None = None) -> Toolbox:
        """Return the tools of a new agent in the thread's workspace; ``children`` do parts of its work."""
        ...

    def child_toolbox(self, thread: str, name: str, reader: bool = False, place: str = "") -> Toolbox:
        """Return the tools of a child in the thread's workspace, or in a copy of its own, called ``name`` to the agents
        beside it.
        """
        ...

    def copies(self, thread: str) -> OwnWorkspaces | None:
        """Return the copies of the thread's workspace for children; None where there can be none."""
        ...


@dataclass(frozen=True, slots=True)
class Acted:
    """The result of an action on a finished execution: the words of its receipt.

    ``redo`` is the execution that was undone, where that can be taken back; ``label`` is the text of the button for it.
    """

    text: str
    redo: str = ""
    label: str = ""


def receipt_key(act: str) -> str:
    """Return the outbox key of an action's receipt, by its inbox item."""
    return f"{act}.done"


def receipt_of(item: InboxItem, acted: Acted) -> OutboxItem:
    """Return the receipt of an action, with one key for each item."""
    return OutboxItem(
        key=receipt_key(item.id), thread=item.thread, execution="", sort="receipt", text=acted.text,
        target=item.message, redo=acted.redo, redo_label=acted.label,
    )  # fmt: skip


class Acts(Protocol):
    """Actions on a finished execution: undo it, resume it, merge its branch."""

    async def act(self, item: InboxItem, session: SessionRow, lease: Lease) -> Acted:
        """Carry the action out, at most once in effect, under the thread's lease. Raises ``AgenticError``."""
        ...

    async def ended(self, execution: Execution) -> None:
        """Note that an execution has ended and nothing of it runs any more. Never fails."""
        ...

    async def begins(self, thread: str) -> None:
        """Note that the thread's next execution is about to begin. Never fails."""
        ...


@dataclass(frozen=True, slots=True)
class Ground:
    """The parts that every session of a process is given."""

    store: Store
    clock: Clock
    runner: LoopRunner
    workshop: ToolSource
    learning: Learning
    slots: Slots
    owner: str
    begin: Callable[[InboxItem, SessionRow, Toolbox], Awaitable[Started]]
    tell: Callable[[OutboxItem], Awaitable[None]]
    acts: Acts | None = None
    forking: ForkAction | None = None
    spoken: Callable[[InboxItem], Awaitable[str]] | None = None
    """Notes what a person did, which may cancel a wake-up of their thread; returns what is to be said of that."""
    gate: Callable[[InboxItem], Awaitable[bool]] | None = None
    """Runs the gate of an item in its thread's sandbox, under the thread's lease; whether it may begin."""
    leaving: Leaving = field(default_factory=Leaving)
    """Set when the process is ending; shared with the runner."""
    drain_seconds: float = 0.0
    """Seconds that short work may take to finish when the process ends."""
    courtesy: Courtesy = field(default_factory=Courtesy)
    allow: Allow = nothing_to_end
    """Receives the time until which the effects of a thread may go on."""
    furnish: Callable[[SessionRow, InboxItem | None], Awaitable[None]] | None = None
    """Makes ready what a thread's work needs before it begins, such as its repository. Never fails."""
    children: ChildRegistry | None = None
    """The child executions of the process; without it there are none."""
    lease_lost: Callable[[], None] = lambda: None
    """Hears that another owner has a thread that this process worked on, or wanted to."""
    missed: Callable[[str], Awaitable[None]] | None = None
    """Waits until the messages that a thread missed while the bot was offline have been read."""
    works: bool = True
    """Whether executions run in this process; else what people do is stored, and others are told by the doorbell."""
    doorbell: Doorbell | None = None
    """Between the processes of the bot; None where this one is alone."""

    @property
    def alone(self) -> bool:
        """Whether no other process works on the same threads."""
        return self.doorbell is None
