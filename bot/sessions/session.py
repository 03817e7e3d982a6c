"""One thread with an agent: its state, its asyncio task, and the events that wake it.

``state`` holds what is true of the thread, and only ``apply`` changes it (``bot/thread_state``); everything needed to
go on after a crash is in the store. ``session_work`` does the work in one asyncio task, which lives while there is something
to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Self, assert_never

from agentic.core.events.execution_events import Envelope, ModelRequested, OutboxItem
from agentic.ports.runtime import SessionRow
from bot.ports.conversation import StatusView
from bot.sessions.backlog import Crowd
from bot.sessions.dependencies import Ground
from bot.thread_state.session_state import (
    IDLE,
    Appended,
    BrokenOff,
    ReleaseSlot,
    Rested,
    RetakeSlot,
    SessionEvent,
    SessionState,
    Stage,
    StopExecution,
    StopRequested,
    advance,
)


@dataclass(slots=True)
class Session:
    """A thread and the work that runs in it."""

    row: SessionRow
    ground: Ground
    serve: Callable[[Self], Coroutine[None, None, None]]
    """The work of its asyncio task (``session_work``)."""
    state: SessionState = IDLE
    task: asyncio.Task[None] | None = None
    learning: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    crowd: Crowd = field(default_factory=Crowd)
    recalled: str = ""
    """The execution of an earlier process whose log was just read, so that it is not read twice."""
    again: bool = False
    """Set when an item arrived while an interrupted execution was still ending, which may have taken it: look at the
    inbox again.
    """
    heard: frozenset[str] = frozenset()
    """Inbox items that were seen there, where others store them."""
    woken: bool = False
    """Whether it has had work since the process began."""
    doorbell: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when there may be items in the inbox."""
    bells: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])
    """The same for each execution beside the main one."""
    aside: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when there may be a side question in the inbox."""
    halt: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by a stop: waits before the loop end at once."""
    asking: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while a question to a person is open."""

    @property
    def thread(self) -> str:
        """The thread's id."""
        return self.row.thread

    @property
    def interrupted(self) -> str:
        """The execution that a fault interrupted, '' for none."""
        one = self.state.current
        return one.id if one is not None and one.stage is Stage.INTERRUPTED else ""

    def apply(self, *events: SessionEvent) -> None:
        """Apply events to the state, and do what follows for slots and stops."""
        for event in events:
            self.state, outputs = advance(self.state, event)
            for output in outputs:
                match output:
                    case ReleaseSlot(execution):
                        self.ground.slots.set_aside(execution)
                    case RetakeSlot(execution):
                        self.ground.slots.take_back(execution)
                    case StopExecution(execution):
                        self.ground.slots.hurry(execution)
                        self.ring(execution)
                    case _:
                        assert_never(output)
        if self.state.question:
            self.asking.set()
        else:
            self.asking.clear()

    def ring(self, execution: str) -> None:
        """Make an execution beside the main one look at the inbox."""
        if (bell := self.bells.get(execution)) is not None:
            bell.set()

    def saw(self, envelope: Envelope) -> None:
        """Follow the log of an execution of the thread."""
        if envelope.execution == self.state.main:
            self.crowd.saw(envelope)
            if isinstance(envelope.event, ModelRequested):
                self.ground.courtesy.began(self.thread)
        self.apply(Appended(envelope.execution, envelope.event))

    def wake(self) -> None:
        """Look at the inbox: now if something runs, else in a new asyncio task."""
        self.woken = True
        self.doorbell.set()
        self.aside.set()
        self.again = self.task is not None and bool(self.interrupted)
        if self.task is None and not self.state.left:
            self.ground.courtesy.begins(self.thread)
            self.task = asyncio.create_task(self.serve(self), name=f"session {self.thread}")

    def stop(self, said: int = 0) -> None:
        """Make a stored stop take effect now, whatever is being waited for."""
        self.halt.set()
        self.apply(StopRequested(said))
        self.wake()

    def interrupt(self) -> bool:
        """Cancel the running task without an event in the log; False where nothing runs."""
        if self.task is None:
            return False
        self.apply(BrokenOff(self.state.main))
        self.again = False
        self.doorbell.clear()
        self.task.cancel()
        return True

    def rests(self) -> None:
        """Note that nothing runs; while the process ends, what is left for the next start stays the main execution."""
        self.ground.courtesy.began(self.thread)
        self.apply(Rested())

    async def idle(self) -> None:
        """Wait until nothing runs in the thread, and nothing is being learned from it."""
        while running := self._running():
            await asyncio.wait(running)

    async def settled(self) -> None:
        """Wait until nothing runs in the thread, or a person is being asked."""
        while not self.state.question and (running := self._running()):
            asked = asyncio.create_task(self.asking.wait())
            try:
                await asyncio.wait((*running, asked), return_when=asyncio.FIRST_COMPLETED)
            finally:
                asked.cancel()

    def _running(self) -> tuple[asyncio.Task[None], ...]:
        return (*((self.task,) if self.task is not None else ()), *self.learning)

    def standing(self) -> StatusView | None:
        """Return what decides the meaning of messages and reactions here; None where nothing runs, so that only a log
        can tell.

        It does not read the log: a stop must not wait until the log of the execution is read and folded.
        """
        state = self.state
        one = state.current
        if one is None or one.side or not state.requester:
            return None
        return StatusView(
            state.phase.activity, execution=one.id, requester=state.requester, question=state.question,
            asked=one.question, paused=one.paused_by,
        )  # fmt: skip

    async def tell(self, key: str, execution: str, text: str, *, notify: bool = False) -> None:
        """Post a notice in the thread, once for each key. Raises ``StoreError``."""
        notice = OutboxItem(key=key, thread=self.thread, execution=execution, sort="notice", text=text, notify=notify)
        await self.ground.tell(notice)
