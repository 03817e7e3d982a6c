"""Lessons that wait for a person: one message each, silent, in the thread they came from; kept up to date.

The message is an outbox item under a key made of the lesson's id, so there is one whatever fails and however often it is
asked for.  What it shows is read from the lesson each time, so it does not matter who or what changed it, nor where, nor
which process sees it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.errors import StoreError
from bot.lessons.lesson_approval_text import asked
from bot.lessons.message_sync import FollowingLessons, key_of, words_of
from bot.rendering.discord_text import Rendered
from reflexion.errors import LessonOutdated, LessonStoreError
from reflexion.lessons.lesson import Lesson

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot
    from reflexion.ports import LessonStore

LOOKED_AT = 500
"""So many of a server's latest lessons that wait are asked for at a start."""
AGAIN = 3
"""So often a change begins anew with what stands there meanwhile."""

log = logging.getLogger(__name__)


class ApprovingLessons:
    """Asks for approvals, and changes lessons for people; ``following`` keeps the messages true while ``run`` runs."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self._bot = bot
        self.following = FollowingLessons(bot, self._lesson)

    @property
    def _lessons(self) -> LessonStore | None:
        return self._bot.backstage.lessons

    async def ask(self, lesson: Lesson, thread: str, execution: str) -> bool:
        """Ask in this thread, once, and say whether that is where it is asked about; what does not wait is left alone.

        Raises ``StoreError``.
        """
        key = key_of(lesson.id)
        if lesson.status != "quarantined" or lesson.scope.kind == "global":
            return False
        row = await self._bot.store.outbox_row(key)
        if row is not None:
            self.following.changed(lesson.id)
            return row.item.thread == thread
        item = OutboxItem(
            key=key, thread=thread, execution=execution, sort="lesson", question=lesson.id, text=asked(lesson)
        )
        await self.following.shown.note(lesson.id, lesson.scope.guild, words_of(lesson))
        await self._bot.store.put_outbox([item])
        self._bot.feed.outbox.set()
        return True

    async def change(self, guild: str, id: str, change: Callable[[Lesson], Lesson]) -> Lesson | None:
        """Change a lesson as it stands now; None where there is none of this id."""
        new = await self._change(guild, id, change)
        self.following.changed(id)
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

    async def rendered(self, item: OutboxItem) -> Rendered:
        """The message of an outbox item of sort ``lesson``, as it is to be shown now."""
        if self._lessons is None:
            return Rendered((item.text,))
        try:
            return Rendered((asked(await self._lesson(item)),))
        except LessonStoreError as error:
            log.warning("lesson %s cannot be read, its message is as it was: %s", item.question, error)
            return Rendered((item.text,))

    async def run(self) -> None:
        """Keep the messages true, until cancelled; first what an earlier process left."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.look(), name="lessons that wait")
            await self.following.run()

    async def look(self) -> None:
        """Ask for what waits and was never asked for: the process before ended in between, or was an older version."""
        if self._lessons is None:
            return
        try:
            for guild in {row.guild for row in await self._bot.store.sessions()}:
                for lesson in await self._lessons.of_status(guild, "quarantined", LOOKED_AT):
                    if await self._bot.store.outbox_row(key_of(lesson.id)) is None:
                        await self._ask_where_it_came_from(lesson)
        except (StoreError, LessonStoreError) as error:
            log.warning("which lessons wait for an approval cannot be read: %s", error)

    async def _ask_where_it_came_from(self, lesson: Lesson) -> None:
        for execution in reversed(lesson.executions):
            row = await self._bot.store.execution(execution)
            session = await self._bot.store.session(row.thread) if row is not None else None
            if session is not None and session.guild == lesson.scope.guild:
                await self.ask(lesson, session.thread, execution)
                return

    async def _lesson(self, item: OutboxItem) -> Lesson | None:
        session = await self._bot.store.session(item.thread)
        if self._lessons is None or session is None:
            return None
        return await self._lessons.lesson(session.guild, item.question)
