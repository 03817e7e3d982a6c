"""Pause executions where the bot can no longer write, and resume them when it can.

After a thread is locked, a right is taken away, or the bot is removed from a server, no work is lost, nothing new
begins, and work goes on by itself when the cause is gone. Only a person resumes what a person paused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import discord

from agentic.core.events.execution_events import (
    InboxItem,
    OutboxItem,
    Person,
    Sort,
)
from agentic.core.fold.people import MACHINE
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import SessionRow, Store
from bot.catch_up.discord_clock import DiscordClock
from bot.inbound.intake import Intake
from bot.inbound.parse import when
from bot.outbound.discord_api import DiscordApi, Gone, Held, Unfit
from bot.outbound.live.progress_messages import ProgressMessages
from bot.outbound.outbox import Outbox
from bot.ports.conversation import Conversation

LOCKED = "the thread is locked"
REMOVED = "the bot was removed from the server"
NOT_SEEN = "the bot may no longer see the channel"
NOT_HEARD = "the bot may no longer write in the thread"
TELL = "<#{thread}> was locked, so I paused my task there. Unlock it, and I continue by myself."
SOMEBODY = Person(id=MACHINE.id, name="Somebody", level="operator")
UNKNOWN_CHANNEL = 10003
_FACT = "held: "

log = logging.getLogger(__name__)


class Tending:
    """Watches threads in which something runs."""

    def __init__(
        self, client: discord.Client, store: Store, desk: DiscordApi, board: ProgressMessages, outbox: Outbox,
        conversation: Conversation, intake: Intake, discord_clock: DiscordClock, deleted: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._client, self._store, self._desk, self._board = client, store, desk, board
        self._outbox, self._conversation, self._intake = outbox, conversation, intake
        self._discord_clock, self._deleted = discord_clock, deleted
        self.hears: Callable[[str], bool] = lambda _: True
        """Whether the events of a server come to this process."""
        self._held: dict[str, str] = {}
        """Threads that are paused here -> the execution and the pause; the same stands in the store."""

    async def look_all(self, guild: int) -> None:
        """Check every thread of a server in which something runs."""
        rows = await self._store.open_executions()
        for thread in dict.fromkeys([row.thread for row in rows]):
            row = await self._store.session(thread)
            if row is not None and int(row.guild or 0) == guild:
                await self.look(thread)

    async def look(self, thread: str, *, locked: bool | None = None) -> None:
        """Pause or resume a thread's execution as its access requires; ``locked`` is what Discord just reported."""
        row = await self._store.session(thread) if await self._conversation.knows(thread) else None
        if row is None or not self.hears(row.guild) or self._conversation.state(thread) in ("unknown", "idle"):
            self._held.pop(thread, None)
            return
        why = LOCKED if locked else await self._hindrance(row)
        if why is None:
            return
        now = await self._conversation.standing(thread)
        held = self._held.get(thread, "").partition(" ")[0] == now.execution
        if why and not held:
            await self._pause(row, why, now.execution)
        elif not why and (held or now.paused == MACHINE.id):
            await self._deliver(row, "resume", "the reason is gone", f"resume{thread}.{_stamp()}")
            await self._remember(thread, "")
            self._outbox.retry_now()

    async def resumed(self, thread: str) -> None:
        """A person resumed it: where the bot still cannot write it is paused again, without a second notice."""
        if thread in self._held:
            row = await self._store.session(thread)
            why = await self._hindrance(row) if row is not None else None
            if row is not None and why:
                await self._pause(row, why, self._held[thread].partition(" ")[0], anew=True)

    async def gone(self, thread: str, guild: str) -> None:
        """A thread was deleted: end what runs in it, and drop what was to be posted there."""
        if not await self._conversation.knows(thread):
            return
        self._held.pop(thread, None)
        self._outbox.gone(thread)
        nobody = Person(id=MACHINE.id, name="Discord (the thread was deleted)", level="operator")
        at = await self._discord_clock.arrival(self._store, thread, thread)
        stop = InboxItem(id=f"gone{thread}", thread=thread, sort="stop", author=nobody, at=at)
        receipt = await self._intake.deliver(stop, guild)
        log.warning("thread %s was deleted: %s", thread, "it is stopped" if receipt.accepted else receipt.text)
        self._deleted(thread)

    async def deleted(self, message: str, channel: str, guild: str) -> None:
        """A message was deleted: tell its task or the items that wait of it, if there are any."""
        conversation = self._conversation
        thread = message if await conversation.knows(message) else channel
        if not await conversation.knows(thread) or conversation.state(thread) == "idle":
            return
        at = await self._discord_clock.arrival(self._store, thread, message)
        item = InboxItem(id=f"d{message}", thread=thread, sort="deleted", author=SOMEBODY, at=at, message=message)
        receipt = await self._intake.deliver(item, guild)
        log.info(
            "message %s of thread %s was deleted: %s", message, thread, "taken in" if receipt.accepted else "no matter"
        )

    async def _pause(self, row: SessionRow, why: str, execution: str, *, anew: bool = False) -> None:
        """Pause it and say so in the parent channel: each once, also where this is broken off in between and begun again."""
        thread = row.thread
        whose, _, pause = (await self._store.fact(_FACT + thread) or "").partition(" ")
        if anew or whose != execution or not pause:
            pause = f"pause{thread}.{_stamp()}"
            await self._remember(thread, f"{execution} {pause}")
        self._held[thread] = f"{execution} {pause}"
        log.warning("thread %s: what runs there is paused, because %s", thread, why)
        try:
            await self._deliver(row, "pause", why, pause)
            if why == LOCKED and not anew:
                await self._tell(row, pause)
        except BaseException:  # the next look does it again, under the same ids
            self._held.pop(thread, None)
            raise

    async def _tell(self, row: SessionRow, pause: str) -> None:
        if parent := await self._parent(row):
            text, key = TELL.format(thread=row.thread), f"locked.{pause}"
            await self._store.put_outbox(
                [OutboxItem(key=key, thread=parent, execution="", sort="notice", text=text, notify=True)]
            )
            self._outbox.poke()

    async def _remember(self, thread: str, held: str) -> None:
        await self._store.set_fact(_FACT + thread, held)
        if not held:
            self._held.pop(thread, None)

    async def _deliver(self, row: SessionRow, sort: Sort, why: str, id: str) -> None:
        try:
            at = await self._discord_clock.arrival(self._store, row.thread, row.thread)
            item = InboxItem(id=id, thread=row.thread, sort=sort, author=MACHINE, at=at, text=why)
            await self._intake.deliver(item, row.guild)
        except AgenticError as error:
            log.error("thread %s: its %s was not kept: %s", row.thread, sort, error)

    async def _parent(self, row: SessionRow) -> str:
        if row.channel:
            return row.channel
        thread = self._client.get_channel(int(row.thread))
        return str(thread.parent_id) if isinstance(thread, discord.Thread) else ""

    async def _hindrance(self, row: SessionRow) -> str | None:
        """Return why the bot cannot write in a thread, '' where it can, None where that cannot be known now."""
        if not row.guild:
            return ""
        guild = self._client.get_guild(int(row.guild))
        if guild is None:
            return REMOVED if self._client.is_ready() else None
        if guild.unavailable:
            return None
        thread = guild.get_thread(int(row.thread))
        if thread is not None:
            return LOCKED if thread.locked else _rights(thread.permissions_for(guild.me))
        parent = guild.get_channel(int(row.channel)) if row.channel else None
        if isinstance(parent, discord.TextChannel) and (why := _rights(parent.permissions_for(guild.me))):
            return why
        return await self._asked(row)

    async def _asked(self, row: SessionRow) -> str | None:
        """The same for a thread that Discord did not announce: it is archived, not made yet, or deleted."""
        try:
            place = await self._desk.look(row.thread, lambda _: self._client.fetch_channel(int(row.thread)))
        except Held as held:
            if held.code == UNKNOWN_CHANNEL and await self._board.stands_in(row.thread):
                await self.gone(row.thread, row.guild)
                return None
            return NOT_SEEN if held.code == 50001 else None if held.code != UNKNOWN_CHANNEL else ""
        except (Gone, Unfit):
            return None
        return LOCKED if isinstance(place, discord.Thread) and place.locked else ""


def _stamp() -> str:
    return f"{when():%Y%m%d%H%M%S%f}"


def _rights(rights: discord.Permissions) -> str:
    if not rights.view_channel:
        return NOT_SEEN
    return "" if rights.send_messages_in_threads else NOT_HEARD
