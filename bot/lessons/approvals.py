"""Approval of lessons: one silent message for each, in the thread they came from; kept up to date.

The message is an outbox item whose key is made of the lesson's id, so there is only one, however often it is
asked for. Its text is read from the lesson each time, so it does not matter who or what changed the lesson, nor
which process shows it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.errors import StoreError
from agentic.ports.runtime import Store
from bot.lessons.lesson_approval_text import asked
from bot.lessons.message_sync import LessonMessages, key_of
from bot.outbound.discord_api import DiscordApi
from reflexion.errors import LessonOutdated, LessonStoreError
from reflexion.lessons.lesson import Lesson
from reflexion.ports import LessonStore

LOOKED_AT = 500
"""Number of a server's latest waiting lessons that are checked at a start."""
AGAIN = 3
"""How often a change is retried after somebody else changed the lesson."""

log = logging.getLogger(__name__)


class LessonApprovals:
    """Asks for approvals, and changes lessons for people; ``messages`` keeps the posted messages up to date.

    ``poke`` wakes the outbox.
    """

    def __init__(self, store: Store, lessons: LessonStore | None, poke: Callable[[], None]) -> None:
        self._store, self._lessons, self._poke = store, lessons, poke
        self.messages = LessonMessages(store, lessons)

    async def ask(self, lesson: Lesson, thread: str, execution: str) -> bool:
        """Ask in this thread, once, and return whether it is asked there; a lesson that needs no approval is left
        alone.

        Raises ``StoreError``.
        """
        key = key_of(lesson.id)
        if lesson.status != "quarantined" or lesson.scope.kind == "global":
            return False
        row = await self._store.outbox_row(key)
        if row is not None:
            self.messages.changed(lesson.id)
            return row.item.thread == thread
        item = OutboxItem(
            key=key, thread=thread, execution=execution, sort="lesson", question=lesson.id, text=asked(lesson)
        )
        await self.messages.expect(lesson)
        await self._store.put_outbox([item])
        self._poke()
        return True

    async def change(self, guild: str, id: str, change: Callable[[Lesson], Lesson]) -> Lesson | None:
        """Apply a change to the present lesson; None where there is none of this id."""
        new = await self._change(guild, id, change)
        self.messages.changed(id)
        return new

    async def _change(self, guild: str, id: str, change: Callable[[Lesson], Lesson]) -> Lesson | None:
        lessons, left = self._lessons, AGAIN
        while lessons is not None and (known := await lessons.lesson(guild, id)) is not None:
            new = change(known)
            try:
                if new != known:
                    await lessons.amend(new)
                return new
            except LessonOutdated:  # somebody else, or an execution that ended, was quicker
                if not (left := left - 1):
                    raise
        return None

    async def run(self, desk: DiscordApi) -> None:
        """Keep the messages up to date, until cancelled; first ask for what an earlier process left."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.look(), name="lessons that wait")
            await self.messages.run(desk)

    async def look(self) -> None:
        """Ask for waiting lessons that were never asked for: an earlier process crashed in between, or was an older
        version.
        """
        if self._lessons is None:
            return
        try:
            for guild in await self._lessons.guilds_with("quarantined"):
                for lesson in await self._lessons.of_status(guild, "quarantined", LOOKED_AT):
                    if await self._store.outbox_row(key_of(lesson.id)) is None:
                        await self._ask_where_it_came_from(lesson)
        except (StoreError, LessonStoreError) as error:
            log.warning("which lessons wait for an approval cannot be read: %s", error)

    async def _ask_where_it_came_from(self, lesson: Lesson) -> None:
        for execution in reversed(lesson.executions):
            row = await self._store.execution(execution)
            session = await self._store.session(row.thread) if row is not None else None
            if session is not None and session.guild == lesson.scope.guild:
                await self.ask(lesson, session.thread, execution)
                return
