"""Lessons that wait for a person: one message each, silent, in the thread they came from; kept up to date.

The message is an outbox item under a key made of the lesson's id, so there is one whatever fails and however often it is
asked for.  What it shows is read from the lesson each time, so it does not matter who decided, nor where, nor which
process sees it: what was decided and not shown yet is noted as a fact, which the next process looks at.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, cast
from weakref import WeakValueDictionary

from agentic.core.events import OutboxItem
from agentic.errors import StoreError
from agentic.ports import OutboxRow
from bot.asking import Standing
from bot.lesson_message import asked
from bot.posting import Gone, Held, Unfit
from bot.render import Rendered
from reflexion.errors import LessonOutdated, LessonStoreError
from reflexion.lessons import Lesson

if TYPE_CHECKING:
    from bot.client import ThreadwrightBot
    from reflexion.ports import LessonStore

FACT = "lessons.unshown"
LOOKS, PAUSE = 20, 0.5
"""How often, and how many seconds apart, it is looked whether a message that is to be changed has been posted."""
AGAIN = 3
"""So often a change begins anew with what stands there meanwhile."""
TRIES, LONGEST_WAIT = 5, 60.0

log = logging.getLogger(__name__)


def key_of(lesson: str) -> str:
    """The outbox key of a lesson's one message."""
    return f"lesson.{lesson}"


class ApprovingLessons:
    """Asks for approvals, changes lessons for people, and keeps the messages up to date while ``run`` runs."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self._bot = bot
        self._due: asyncio.Queue[str] = asyncio.Queue()
        self._noting = asyncio.Lock()
        self._showing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

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
            await self.changed(lesson.id)
            return row.item.thread == thread
        item = OutboxItem(
            key=key, thread=thread, execution=execution, sort="lesson", question=lesson.id, text=asked(lesson)
        )
        await self._bot.store.put_outbox([item])
        self._bot.feed.outbox.set()
        return True

    async def change(self, guild: str, id: str, change: Callable[[Lesson], Lesson]) -> Lesson | None:
        """Change a lesson as it stands now; None where there is none of this id."""
        new = await self._change(guild, id, change)
        await self.changed(id)
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

    async def changed(self, id: str) -> None:
        """A lesson is not what it was; its message is to say so, if need be after the next start."""
        await self._note(id, due=True)
        self._due.put_nowait(id)

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
        """Show what changed, until cancelled; first what an earlier process left."""
        try:
            for id in _ids(await self._bot.store.fact(FACT)):
                self._due.put_nowait(id)
        except StoreError as error:
            log.warning("what was decided about lessons cannot be read: %s", error)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.look(), name="lessons that wait")
            while True:
                id = await self._due.get()
                group.create_task(self._follow(id), name=f"lesson {id}")

    async def look(self) -> None:
        """Ask for what waits and was never asked for: the process before ended in between, or was an older version."""
        if self._lessons is None:
            return
        try:
            for guild in {row.guild for row in await self._bot.store.sessions()}:
                for lesson in await self._lessons.lessons(guild):
                    if lesson.status == "quarantined" and await self._bot.store.outbox_row(key_of(lesson.id)) is None:
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

    async def _follow(self, id: str) -> None:
        """Bring its message up to date; where Discord does not let us now, again later."""
        for _ in range(TRIES):
            try:
                if await self._show(id):
                    await self._note(id, due=False)
                return
            except Held as held:
                log.info("lesson %s is not brought up to date now: %s", id, held.reason)
                await asyncio.sleep(min(held.seconds, LONGEST_WAIT))
            except (Gone, Unfit) as error:
                log.info("lesson %s keeps its looks: %s", id, error or "its message was deleted")
                await self._note(id, due=False)
                return
            except (StoreError, LessonStoreError) as error:
                log.warning("lesson %s cannot be read: %s", id, error)
                return
            except Exception:  # one lesson must not end the care for all others
                log.exception("a fault of ours: lesson %s keeps its looks", id)
                return

    async def _show(self, id: str) -> bool:
        """Whether nothing is left to do; False while its message cannot be posted."""
        if self._lessons is None:
            return False
        row = await self._posted(key_of(id))
        if row is None or not row.delivered:
            return row is None or row.done
        async with _turn(self._showing, id):
            lesson = await self._lesson(row.item)
            waits = lesson is not None and lesson.status == "quarantined"
            standing = Standing(way="open" if waits else "decided")
            await self._bot.desk.show_question(row.item, row.delivered[-1], asked(lesson), standing)
        return True

    async def _posted(self, key: str) -> OutboxRow | None:
        row = await self._bot.store.outbox_row(key)
        for _ in range(LOOKS):
            if row is None or row.done:
                break
            await asyncio.sleep(PAUSE)
            row = await self._bot.store.outbox_row(key)
        return row

    async def _lesson(self, item: OutboxItem) -> Lesson | None:
        session = await self._bot.store.session(item.thread)
        if self._lessons is None or session is None:
            return None
        return await self._lessons.lesson(session.guild, item.question)

    async def _note(self, id: str, *, due: bool) -> None:
        try:
            async with self._noting:
                ids = set(_ids(await self._bot.store.fact(FACT)))
                wanted = ids | {id} if due else ids - {id}
                if wanted != ids:
                    await self._bot.store.set_fact(FACT, json.dumps(sorted(wanted)))
        except StoreError as error:
            log.warning("what was decided about lesson %s cannot be noted: %s", id, error)


def _turn(turns: WeakValueDictionary[str, asyncio.Lock], id: str) -> asyncio.Lock:
    """One after another for each lesson."""
    lock = turns.get(id)
    if lock is None:
        lock = turns[id] = asyncio.Lock()
    return lock


def _ids(fact: str | None) -> list[str]:
    return cast("list[str]", json.loads(fact or "[]"))
