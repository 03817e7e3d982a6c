"""A conversation for tests: real store, real sinks, an agent that does what the test says.

It keeps items like the product does and writes real logs through the store; only the model and the tools are missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from agentic.core.display.outbox_items import visible
from agentic.core.events.execution_events import (
    Envelope,
    Event,
    Finished,
    InboxItem,
    OutboxItem,
    Started,
    Triaged,
)
from agentic.core.events.ids import execution_id
from agentic.core.fold.fold import evolve
from agentic.core.state.execution import Execution
from agentic.ports.runtime import Lease, SessionRow, Store
from bot.access.denials import NOTHING_RUNS
from bot.app.client import ThreadwrightBot, create_bot
from bot.app.services import Backstage
from bot.inbound.parse import Options
from bot.local_discord.local_discord import LocalGuild
from bot.ports.conversation import Receipt, StatusView, ThreadState
from bot.progress.feed import Feed
from tests.stores import fresh_store
from tests.waiting import BOUND, eventually

SECONDS = BOUND


@dataclass
class Talk:
    """Implements ``Conversation`` over a store; ``add`` is what the agent would do."""

    store: Store
    feed: Feed
    threads: dict[str, list[str]] = field(default_factory=dict)
    logs: dict[str, Execution] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    got: list[InboxItem] = field(default_factory=list)
    """What was taken in, with all that follows from it."""
    refuse: Exception | None = None
    paused: set[str] = field(default_factory=set)
    talks: bool = False
    """What comes next is small talk."""

    async def deliver(self, item: InboxItem, *, guild: str, title: str = "") -> Receipt:
        if self.refuse is not None:
            raise self.refuse
        if item.sort == "stop" and self.state(item.thread) == "idle":
            return Receipt(True, "idle", NOTHING_RUNS)
        if not await self.store.put(item):
            return Receipt(False, "idle")
        if item.sort == "pause":
            self.paused.add(item.thread)
        elif item.sort == "resume":
            self.paused.discard(item.thread)
        if item.thread not in self.threads:
            await self.store.save_session(SessionRow(item.thread, item.channel, guild, title))
        begun = [await self._begin(item)] if item.sort == "task" else []
        self.threads.setdefault(item.thread, []).extend(begun)
        self.got.append(item)
        state = self.state(item.thread)
        return Receipt(True, "idle" if state == "unknown" else state)

    async def _begin(self, item: InboxItem) -> str:
        """Begin an execution: only then its thread shows it."""
        name = execution_id(item.thread, item.id)
        lease = await self.store.acquire(item.thread, "test")
        assert lease is not None
        self.leases[name] = lease
        self.logs[name] = Execution(id=name)
        started = Started(
            thread=item.thread, task=item.text, requester=item.author, inbox=item.id, untitled=bool(item.channel)
        )
        await self.add(name, started, Triaged(talk=self.talks))
        return name

    async def add(self, execution: str, *events: Event, unseen: bool = False) -> None:
        """Append events with what becomes visible by them, then show them to the feed, unless they are ``unseen`` by it."""
        envelopes: list[Envelope] = []
        outbox: list[OutboxItem] = []
        state = self.logs[execution]
        before = state.seq
        for event in events:
            at = datetime.now(UTC)
            envelope = Envelope(execution=execution, seq=state.seq + 1, at=at, fence=1, event=event)
            envelope = envelope.model_copy(update={"fence": self.leases[execution].fence})
            outbox.extend(visible(state, envelope))
            envelopes.append(envelope)
            state = evolve(state, envelope)
        await self.store.append(execution, before, self.leases[execution], envelopes, outbox)
        self.logs[execution] = state
        for envelope in () if unseen else envelopes:
            self.feed.saw(envelope)

    async def finish(self, execution: str, answer: str = "All done.", **more: object) -> None:
        """The agent is done."""
        finished = Finished.model_validate({"reason": "done", "answer": answer, **more})
        await self.add(execution, finished)

    def take_over(self, before: Talk) -> None:
        """Go on where a talk of an earlier process was."""
        self.threads, self.logs, self.leases = before.threads, before.logs, before.leases

    def newest(self, thread: str | int) -> str:
        """The thread's newest execution."""
        return self.threads[str(thread)][-1]

    def state(self, thread: str) -> ThreadState:
        if thread not in self.threads:
            return "unknown"
        names = self.threads[thread]
        if not names or self.logs[names[-1]].finished is not None:
            return "idle"
        if thread in self.paused:
            return "paused"
        return "asking" if self.logs[names[-1]].question is not None else "busy"

    async def knows(self, thread: str) -> bool:
        return thread in self.threads

    async def status(self, thread: str) -> StatusView:
        state = self.state(thread)
        if state == "unknown" or not self.threads[thread]:
            return StatusView(state)
        log = self.logs[self.newest(thread)]
        started, question = log.started, log.question
        return StatusView(
            state, execution=log.id, task=started.task if started else "",
            requester=started.requester.id if started else "", question=question.question if question else "", asked=question,
            turn=log.turn.number, usd=log.spent.usd, seconds=12.0, model="scripted/plain", tier=2,
        )  # fmt: skip

    async def standing(self, thread: str) -> StatusView:
        return await self.status(thread)

    async def thread_of_message(self, message_id: str) -> str | None:
        if message_id in self.threads:
            return message_id
        row = await self.store.by_message(message_id)
        return row.item.thread if row is not None else None


@dataclass
class Scenery:
    """A guild, a bot in it, and what it talks to."""

    guild: LocalGuild
    bot: ThreadwrightBot
    talk: Talk
    store: Store
    files: dict[str, bytes]
    befores: dict[str, bytes] = field(default_factory=dict)
    """Files as they were at the checkpoint."""

    @property
    def general(self) -> int:
        return self.guild.channel("general").id

    async def mention(self, text: str, **more: object) -> int:
        """Post a task, wait until its progress message stands, return the thread."""
        posted = await self.guild.post(self.general, f"{self.guild.bot.mention} {text}", **more)  # type: ignore[arg-type]
        await self.says(posted.id, "Starting")
        await self.until_delivered()
        return posted.id

    async def greet(self, text: str) -> int:
        """Post small talk, wait until it is taken in, return the thread."""
        self.talk.talks = True
        posted = await self.guild.post(self.general, f"{self.guild.bot.mention} {text}")
        await self.until(lambda: self.talk.threads.get(str(posted.id)))
        return posted.id

    async def until(self, holds: Callable[[], object], timeout: float = SECONDS) -> None:
        """Wait until something holds that no change of the guild announces."""
        await eventually(holds, seconds=timeout)

    async def until_delivered(self) -> None:
        """Wait until the outbox is empty."""

        async def delivered() -> bool:
            return not await self.store.undelivered()

        await eventually(delivered, "all is delivered")

    def of_bot(self, channel: int) -> list:
        """The bot's messages in a channel, without Discord's own."""
        return [m for m in self.guild.messages(channel) if m.author_id == self.guild.bot_user_id and m.content]

    async def says(self, channel: int, words: str, timeout: float = SECONDS):
        """The first message of the bot that holds the words."""
        return await self.guild.wait_for(
            lambda _: next((m for m in self.of_bot(channel) if words in m.content), None), timeout
        )


async def identify_at_once(shard_id: int | None, *, initial: bool = False) -> None:
    """Before a further session discord.py waits five seconds: so Discord wants it, and a local guild does not."""


@asynccontextmanager
async def running_bot(
    guild: LocalGuild, store: Store | None = None, *, after: Talk | None = None, backstage: Backstage | None = None,
    **options: object,
) -> AsyncIterator[Scenery]:  # fmt: skip
    """A bot that is online in the guild; ``after`` an earlier process it goes on from before it connects."""
    store = store or fresh_store()
    feed = Feed()
    talk = Talk(store, feed)
    if after is not None:
        talk.take_over(after)

    async def fetch(thread: str, path: str) -> bytes | None:
        return scenery.files.get(path)

    async def fetch_before(thread: str, manifest: str, path: str) -> bytes | None:
        return scenery.befores.get(path)

    bot = create_bot(talk, store, feed, fetch, Options(**options), backstage or Backstage(fetch_before=fetch_before))
    bot.before_identify_hook = identify_at_once  # type: ignore[method-assign]
    scenery = Scenery(guild, bot, talk, store, {})
    guild.attach()
    connection = None
    try:
        await bot.login(guild.bot_token)
        connection = asyncio.create_task(bot.connect())
        async with asyncio.timeout(SECONDS):
            await bot.wait_until_ready()
        yield scenery
    finally:
        await bot.close()
        if connection is not None:
            await asyncio.wait((connection,), timeout=SECONDS)
        guild.restore()
