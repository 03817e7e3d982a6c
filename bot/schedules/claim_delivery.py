"""What follows from a time that has come: the message it begins under, and the task in its thread's inbox.

    claimed -> rights -> nothing of the time before is open -> message (outbox) -> thread (outbox) -> item (inbox) -> settled

Each step has a key made from the claim and happens once, however often a process dies in between; a claim that is worked
off anew goes through the steps that were done. Where it may not go on, the schedule is paused, and that is said.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from agentic.core.events.execution_events import InboxItem, OutboxItem, Person
from agentic.ports.failpoints import reach
from agentic.ports.runtime import Clock, Store
from bot.ports.conversation import Receipt
from bot.schedules import schedule_text
from bot.schedules.maker_standing import MakerStanding, Refusal
from bot.schedules.schedule import Begun, Claim, ScheduledTask
from bot.schedules.ticker import Carrier, Later

LOOK_SECONDS, MOST_SECONDS, PATIENCE_SECONDS = 0.05, 1.0, 20.0
"""Between looks whether the message stands, at first and at most; and in all, before it is left for later."""
NO_MESSAGE = "Discord did not take the message that it begins under."

log = logging.getLogger(__name__)

Tell = Callable[[OutboxItem], Awaitable[None]]


class DeliverTitled(Protocol):
    """``bot.threads.registry.Threads.deliver``."""

    def __call__(self, item: InboxItem, *, guild: str, title: str = "") -> Awaitable[Receipt]:
        """Store the item and wake what it concerns."""
        ...


@dataclass(frozen=True, slots=True)
class ClaimDelivery(Carrier):
    """Carries claims out."""

    store: Store
    clock: Clock
    standing: MakerStanding
    deliver: DeliverTitled
    tell: Tell

    async def carry(self, schedule: ScheduledTask) -> ScheduledTask:
        """Do all that follows from the claim; return the schedule settled. Raises ``Later`` and ``StoreError``."""
        claim = schedule.claim
        assert claim is not None
        if schedule.kind == "wake" and await self._is_stopped(schedule.execution):
            return schedule.settled()
        person = await self.standing.of(schedule)
        if isinstance(person, Refusal):
            return await self._pause(schedule, claim, person)
        if claim.passed:
            await self._say(schedule, f"{claim.id}.passed", schedule_text.passed(schedule, claim))
            return schedule.settled()
        if schedule.run is not None and schedule.run.item != claim.id and await self.is_open(schedule.run):
            # Once for each task that stays open, whatever passes meanwhile.
            await self._say(schedule, f"{schedule.run.item}.still", schedule_text.still(schedule, claim), schedule.run)
            return schedule.settled()
        thread = schedule.thread or await self._thread(schedule, claim)
        if not thread:
            await self._say(schedule, f"{claim.id}.refused", _refused(schedule, NO_MESSAGE))
            return schedule.settled()
        return await self._begin(schedule, claim, person, thread)

    async def is_open(self, run: Begun) -> bool:
        """Whether what a time became is still to be done, waits for somebody, or is being worked on."""
        row = await self.store.execution(run.execution)
        if row is not None:
            return not row.finished
        return any(item.id == run.item for item in await self.store.pending(run.thread))

    async def _is_stopped(self, execution: str) -> bool:
        """Whether a person stopped what asked to be woken, perhaps in the moment in which it asked."""
        row = await self.store.execution(execution)
        return row is not None and row.finished in ("stopped", "cancelled")

    async def _begin(self, schedule: ScheduledTask, claim: Claim, person: Person, thread: str) -> ScheduledTask:
        now = self.clock.now()
        item = InboxItem(
            id=claim.id, thread=thread, sort="queue", author=person, at=now, text=schedule.text,
            message="" if schedule.thread else thread, channel="" if schedule.thread else schedule.channel,
            gate=schedule.gate, ping="" if schedule.ping == "me" else schedule.ping,
            unspoken=schedule.kind == "wake",
        )  # fmt: skip
        if schedule.thread and schedule.kind == "task" and not schedule.gate:  # what opens a gate says so itself
            await self._say(schedule, f"{claim.id}.told", schedule_text.announced(schedule, claim, now))
        if schedule.kind == "wake":
            await self._say(schedule, f"{claim.id}.told", schedule_text.awake(schedule))
        reach("schedule.announced")
        receipt = await self.deliver(item, guild=schedule.guild, title=schedule.title)
        reach("schedule.delivered")
        if not receipt.accepted and not receipt.again:
            await self._say(schedule, f"{claim.id}.refused", _refused(schedule, receipt.text or "it was not taken in."))
            return schedule.settled()
        log.info("schedule %s: %s began in thread %s", schedule.id, claim.id, thread)
        return schedule.settled(Begun(thread=thread, item=claim.id))

    async def _thread(self, schedule: ScheduledTask, claim: Claim) -> str:
        """Post the message of a new thread and have the thread made; return its id, '' where Discord took no message."""
        text = schedule_text.announced(schedule, claim, self.clock.now())
        opening = OutboxItem(key=f"{claim.id}.opens", thread=schedule.channel, execution="", sort="notice", text=text)
        await self.tell(opening)
        (thread, *_) = await self._delivered(opening.key) or [""]
        if thread:
            made = OutboxItem(
                key=f"{claim.id}.thread", thread=thread, execution="", sort="thread", text=schedule.title,
                target=schedule.channel,
            )  # fmt: skip
            await self.tell(made)
        return thread

    async def _delivered(self, key: str) -> tuple[str, ...]:
        """Wait until an outbox item was delivered; the ids of its messages. Raises ``Later``."""
        waited, pause = 0.0, LOOK_SECONDS
        while waited < PATIENCE_SECONDS:
            row = await self.store.outbox_row(key)
            if row is None or row.done:
                return row.delivered if row is not None else ()
            await self.clock.sleep(pause)
            waited, pause = waited + pause, min(pause * 2, MOST_SECONDS)
        raise Later("the message it begins under cannot be posted now", MOST_SECONDS)

    async def _pause(self, schedule: ScheduledTask, claim: Claim, refusal: Refusal) -> ScheduledTask:
        if schedule.kind == "wake":
            if not refusal.silent:
                text = schedule_text.NO_MORE.format(why=schedule.title, name=schedule.name)
                await self._say(schedule, f"{claim.id}.paused", text)
            return schedule.settled()
        text = schedule_text.paused(schedule, refusal.why)
        log.warning("schedule %s is paused: %s", schedule.id, refusal.why)
        if refusal.silent:
            await self.standing.whisper(schedule.person, f"{claim.id}.paused", text)
        else:
            await self._say(schedule, f"{claim.id}.paused", text)
        return schedule.settled().changed(paused=refusal.why)

    async def _say(self, schedule: ScheduledTask, key: str, text: str, run: Begun | None = None) -> None:
        """Say something in the schedule's place, or where its task runs."""
        thread = run.thread if run is not None else schedule.thread or schedule.channel
        await self.tell(OutboxItem(key=key, thread=thread, execution="", sort="notice", text=text))


def _refused(schedule: ScheduledTask, why: str) -> str:
    return schedule_text.REFUSED.format(title=schedule.title, why=why)
