"""What a message shows: an execution of a thread, its turn or result, a question, an offered branch.

Only this binds a reaction to an execution. A message counts if it is a task's own message, or was posted by the bot in
a thread with an agent; what belongs to another thread does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import discord

from agentic.core.events.ids import execution_id
from agentic.ports.runtime import ExecutionRow, OutboxRow, Store
from bot.outbound.live.progress_messages import ProgressMessages
from bot.ports.conversation import Conversation
from bot.progress.feed import folded


@dataclass(frozen=True, slots=True)
class MessageTarget:
    """``target`` is '<execution>/result', '<execution>/turn:3', or '' where no execution is known."""

    thread: str
    target: str = ""
    question: str = ""
    offer: str = ""
    lesson: str = ""
    """The lesson that the message asks about."""
    deleted: str = ""
    """The execution that it showed, whose log was deleted."""


class Showing:
    """Looks up what messages show."""

    def __init__(self, store: Store, conversation: Conversation, board: ProgressMessages) -> None:
        self._store, self._conversation, self._board = store, conversation, board

    async def on(self, message: str, channel: str, *, own: bool) -> MessageTarget | None:
        """Return what a message shows; None where it is unrelated. ``own``: the bot is its author."""
        if await self._is_task(message, channel, message):
            return await self._task(message, message)
        if not await self._conversation.knows(channel):
            return None
        if await self._is_task(message, "", channel):
            return await self._task(message, channel)
        return await self._posted(message, channel) or await self._by_time(message, channel, own=own)

    async def _is_task(self, message: str, channel: str, thread: str) -> bool:
        """Whether the message is a task of the thread, begun or waiting; ``channel`` is where it was posted."""
        if not await self._conversation.knows(thread):
            return False
        session = await self._store.session(thread) if channel else None
        if channel and channel != thread and (session is None or session.channel != channel):
            return False
        task = execution_id(thread, message)
        if await self._store.execution(task) is not None or await self._store.was_buried(task) is not None:
            return True
        pending = await self._store.pending(thread)
        return any(item.id == message and item.sort in ("task", "queue") for item in pending)

    async def _task(self, message: str, thread: str) -> MessageTarget:
        task = execution_id(thread, message)
        if await self._store.execution(task) is not None:
            return MessageTarget(thread, f"{task}/result")
        return MessageTarget(thread, deleted=task if await self._store.was_buried(task) is not None else "")

    async def _posted(self, message: str, thread: str) -> MessageTarget | None:
        """Look up a message of the outbox or a progress message."""
        shown = self._board.shows(message)
        if shown is not None and await self._is_of(shown[0], thread):
            return MessageTarget(thread, f"{shown[0]}/turn:{shown[1]}")
        row = await self._store.by_message(message)
        if row is None or row.item.thread != thread:
            return None
        asks = row.item.question if row.item.sort == "question" else ""
        offers = row.item.question if row.item.sort == "offer" else ""
        lesson = row.item.question if row.item.sort == "lesson" else ""
        return MessageTarget(thread, await self._target(row), asks, offers, lesson)

    async def _target(self, row: OutboxRow) -> str:
        item = row.item
        known = await self._store.execution(item.execution) if item.execution else None
        if known is None:
            return ""
        if item.sort in ("answer", "offer", "pull") or (item.sort != "progress" and known.finished):
            return f"{item.execution}/result"
        return f"{item.execution}/turn:{(await folded(self._store, item.execution)).turn}"

    async def _by_time(self, message: str, thread: str, *, own: bool) -> MessageTarget | None:
        """Look up any other message of the bot (a continued progress message, a receipt) by what ran when it was
        posted.
        """
        if not own:
            return None
        for row in reversed(await self._store.executions(thread)):
            if await self._begun_before(row, message):
                return MessageTarget(thread, f"{row.execution}/result")
        at = discord.utils.snowflake_time(int(message))
        begun = [(row.started_at, row) for row in await self._store.buried(thread) if row.started_at]
        before = [(started, row.execution) for started, row in begun if started <= at]
        return MessageTarget(thread, deleted=max(before)[1]) if before else MessageTarget(thread)

    async def _begun_before(self, row: ExecutionRow, message: str) -> bool:
        """Whether the execution began before the message: by comparing its progress message's id with the message's id.

        Without a progress message, the start time in its log is compared.
        """
        progress = await self._store.outbox_row(f"{row.execution}.1.0")
        if progress is not None and progress.delivered:
            return int(progress.delivered[0]) <= int(message)
        return row.started_at is not None and row.started_at <= discord.utils.snowflake_time(int(message))

    async def _is_of(self, execution: str, thread: str) -> bool:
        row = await self._store.execution(execution)
        return row is not None and row.thread == thread
