"""Catch up after a gap: a new session with Discord (a start, a lost connection) replays nothing, so messages are
fetched.

In each channel the gap is closed before live messages are handled, so that everything stays in order; a message that is
fetched and also arrives live is known by its id. Threads in which something runs come first: what was running waits for
them, since a person may have stopped it meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterable, Sequence
from datetime import timedelta
from functools import partial

import aiohttp
import discord

from agentic.core.events.execution_events import OutboxItem, Started
from agentic.core.events.ids import execution_id
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import ExecutionRow, SessionRow, Store
from bot.catch_up.access_monitor import UNKNOWN_CHANNEL, Tending
from bot.catch_up.discord_clock import DiscordClock
from bot.catch_up.missed_messages import AGE, MESSAGES, messages_after
from bot.catch_up.watermarks import Lanes, Watermarks
from bot.outbound.discord_api import DiscordApi, Gone, Held, Unfit
from bot.outbound.outbox import Outbox
from bot.outbound.priorities import Urgency
from bot.ports.conversation import Conversation
from bot.thread_state.message_meaning import starts

SECONDS = 15.0
"""Seconds that live messages of a channel wait at most until its gap is closed."""
FIRST_SECONDS = 20.0
"""Seconds that executions wait at most for missed messages while nothing can be read; then they go on."""
LEAD_SECONDS = 3.0
"""Seconds that the other threads leave the processor to the first one, whose model library may still be loading."""
TAKE_UP_SECONDS = 3.0
"""Seconds that a start takes at most until each session works on what it left open."""
AGAIN = (5.0, 20.0, 60.0)
"""Seconds after which an unreadable channel is tried again."""
AT_ONCE = 8
RECENT = 200
"""Number of the newest sessions to ask for whose thread Discord does not announce (archived, direct)."""
CUT = (
    "I was offline and missed some messages here: I read back at most {messages} messages or {hours:.0f} hours. If "
    "something older matters, please write it again."
)

_PASSING = (Held, Gone, Unfit, AgenticError, discord.DiscordException, aiohttp.ClientError, OSError)
"""Errors that may be temporary (a time-out is an ``OSError``)."""

log = logging.getLogger(__name__)

Take = Callable[[discord.Message], Awaitable[None]]
Stops = Callable[[ExecutionRow, SessionRow, str, Urgency], Awaitable[None]]


class CatchingUp:
    """Closes gaps; ``take`` handles a missed message while its channel is held, ``stops`` reads missed 🛑."""

    def __init__(
        self, client: discord.Client, store: Store, desk: DiscordApi, conversation: Conversation, outbox: Outbox,
        discord_clock: DiscordClock, watermarks: Watermarks, lanes: Lanes, tending: Tending,
    ) -> None:  # fmt: skip
        self._client, self._store, self._desk, self._conversation = client, store, desk, conversation
        self._outbox, self._discord_clock, self._watermarks = outbox, discord_clock, watermarks
        self._lanes, self._tending = lanes, tending
        self.hears: Callable[[str], bool] = lambda _: True
        """Whether the events of a server come to this process."""
        self.take: Take | None = None
        self.stops: Stops | None = None
        self.caught_up = asyncio.Event()
        """No gap is open."""
        self._listed = asyncio.Event()
        """It is known what has to be read before what was running goes on."""
        self._unread: dict[str, asyncio.Event] = {}
        """Threads in which something runs; set once what was said there meanwhile was read."""
        self._kept: dict[str, str] = {}
        """The message of a task that was kept and did not begin, by its execution."""
        self._sweep: asyncio.Task[None] | None = None
        self._told = True
        """What Discord told of each channel's newest message is whole: nothing is known to be missing since."""

    def connected(self) -> None:
        """A new session with Discord began; later messages arrive live."""
        self._begin()

    def skipped(self) -> None:
        """An event of this session never arrived: any channel may have missed messages."""
        log.warning("events of Discord did not come: what was said is read again from where reading was sure")
        self._told = False
        self._begin()
        if self._client.is_ready():
            self.ready()

    def _begin(self) -> None:
        self.stop()
        self.caught_up.clear()
        self._watermarks.opened()

    def ready(self) -> None:
        """Discord has listed the channels: close their gaps."""
        self.stop()
        self._sweep = asyncio.create_task(self._close_all(), name="catching up")

    def stop(self) -> tuple[asyncio.Task[None], ...]:
        """Stop, and leave open gaps to the next session; returns what is ending."""
        if self._sweep is None:
            return ()
        self._sweep.cancel()
        return (self._sweep,)

    async def before_going_on(self, thread: str) -> None:
        """Wait until missed messages of a thread have been read; not for ever where nothing can be read."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FIRST_SECONDS):
                await self._listed.wait()
        waiting = self._unread.get(thread)
        while waiting is not None and not waiting.is_set():
            left = len(self._unread)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FIRST_SECONDS):
                    await waiting.wait()
            if len(self._unread) == left:
                return

    async def close(self, channel: str, urgency: Urgency = Urgency.RESULT) -> bool:
        """Close the gap of one channel, which the caller holds; False where it could not be read.

        Requests are as urgent as a receipt where somebody waits for it.
        """
        if self._watermarks.is_closed(channel):
            return True
        try:
            async with asyncio.timeout(SECONDS):
                await self._close(channel, urgency)
        except _PASSING as error:
            gone = isinstance(error, Held) and error.code == UNKNOWN_CHANNEL
            log.log(logging.INFO if gone else logging.WARNING, "channel %s: what was missed cannot be read: %s", channel,
                    error or "it takes too long")  # fmt: skip
            return gone  # there is nothing to be read, now or later
        return True

    async def _close(self, channel: str, urgency: Urgency) -> None:
        marks = self._watermarks
        mark = await self._mark(channel)
        newest = self._newest(channel) if self._told else None
        if newest is not None and newest <= mark:
            marks.closed(channel, mark)
            return
        missed = await self._desk.look(
            channel, lambda _: messages_after(self._client, channel, mark, self._discord_clock.now()), urgency
        )
        for message in missed.messages:
            if not marks.known(message.id):
                await self._take(channel, message)
        if missed.messages:
            log.info("channel %s: %d messages were read that came meanwhile", channel, len(missed.messages))
        if missed.cut:
            await self._say_cut(channel, mark)
        marks.closed(channel, max((message.id for message in missed.messages), default=mark))

    async def _take(self, channel: str, message: discord.Message) -> None:
        """Handle one message; a fault with it must not keep all later ones from being read, now and after each start."""
        if self.take is None:
            return
        try:
            await self.take(message)
        except _PASSING:
            raise
        except Exception:  # what else it is nobody foresaw; the message is named, and the next one is read
            log.exception("a fault of ours: message %s of channel %s is passed over", message.id, channel)
            self._watermarks.taken_care_of(channel, message.id)

    async def _mark(self, channel: str) -> int:
        """Return where reading begins, decided once."""
        marks = self._watermarks
        mark = await marks.of(channel)
        if mark is None:
            mark = await self._first_mark(channel)
            marks.begins(channel, mark)
        return mark

    async def _first_mark(self, channel: str) -> int:
        """Return where to begin in a channel that was never read.

        One that was created after everything that was read before the gap is read whole; in any other, old messages
        are not answered.
        """
        marks = self._watermarks
        latest = await marks.latest()
        session = await self._store.session(channel)
        born_here = session is not None and bool(session.channel)
        if born_here or (latest is not None and int(channel) > latest):
            return int(channel) - 1  # the first message of a forum's post has the post's id
        return max(self._newest(channel) or 0, int(channel))

    def _newest(self, channel: str) -> int | None:
        """Return the last message that Discord reported; None where it has to be asked."""
        known = self._client.get_channel(int(channel))
        if isinstance(known, discord.TextChannel | discord.Thread):
            return known.last_message_id or known.id
        return None

    async def _say_cut(self, channel: str, mark: int) -> None:
        log.warning("channel %s: more was said meanwhile than is read", channel)
        if not await self._conversation.knows(channel):
            return
        text = CUT.format(messages=MESSAGES, hours=AGE / timedelta(hours=1))
        item = OutboxItem(key=f"missed.{channel}.{mark}", thread=channel, execution="", sort="notice", text=text)
        await self._store.put_outbox([item])
        self._outbox.poke()

    # --- all of them ------------------------------------------------------------------------------------------

    async def _close_all(self) -> None:
        try:
            await self._close_running()
        except _PASSING as error:
            log.warning("what was missed cannot be read: %s", error)
        self._now_unread(())
        left = await self._close_each(await self._channels())
        for pause in AGAIN:
            if not left:
                break
            await asyncio.sleep(pause)
            left = await self._close_each(left)
        self._told |= not left
        if not any(guild.unavailable for guild in self._client.guilds):
            self._watermarks.all_closed()
        await self._watermarks.write()
        self.caught_up.set()

    async def _to_begin(self) -> list[ExecutionRow]:
        """Return open executions and stored tasks that begin now: a person may have stopped either meanwhile."""
        store = self._store
        rows = await store.open_executions()
        opened = {row.thread for row in rows}
        self._kept.clear()
        for thread in [one for one in await store.pending_threads() if one not in opened]:
            first = next((one for one in await store.pending(thread) if starts(one)), None)
            if first is not None:
                rows.append(ExecutionRow(execution_id(thread, first.id), thread, first.text, 0, started_at=first.at))
                self._kept[rows[-1].execution] = first.message
        return [row for row in rows if await self._is_heard(row.thread)]

    async def _is_heard(self, thread: str) -> bool:
        session = await self._store.session(thread)
        return session is None or self.hears(session.guild)

    async def _close_running(self) -> None:
        rows = await self._to_begin()
        self._now_unread([row.thread for row in rows])
        room = asyncio.Semaphore(AT_ONCE)

        async def one(row: ExecutionRow, urgency: Urgency) -> None:
            async with room:
                for look in (partial(self._close_running_in, row, urgency), partial(self._look_after, row.thread)):
                    try:
                        await look()
                    except AgenticError as error:
                        log.warning("thread %s: what was missed there cannot be read: %s", row.thread, error)
                    except Exception:  # of one thread; the others, and what was said elsewhere, are read
                        log.exception("a fault of ours with what was missed in thread %s", row.thread)
                self._was_read(row.thread)

        async with asyncio.TaskGroup() as group:
            leads = [group.create_task(one(row, Urgency.RESULT)) for row in rows[:1]]
            if len(rows) > 1:
                await self._led(leads)
            for row in rows[1:]:
                group.create_task(one(row, Urgency.MESSAGE))

    async def _led(self, leads: Sequence[asyncio.Task[None]]) -> None:
        """Wait until the first thread was read, at most ``LEAD_SECONDS``."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAD_SECONDS):
                await asyncio.wait(leads)

    async def _close_running_in(self, row: ExecutionRow, urgency: Urgency) -> None:
        """Read the missed messages and 🛑 of a thread in which something runs, then check its access."""
        await self._in_lane(row.thread, urgency)
        session = await self._store.session(row.thread)
        if self.stops is not None and session is not None:
            await self.stops(row, session, await self._message_of(row), urgency)

    async def _look_after(self, thread: str) -> None:
        """Check the bot's access to a thread as soon as its execution was resumed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TAKE_UP_SECONDS):
                while self._conversation.state(thread) == "idle":  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        await self._tending.look(thread)

    def _now_unread(self, threads: Sequence[str]) -> None:
        """Set the threads that have to be read; those who wait for one since an earlier session go on waiting."""
        for thread in self._unread.keys() - set(threads):
            self._was_read(thread)
        self._unread = {thread: self._unread.get(thread) or asyncio.Event() for thread in threads}
        self._listed.set()

    def _was_read(self, thread: str) -> None:
        if (waiting := self._unread.pop(thread, None)) is not None:
            waiting.set()

    async def _message_of(self, row: ExecutionRow) -> str:
        """Return the id of the task's message: the inbox item that an execution's id is made from."""
        async for envelope in self._store.read(row.execution):
            inbox = envelope.event.inbox if isinstance(envelope.event, Started) else ""
            return inbox if execution_id(row.thread, inbox) == row.execution else ""
        return self._kept.get(row.execution, "")

    async def _close_each(self, channels: Iterable[str]) -> list[str]:
        """Close the gaps of channels; return those that could not be read."""
        left: list[str] = []
        room = asyncio.Semaphore(AT_ONCE)

        async def one(channel: str) -> None:
            async with room:
                if not await self._in_lane(channel, Urgency.MESSAGE):
                    left.append(channel)

        async with asyncio.TaskGroup() as group:
            for channel in channels:
                group.create_task(one(channel))
        return left

    async def _in_lane(self, channel: str, urgency: Urgency) -> bool:
        async with self._lanes.lane(channel):
            return await self.close(channel, urgency)

    async def _channels(self) -> list[str]:
        """Return the channels the bot reads, and the newest sessions elsewhere."""
        found: dict[str, None] = {}
        for guild in self._client.guilds:
            for place in (*guild.text_channels, *guild.threads):
                rights = place.permissions_for(guild.me)
                if rights.view_channel and rights.read_message_history:
                    found[str(place.id)] = None
        hidden = [thread async for thread in self._hidden(found)]
        marks = [(await self._watermarks.of(thread), thread) for thread in hidden]
        newest = sorted(((mark, thread) for mark, thread in marks if mark is not None), reverse=True)
        return [*found, *(thread for _, thread in newest)]

    async def _hidden(self, found: Container[str]) -> AsyncIterator[str]:
        """Yield the last used sessions that are not among these, ``RECENT`` at most."""
        rows: list[SessionRow] = []
        left = RECENT
        while rows := await self._store.recent_sessions(RECENT, before=rows[-1] if rows else None):
            for row in rows:
                if row.thread in found or not row.thread.isdecimal() or not self.hears(row.guild):
                    continue
                yield row.thread
                left -= 1
                if not left:
                    return
