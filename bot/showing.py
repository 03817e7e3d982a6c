"""What a message shows: which thread's execution, which turn or the result, which question, which offered branch.

Only this binds a reaction to an execution.  A message counts if it is a task's own message, or one that the bot posted
in a thread with an agent; what stands in another thread shows nothing here.
"""

from __future__ import annotations

import discord

from agentic.core.identity import execution_id
from agentic.core.lazy_dataclass import dataclass
from agentic.ports import OutboxRow, Store
from bot.board import Board
from bot.conversation import Conversation
from bot.feed import folded


@dataclass(frozen=True, slots=True)
class Shown:
    """``target`` is '<execution>/result', '<execution>/turn:3', or '' where no execution is known."""

    thread: str
    target: str = ""
    question: str = ""
    offer: str = ""
    lesson: str = ""
    """A lesson that its message asks about."""
    deleted: str = ""
    """The execution that it showed, whose log was deleted."""


class Showing:
    """Looks up what messages show."""

    def __init__(self, store: Store, conversation: Conversation, board: Board) -> None:
        self._store, self._conversation, self._board = store, conversation, board

    async def on(self, message: str, channel: str, *, own: bool) -> Shown | None:
        """What a message shows; None where it is nothing of ours.  ``own``: the bot is its author."""
        if await self._is_task(message, channel, message):
            return await self._task(message, message)
        if not self._conversation.knows(channel):
            return None
        if await self._is_task(message, "", channel):
            return await self._task(message, channel)
        return await self._posted(message, channel) or await self._by_time(message, channel, own=own)

    async def _is_task(self, message: str, channel: str, thread: str) -> bool:
        """Whether it is the message of a task of the thread, begun or waiting; ``channel`` is where it was said."""
        if not self._conversation.knows(thread):
            return False
        session = await self._store.session(thread) if channel else None
        if channel and channel != thread and (session is None or session.channel != channel):
            return False
        task = execution_id(thread, message)
        if await self._store.execution(task) is not None or await self._store.was_buried(task) is not None:
            return True
        pending = await self._store.pending(thread)
        return any(item.id == message and item.sort in ("task", "queue") for item in pending)

    async def _task(self, message: str, thread: str) -> Shown:
        task = execution_id(thread, message)
        if await self._store.execution(task) is not None:
            return Shown(thread, f"{task}/result")
        return Shown(thread, deleted=task if await self._store.was_buried(task) is not None else "")

    async def _posted(self, message: str, thread: str) -> Shown | None:
        """A message that the outbox or the board put there."""
        shown = self._board.shows(message)
        if shown is not None and await self._is_of(shown[0], thread):
            return Shown(thread, f"{shown[0]}/turn:{shown[1]}")
        row = await self._store.by_message(message)
        if row is None or row.item.thread != thread:
            return None
        asks = row.item.question if row.item.sort == "question" else ""
        offers = row.item.question if row.item.sort == "offer" else ""
        lesson = row.item.question if row.item.sort == "lesson" else ""
        return Shown(thread, await self._target(row), asks, offers, lesson)

    async def _target(self, row: OutboxRow) -> str:
        item = row.item
        known = await self._store.execution(item.execution) if item.execution else None
        if known is None:
            return ""
        if item.sort in ("answer", "offer") or (item.sort != "progress" and known.finished):
            return f"{item.execution}/result"
        return f"{item.execution}/turn:{(await folded(self._store, item.execution)).turn}"

    async def _by_time(self, message: str, thread: str, *, own: bool) -> Shown | None:
        """Another message of the bot there (a continued progress message, a receipt): what ran when it was posted."""
        if not own:
            return None
        at = discord.utils.snowflake_time(int(message))
        there, buried = await self._store.executions(thread), await self._store.buried(thread)
        begun = [(row.started_at, row) for row in (*buried, *there) if row.started_at and row.started_at <= at]
        if not begun:
            return Shown(thread)
        _, last = max(begun, key=lambda each: each[0])
        return Shown(thread, deleted=last.execution) if last in buried else Shown(thread, f"{last.execution}/result")

    async def _is_of(self, execution: str, thread: str) -> bool:
        row = await self._store.execution(execution)
        return row is not None and row.thread == thread
