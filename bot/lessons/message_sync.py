"""Keep the messages about lessons up to date: whatever changes a lesson, its message is edited.

A lesson changes in many ways: a person decides, a measurement retires it, a new lesson contradicts it, the operator
imports others. None of them has to report that: after each judged execution, at each start and every ten minutes, the
digest of each message (a fact of the store) is compared with the lesson.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import NamedTuple, cast

from agentic.core.events.execution_events import OutboxItem
from agentic.core.events.ids import digest
from agentic.ports.errors import StoreError
from agentic.ports.runtime import OutboxRow, Store
from bot.lessons.lesson_approval_text import asked
from bot.messages.question_text import Standing
from bot.outbound.discord_api import DiscordApi
from bot.outbound.live.live_message import LiveMessages, View
from bot.rendering.discord_text import Rendered
from reflexion.errors import LessonStoreError
from reflexion.lessons.lesson import Lesson
from reflexion.ports import LessonStore

FACT = "lessons.shown"
MOST = 1_000
"""Number of the latest messages that are kept up to date; an older one is updated when somebody presses its button."""
LOOK_EVERY = 600.0
"""Maximum seconds between comparisons, since another process may change lessons."""

log = logging.getLogger(__name__)


class ShownLesson(NamedTuple):
    """The thread and server of a lesson, and the digest of its message."""

    guild: str
    words: str


def key_of(lesson: str) -> str:
    """Return the outbox key of a lesson's message."""
    return f"lesson.{lesson}"


def words_of(lesson: Lesson | None) -> str:
    """Return the digest of a lesson's message."""
    return digest("lesson message", asked(lesson), length=16)


class LessonMessages:
    """Keeps the messages about lessons up to date while ``run`` runs."""

    def __init__(self, store: Store, lessons: LessonStore | None) -> None:
        self._store, self._lessons = store, lessons
        self._noting = asyncio.Lock()
        self._look_now = asyncio.Event()
        self.live = LiveMessages("lesson", store, self)

    def changed(self, id: str) -> None:
        """Edit a lesson's message, because the lesson changed or somebody pressed an outdated button."""
        self.live.changed(key_of(id))

    def look_again(self) -> None:
        """Compare all messages now, because a measurement may have changed lessons."""
        self._look_now.set()

    async def run(self, desk: DiscordApi) -> None:
        """Keep the messages up to date, until cancelled; first those of an earlier process."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.live.run(desk), name="messages about lessons")
            group.create_task(self._look(), name="what lessons' messages say")

    async def _look(self) -> None:
        while True:
            self._look_now.clear()
            try:
                await self._compare()
            except (StoreError, LessonStoreError) as error:
                log.warning("what the messages about lessons should say cannot be read: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY):
                    await self._look_now.wait()

    async def _compare(self) -> None:
        if self._lessons is None:
            return
        for id, shown in (await self.shown()).items():
            if self.live.waits(key_of(id)):
                continue
            if words_of(await self._lessons.lesson(shown.guild, id)) != shown.words:
                self.changed(id)

    async def rendered(self, item: OutboxItem) -> Rendered:
        """Render an outbox item of kind ``lesson`` for the lesson's present state."""
        if self._lessons is None:
            return Rendered((item.text,))
        try:
            return Rendered((asked(await self._lesson(item)),))
        except LessonStoreError as error:
            log.warning("lesson %s cannot be read, its message is as it was: %s", item.question, error)
            return Rendered((item.text,))

    async def view(self, row: OutboxRow) -> View | None:
        """Return the present message of a lesson; None where no lessons are stored."""
        if self._lessons is None:
            return None
        lesson = await self._lesson(row.item)
        waits = lesson is not None and lesson.status == "quarantined"
        return View(asked(lesson), Standing(way="open" if waits else "decided"))

    async def settled(self, item: OutboxItem, view: View) -> None:
        """Store the digest of a posted message."""
        session = await self._store.session(item.thread)
        words = digest("lesson message", view.content or "", length=16)
        await self._keep(item.question, ShownLesson(session.guild if session is not None else "", words))

    async def expect(self, lesson: Lesson) -> None:
        """Store the digest of a message that is about to be posted. Raises ``StoreError``."""
        await self._keep(lesson.id, ShownLesson(lesson.scope.guild, words_of(lesson)))

    async def shown(self) -> dict[str, ShownLesson]:
        """Return the posted messages by lesson, in the order of asking. Raises ``StoreError``."""
        return _shown_in(await self._store.fact(FACT))

    async def _keep(self, id: str, shown: ShownLesson) -> None:
        async with self._noting:
            noted = False
            while not noted:  # another process may note one in this moment
                kept = await self._store.fact(FACT)
                known = _shown_in(kept)
                after = json.dumps(dict(list((known | {id: shown}).items())[-MOST:]))
                noted = known.get(id) == shown or await self._store.swap_fact(FACT, kept, after)

    async def _lesson(self, item: OutboxItem) -> Lesson | None:
        session = await self._store.session(item.thread)
        if self._lessons is None or session is None:
            return None
        return await self._lessons.lesson(session.guild, item.question)


def _shown_in(kept: str | None) -> dict[str, ShownLesson]:
    known = cast("dict[str, list[str]]", json.loads(kept or "{}"))
    return {id: ShownLesson(*each) for id, each in known.items()}
