"""Wake-ups that agents ask for: kept as schedules of one time, so that they are as durable, and come as once, as those.

A wake-up is kept while the call that asks for it runs, under an id made from the call: a call that is run again after
a crash finds it kept. It is cancelled by a new task or a stop of a person. Those that have come stay in the thread's row
until a person writes: so many are counted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from agentic.core.events.execution_events import InboxItem, OutboxItem, Person, Started
from agentic.core.events.ids import digest
from agentic.core.fold.people import MACHINE
from agentic.ports.runtime import Clock, ExecutionRow, Store
from agentic.tools.wake import Alarm
from bot.schedules import schedule_text
from bot.schedules.book import ScheduleBook
from bot.schedules.claim_delivery import Tell
from bot.schedules.schedule import ScheduledTask, schedule_of
from bot.schedules.time_rules import Once
from bot.thread_state.message_meaning import ACTS

MOST = 10
"""Wake-ups between two messages of a person."""
ENOUGH = (
    f"You were woken {MOST} times since a person last wrote here, so you are not woken again. Finish, and tell the person "
    "what to look at."
)
NOBODY = "Nobody's task runs here, so there is nobody to be woken for."
WORDS = frozenset(("task", "queue", "guidance", "answer", "side", "edited", "stop", *ACTS))
"""Kinds of items with which a person has written, or done as much."""
CANCELS = frozenset(("task", "queue", "stop", *ACTS))
"""Those that a pending wake-up does not outlive."""

Cancelled = Callable[[ScheduledTask], Awaitable[None]]
"""Shows under the answer of its execution that a wake-up is no more."""


@dataclass(frozen=True, slots=True)
class WakeUps:
    """The wake-ups of all threads."""

    store: Store
    book: ScheduleBook
    clock: Clock
    tell: Tell
    cancelled: Cancelled

    async def arm(self, thread: str, call: str, minutes: int, why: str) -> Alarm | str:
        """Keep a wake-up for the task that runs in a thread; a text says why it is not kept."""
        id = f"w{digest('wake', thread, call, length=12)}"
        there = await self._of(thread)
        known = next((one for one in there if one.id == id), None)
        if known is None:
            if len(there) >= MOST:
                return ENOUGH
            known = await self._made(id, thread, minutes, why)
            if known is None:
                return NOBODY
            for other in there:
                if other.next is not None:  # the later one replaces it
                    await self.book.change(other.id, lambda one: one.changed(next=None))
            await self.book.add(known)
            there = await self._of(thread)
        assert isinstance(known.timing, Once)
        return Alarm(id, known.timing.at, max(MOST - len(there), 0))

    async def spoken(self, item: InboxItem) -> str:
        """Note what a person did in a thread; returns what is to be said of a wake-up that it cancels, '' for none.

        What schedules and wake-ups themselves put there is nobody's word.
        """
        if item.sort not in WORDS or item.author.id == MACHINE.id or schedule_of(item.id):
            return ""
        there = await self._of(item.thread)
        if not there:
            return ""
        waiting = [one for one in there if one.next is not None]
        if waiting and item.sort not in CANCELS:
            await self.book.delete([one.id for one in there if one.next is None and one.claim is None])
            return ""
        await self.book.delete([one.id for one in there])
        for one in waiting:
            await self.cancelled(one)
        return schedule_text.woken_no_more(waiting[0], item.sort) if waiting else ""

    async def cancel(self, id: str, by: Person) -> bool:
        """Cancel one by its button, and say so in its thread; False where it has come or is no more."""
        entry = await self.book.entry(id)
        if entry is None or entry.schedule.next is None:
            return False
        kept = await self.book.put(entry.schedule.changed(next=None), entry.revision)
        if kept is None:
            return False
        text = schedule_text.cancelled_by(entry.schedule, by.name)
        await self.tell(
            OutboxItem(key=f"{id}.off", thread=kept.schedule.thread, execution="", sort="notice", text=text)
        )
        await self.cancelled(kept.schedule)
        return True

    async def waits(self, id: str) -> bool:
        """Whether it is still to come."""
        entry = await self.book.entry(id)
        return entry is not None and entry.schedule.next is not None

    async def _of(self, thread: str) -> list[ScheduledTask]:
        return [one for one in await self.book.schedules(thread=thread) if one.kind == "wake"]

    async def _made(self, id: str, thread: str, minutes: int, why: str) -> ScheduledTask | None:
        found = await self._running(thread)
        if found is None:
            return None
        row, started = found
        session = await self.store.session(thread)
        at = (self.clock.now() + timedelta(minutes=minutes)).replace(microsecond=0)
        return ScheduledTask(
            id=id, kind="wake", guild=session.guild if session else "", channel=session.channel if session else "",
            thread=thread, person=started.requester.id, name=started.requester.name,
            text=schedule_text.WOKEN.format(why=why), title=why, said="", timing=Once(at=at), next=at,
            ping="me" if not started.ping else started.ping, execution=row.execution,
        )  # fmt: skip

    async def _running(self, thread: str) -> tuple[ExecutionRow, Started] | None:
        """The execution that runs in a thread and is no side question."""
        for row in await self.store.open_executions(thread):
            async for envelope in self.store.read(row.execution):
                if isinstance(envelope.event, Started) and not envelope.event.side:
                    return row, envelope.event
                break
        return None
