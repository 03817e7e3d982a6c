"""One thread with an agent: its executions, one after the other, in one asyncio task.

The task lives while there is something to do: an execution the log holds open, or an item in the inbox that starts
one.  Everything it needs to go on after a crash is in the store; this object only holds what is running now.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from agentic.core.events import Asked, Decided, Envelope, Finished, InboxItem, OutboxItem, Started
from agentic.core.evolving import fold
from agentic.core.execution import Execution
from agentic.core.identity import execution_id
from agentic.errors import AgenticError, LeaseLost, SandboxLost
from agentic.ports import Clock, Lease, SessionRow, Store, Toolbox
from bot.conversation import Activity
from bot.halting import Halted, unless
from bot.learning import Learning, learn
from bot.slots import Slots
from bot.tenure import ThreadTaken, take, while_held
from bot.troubles import in_plain_words

STARTS = ("task", "queue", "guidance", "answer")
"""Sorts that begin an execution where none is running; guidance that came a moment too late is a task of its own."""
RESUMES = 2
"""A lost sandbox is made anew this often; then a person is asked to look."""
SETTLE_SECONDS = 5.0
LESSON_SECONDS = 20.0
"""So long the next execution waits for what is being learned from the one before."""

CLOSED = "This question is closed. Write what I should do."
EDITED_LATE = (
    "The task had ended when its message was edited, so the edit changes nothing. Write here what I should do."
)

log = logging.getLogger(__name__)


class Runner(Protocol):
    """``agentic.loop.Loop``."""

    async def run(
        self, lease: Lease, execution: str, toolbox: Toolbox, doorbell: asyncio.Event, started: Started | None = None
    ) -> Execution:
        """Run an execution to its end."""
        ...


class Workshop(Protocol):
    """What gives a thread its tools."""

    def toolbox(self, thread: str) -> Toolbox:
        """The tools of a new agent in the thread's world."""
        ...


@dataclass(frozen=True, slots=True)
class Ground:
    """What every session stands on."""

    store: Store
    clock: Clock
    runner: Runner
    workshop: Workshop
    learning: Learning
    slots: Slots
    owner: str
    begin: Callable[[InboxItem, SessionRow, Toolbox], Awaitable[Started]]
    tell: Callable[[OutboxItem], Awaitable[None]]


@dataclass(slots=True)
class Session:
    """What is running in one thread."""

    row: SessionRow
    ground: Ground
    opine: Callable[[InboxItem], Awaitable[bool]]
    """Takes in a vote on what has ended; it stays in the inbox until then."""
    doorbell: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    execution: str = ""
    """The execution that is running, '' between two."""
    left_open: str = ""
    """An execution that a fault of ours or of the machine interrupted; the next message takes it up again."""
    requester: str = ""
    """Whose execution it is."""
    resumed: int = 0
    """How often the running execution was taken up again after its sandbox or its lease was lost."""
    ended: bool = False
    """The process ends: what comes now stays in the inbox until the next start."""
    woken: bool = False
    """It has had something to do since the process began."""
    waits: bool = False
    """Something in the inbox begins an execution when the running one has ended."""
    arriving: set[str] = field(default_factory=set[str])
    """What is being made durable at this moment."""
    fetching: set[str] = field(default_factory=set[str])
    """Items in the inbox whose files are being fetched; they are not begun before."""
    halt: asyncio.Event = field(default_factory=asyncio.Event)
    """A stop was given: what precedes the loop ends at once."""
    learning: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    question: str = ""
    asking: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def thread(self) -> str:
        """The thread's id."""
        return self.row.thread

    @property
    def activity(self) -> Activity:
        """What people see of it."""
        if self.question:
            return "asking"
        busy = self.execution or self.left_open or self.waits or self.arriving or self.fetching
        return "busy" if busy else "idle"

    def wake(self) -> None:
        """Look at the inbox: now if something runs, else in a new asyncio task."""
        self.woken = True
        self.doorbell.set()
        if self.task is None and not self.ended:
            self.task = asyncio.create_task(self._serve(), name=f"session {self.thread}")

    def stop(self) -> None:
        """A stop is in the inbox: obey it now, whatever is being waited for."""
        self.halt.set()
        self.ground.slots.hurry(self.thread)
        self.wake()

    def interrupt(self) -> bool:
        """End what runs without a word in the log; False where nothing does."""
        if self.task is None:
            return False
        self.left_open = self.execution
        self.doorbell.clear()
        self.task.cancel()
        return True

    def saw(self, envelope: Envelope) -> None:
        """Keep up with whether a person is being asked, and with the end."""
        event = envelope.event
        if isinstance(event, Asked):
            self._asked(event.question)
        elif self.question and isinstance(event, Decided | Finished):
            self._answered()
            self.ground.slots.take_back(self.thread)
        if isinstance(event, Finished):
            self.execution = ""

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

    def _asked(self, question: str) -> None:
        self.question = question
        self.asking.set()
        self.ground.slots.set_aside(self.thread)

    def _answered(self) -> None:
        self.question = ""
        self.asking.clear()

    async def _serve(self) -> None:
        try:
            while await self._work():
                pass
        except AgenticError as trouble:
            log.error("thread %s: %s", self.thread, trouble)
            await self._report(trouble)
        except Exception as bug:
            log.exception("a fault of ours in thread %s", self.thread)
            await self._report(bug)
        finally:
            self.task = None
            self.execution = ""
            self._answered()
            if self.doorbell.is_set():
                self.wake()

    async def _work(self) -> bool:
        """One execution; False where there is none to do."""
        self.doorbell.clear()
        work = await self._next()
        if work is None:
            return self.doorbell.is_set()
        try:
            await self._perform(work)
        except (SandboxLost, LeaseLost) as lost:
            if self.resumed >= RESUMES:
                raise
            self.resumed += 1
            log.warning("thread %s goes on after: %s", self.thread, lost)
        else:
            self.resumed = 0
        return True

    async def _next(self) -> InboxItem | str | None:
        """An open execution of the log first, then the oldest item that starts one.

        What lies before that item concerns what has ended: a stop of then is no stop of what comes.
        """
        self.halt.clear()
        opened = await self.ground.store.executions(self.thread, open_only=True)
        pending = [one for one in await self.ground.store.pending(self.thread) if one.id not in self.fetching]
        starting = [one for one in pending if starts(one)]
        first = starting[0] if starting and not opened else None
        self.waits = len(starting) > (first is not None)
        before = pending[: pending.index(first)] if first is not None else pending
        if not opened:
            await self._leave_behind(before)
        if any(one.sort == "stop" for one in (pending if opened else pending[len(before) :])):
            self.halt.set()
        return opened[0].execution if opened else first

    async def _leave_behind(self, items: list[InboxItem]) -> None:
        """No execution takes these in any more: opinions go to what they are about, the rest is answered."""
        for item in items:
            if item.sort in ("feedback", "correction"):
                await self.opine(item)
                continue
            words = {"edited": EDITED_LATE, "answer": CLOSED}.get(item.sort)
            if words:
                await self.ground.tell(self._notice(f"{item.id}.late", "", words))
            await self.ground.store.discard([item.id])

    async def _perform(self, work: InboxItem | str) -> None:
        self.execution = work if isinstance(work, str) else execution_id(self.thread, work.id)
        self.left_open = ""
        try:
            if isinstance(work, str):
                await self._recall(work)
            else:
                self.requester = work.author.id
                await unless(self.halt, self._learned())
            await self._hold(self.execution, work)
        except Halted as halted:
            self.execution = ""
            await self._call_off(str(halted))

    async def _hold(self, execution: str, work: InboxItem | str) -> None:
        halted, aside = self.halt.is_set(), bool(self.question)
        async with self.ground.slots.slot(self.thread, hurried=halted, aside=aside):
            lease = await self._take(isinstance(work, str))
            try:
                work_done = self._run(lease, execution, work)
                ended = await while_held(self.ground.store, self.ground.clock, lease, work_done)
            finally:
                await self.ground.store.release(lease)
            self.execution = ""
            self._answered()
        if ended.finished is not None:
            task = asyncio.create_task(learn(self.ground.learning, execution), name=f"learning from {execution}")
            self.learning.add(task)
            task.add_done_callback(self.learning.discard)

    async def _take(self, begun: bool) -> Lease:
        """The lease; what has not begun is called off by a stop, what has begun waits for it, for it ends in its log."""
        if self.halt.is_set() and not begun:
            raise Halted
        try:
            halt = None if begun else self.halt
            return await take(self.ground.store, self.ground.clock, self.thread, self.ground.owner, halt)
        except ThreadTaken as taken:
            if begun or not self.halt.is_set():
                raise
            raise Halted(str(taken)) from taken

    async def _learned(self) -> None:
        """What was learned from the execution before is known to the next."""
        if self.learning:
            await asyncio.wait(tuple(self.learning), timeout=LESSON_SECONDS)

    async def _recall(self, execution: str) -> None:
        """A question outlives the process that asked it."""
        folded = fold([envelope async for envelope in self.ground.store.read(execution)])
        self.requester = folded.started.requester.id if folded.started is not None else ""
        if folded.question is not None:
            self._asked(folded.question.question)

    async def _run(self, lease: Lease, execution: str, work: InboxItem | str) -> Execution:
        toolbox = self.ground.workshop.toolbox(self.thread)
        try:
            started = None
            if not isinstance(work, str):
                started = await unless(self.halt, self.ground.begin(work, self.row, toolbox))
            return await self.ground.runner.run(lease, execution, toolbox, self.doorbell, started)
        finally:
            await self._settle(toolbox)

    async def _call_off(self, why: str) -> None:
        """Who stops a thread does not want what waits in it to begin; what is called off is told."""
        pending = await self.ground.store.pending(self.thread)
        last = max((place for place, one in enumerate(pending) if one.sort == "stop"), default=-1)
        off = [one for one in pending[: last + 1] if one.sort not in ("feedback", "correction")]
        lines = "".join(f"\n- {one.text[:200]}" for one in off if starts(one))
        if lines:
            words = f" It waited, because {why}." if why else ""
            text = f"Stopped before it began; nothing of it was done.{words} Send it again if you want it:{lines}"
            await self.ground.tell(self._notice(f"{off[0].id}.called-off", "", text))
        await self.ground.store.discard([one.id for one in off])

    async def _settle(self, toolbox: Toolbox) -> None:
        """Nothing of an execution goes on after it; a sandbox that does not answer ends itself without our heartbeat."""
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                await toolbox.settle()
        except (AgenticError, TimeoutError) as error:
            log.warning("thread %s: what ran in the sandbox may still be ending: %s", self.thread, error)

    async def _report(self, trouble: Exception) -> None:
        """Say in the thread what went wrong and what to do; the log stays open and can be taken up again."""
        self.doorbell.clear()
        self.left_open = self.execution or self.left_open
        key = f"{self.execution or self.thread}.trouble.{self.ground.clock.now():%Y%m%d%H%M%S%f}"
        try:
            await self.ground.tell(self._notice(key, self.execution, in_plain_words(trouble), notify=True))
        except AgenticError as error:
            log.error("and it could not be told in the thread: %s", error)

    def _notice(self, key: str, execution: str, text: str, *, notify: bool = False) -> OutboxItem:
        return OutboxItem(key=key, thread=self.thread, execution=execution, sort="notice", text=text, notify=notify)


def starts(item: InboxItem) -> bool:
    """Whether it begins an execution where none runs; an answer to a question does not."""
    return item.sort in STARTS and not (item.sort == "answer" and item.target)
