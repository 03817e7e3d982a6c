"""One thread with an agent, as it is now: what runs in it, what waits, whether a person is asked.

Everything it needs to go on after a crash is in the store; this object only holds what is running now.  The work itself
is done by ``serving``, in one asyncio task that lives while there is something to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import field
from typing import Self

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    Envelope,
    Finished,
    InboxItem,
    InputReceived,
    ModelRequested,
    OutboxItem,
    Quarantined,
)
from agentic.core.events.ids import execution_id
from agentic.core.lazy_dataclass import dataclass
from agentic.ports.runtime import SessionRow
from bot.bells import Bell
from bot.ports.conversation import Activity, StatusView
from bot.sessions.backlog import Crowd
from bot.sessions.dependencies import Ground

STARTS = ("task", "queue", "guidance", "answer", "side")
"""Sorts that begin an execution where none is running; guidance that came a moment too late is a task of its own."""
MACHINE = "0"
"""The author of pauses and ends that no person asked for."""


@dataclass(slots=True)
class Session:
    """What is running in one thread."""

    row: SessionRow
    ground: Ground
    serve: Callable[[Self], Coroutine[None, None, None]]
    """The work of its asyncio task (``bot.sessions.worker``)."""
    doorbell: asyncio.Event = field(default_factory=Bell)
    task: asyncio.Task[None] | None = None
    execution: str = ""
    """The execution that is running, '' between two."""
    recalled: str = ""
    """The execution of an earlier process that is to go on and whose log was just read: it is read once, not twice."""
    left_open: str = ""
    """An execution that a fault of ours or of the machine interrupted; the next message takes it up again."""
    side: bool = False
    """What runs is itself a side question, which what it was asked beside did not outlive."""
    again: bool = False
    """Something came while what broke off was still ending, which may have taken it in: it goes on."""
    requester: str = ""
    """Whose execution it is."""
    resumed: int = 0
    """How often the running execution was taken up again after its sandbox or its lease was lost."""
    ended: bool = False
    """The process ends: what comes now stays in the inbox until the next start."""
    stopped: int = 0
    """The newest message or press that stopped something here; what was said before it begins nothing any more."""
    woken: bool = False
    """It has had something to do since the process began."""
    waits: bool = False
    """Something in the inbox begins an execution when the running one has ended."""
    arriving: set[str] = field(default_factory=set[str])
    """What is being made durable at this moment."""
    fetching: set[str] = field(default_factory=set[str])
    """Items in the inbox whose files are being fetched; they are not begun before."""
    halt: asyncio.Event = field(default_factory=Bell)
    """A stop was given: what precedes the loop ends at once."""
    learning: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    question: str = ""
    open_question: Asked | None = None
    """The same, with its words and options."""
    asking: asyncio.Event = field(default_factory=Bell)
    paused: str = ""
    """Who paused the running execution, '' while it is not."""
    left_alone: bool = False
    """It ended its process again and again; it waits until a person says something."""
    at_work: bool = False
    """The rules are at work on the running execution."""
    acting: bool = False
    """What people do to what an execution left behind is being done."""
    siding: bool = False
    """A side question is still being answered, and what it was beside has ended."""
    aside: asyncio.Event = field(default_factory=Bell)
    """A side question may lie in the inbox."""
    crowd: Crowd = field(default_factory=Crowd)

    @property
    def thread(self) -> str:
        """The thread's id."""
        return self.row.thread

    @property
    def activity(self) -> Activity:
        """What people see of it."""
        if self.paused or self.left_alone or self.left_open:  # ✅ and ▶ go on with what broke off, as any word does
            return "paused"
        if self.question:
            return "asking"
        busy = self.execution or self.waits or self.arriving or self.fetching or self.acting or self.siding
        return "busy" if busy else "idle"

    def wake(self) -> None:
        """Look at the inbox: now if something runs, else in a new asyncio task."""
        self.woken = True
        self.doorbell.set()
        self.aside.set()
        self.again = self.task is not None and bool(self.left_open)
        if self.task is None and not self.ended:
            self.ground.courtesy.begins(self.thread)
            self.task = asyncio.create_task(self.serve(self), name=f"session {self.thread}")

    def stop(self) -> None:
        """A stop is in the inbox: obey it now, whatever is being waited for."""
        self.halt.set()
        self.ground.slots.hurry(self.thread)
        self.wake()

    def interrupt(self) -> bool:
        """End what runs without a word in the log; False where nothing does."""
        if self.task is None:
            return False
        self.left_open, self.again = self.execution, False
        self.doorbell.clear()
        self.task.cancel()
        return True

    def saw(self, envelope: Envelope) -> None:
        """Keep up with whether a person is being asked, with pauses, and with the end."""
        event = envelope.event
        self.crowd.saw(envelope)
        if isinstance(event, ModelRequested):
            self.ground.courtesy.began(self.thread)
        if isinstance(event, Asked):
            self.asked(event)
        elif self.question and isinstance(event, Decided | Finished):
            self.answered()
            self._goes_on()
        if isinstance(event, Quarantined):
            self.left_alone = True
            self.ground.slots.set_aside(self.thread)
        elif self.left_alone and isinstance(event, InputReceived) and event.author.id != MACHINE:
            self.left_alone = event.sort == "feedback"
            self._goes_on()
        if isinstance(event, InputReceived) and event.sort == "pause":
            self.paused_by(event.author.id)
        elif isinstance(event, InputReceived) and event.sort == "resume":
            self.resumed_by(event.author.id)
        if isinstance(event, Finished):
            self.execution = ""
            self.paused = ""
            self.left_alone = False

    async def idle(self) -> None:
        """Wait until nothing runs in the thread, and nothing is being learned from it."""
        while running := self._running():
            await asyncio.wait(running)

    async def settled(self) -> None:
        """The same, or until a person is asked."""
        while not self.question and (running := self._running()):
            asked = asyncio.create_task(self.asking.wait())
            try:
                await asyncio.wait((*running, asked), return_when=asyncio.FIRST_COMPLETED)
            finally:
                asked.cancel()

    def _running(self) -> tuple[asyncio.Task[None], ...]:
        return (*((self.task,) if self.task is not None else ()), *self.learning)

    def standing(self) -> StatusView | None:
        """What decides the meaning of words and signs here; None where nothing runs, so that only a log tells.

        A stop must not wait until the log of what it stops is read and folded.
        """
        current = self.execution or self.left_open
        if not current or self.side or not self.requester or self.activity == "idle":
            return None
        return StatusView(
            self.activity, execution=current, requester=self.requester, question=self.question,
            asked=self.open_question, paused=self.paused,
        )  # fmt: skip

    def asked(self, asked: Asked) -> None:
        """A question is open: its slot is for others meanwhile."""
        self.question, self.open_question = asked.question, asked
        self.asking.set()
        self.ground.slots.set_aside(self.thread)

    def answered(self) -> None:
        """No question is open."""
        self.question, self.open_question = "", None
        self.asking.clear()

    def paused_by(self, person: str) -> None:
        """A pause of a person stands over one of the machine; a paused execution needs no slot."""
        if not self.paused or self.paused == MACHINE:
            self.paused = person
        self.ground.slots.set_aside(self.thread)

    def resumed_by(self, person: str) -> None:
        """What a person paused, the machine does not resume."""
        if person == MACHINE and self.paused not in ("", MACHINE):
            return
        self.paused = ""
        self._goes_on()

    def _goes_on(self) -> None:
        """It needs its slot again, unless it still waits for somebody."""
        if not self.paused and not self.question and not self.left_alone:
            self.ground.slots.take_back(self.thread)

    def rests(self) -> None:
        """Nothing runs; what was left for the next start is still what people speak to while the process ends."""
        self.ground.courtesy.began(self.thread)
        if self.ended:
            return
        self.execution = ""
        if not self.left_open:  # a question of what broke off is still open
            self.is_over()

    def is_over(self) -> None:
        """Nothing is open here: no question, no pause."""
        self.left_open, self.left_alone = "", False
        self.paused = ""
        self.answered()

    def takes_up(self, work: InboxItem | str) -> None:
        """From now on this is what people speak to: an execution of the log, or what an item begins."""
        if isinstance(work, str):
            self.execution, self.left_open = work, ""
            return
        self.is_over()
        self.execution = execution_id(self.thread, work.id)
        self.requester, self.side = work.author.id, False

    async def tell(self, key: str, execution: str, text: str, *, notify: bool = False) -> None:
        """Say something in the thread, once for each key.  Raises ``StoreError``."""
        notice = OutboxItem(key=key, thread=self.thread, execution=execution, sort="notice", text=text, notify=notify)
        await self.ground.tell(notice)


def starts(item: InboxItem) -> bool:
    """Whether it begins an execution where none runs; an answer to a question does not."""
    return item.sort in STARTS and not (item.sort == "answer" and item.target)
