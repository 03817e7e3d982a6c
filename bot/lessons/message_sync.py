"""Messages about lessons are kept true: whatever changes a lesson, its message is written anew.

After each execution that is judged, at each start and now and then what the messages say (``lessons_shown``) is held
against the lessons as they stand.  A message in a thread that is archived waits until the thread is used again: to wake
it up for this would be a nuisance.

What the messages about lessons say now, by lesson: a fact of the store, so that the next process knows it too.

A lesson changes in many ways: a person decides, a measurement retires it, a newcomer says the opposite, the operator
brings others in.  None of them has to tell: what a message was made from is compared with the lesson as it stands.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, cast
from weakref import WeakValueDictionary

from agentic.core.events.execution_events import OutboxItem
from agentic.core.events.ids import digest
from agentic.ports.errors import StoreError
from agentic.ports.runtime import OutboxRow, Store
from bot.lessons.lesson_approval_text import asked
from bot.messages.question_text import Standing
from bot.outbound.discord_api import (
    ARCHIVED,
    Gone,
    Held,
    Unfit,
)
from reflexion.errors import LessonStoreError
from reflexion.lessons.lesson import Lesson

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot


FACT = "lessons.shown"
MOST = 1_000
"""So many messages are kept up to date, the latest; an older one is brought up to date when somebody presses it."""


class Shown(NamedTuple):
    """Where a lesson belongs, and the words of its message as a digest; '' where they are not known."""

    guild: str
    words: str


def words_of(lesson: Lesson | None) -> str:
    """What its message says, in a few signs."""
    return digest("lesson message", asked(lesson), length=16)


class LessonsShown:
    """Reads and writes the fact.  Raises ``StoreError``."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._writing = asyncio.Lock()

    async def all(self) -> dict[str, Shown]:
        """By the lesson's id, in the order in which they were asked about."""
        known = cast("dict[str, list[str]]", json.loads(await self._store.fact(FACT) or "{}"))
        return {id: Shown(*each) for id, each in known.items()}

    async def note(self, id: str, guild: str, words: str) -> None:
        """Its message says this now."""
        async with self._writing:
            known = await self.all()
            if known.get(id) == (guild, words):
                return
            known[id] = Shown(guild, words)
            kept = dict(list(known.items())[-MOST:])
            await self._store.set_fact(FACT, json.dumps(kept))


LOOKS, PAUSE = 20, 0.5
"""How often, and how many seconds apart, it is looked whether a message that is to be changed has been posted."""
TRIES, LONGEST_WAIT = 5, 60.0
LOOK_EVERY = 600.0
"""Seconds after which it is looked at the latest whether the messages say what is so: another process may change lessons."""

log = logging.getLogger(__name__)


def key_of(lesson: str) -> str:
    """The outbox key of a lesson's one message."""
    return f"lesson.{lesson}"


class FollowingLessons:
    """Brings messages up to date while ``run`` runs; ``lesson`` reads the one that an outbox item is about."""

    def __init__(self, bot: ThreadwrightBot, lesson: Callable[[OutboxItem], Awaitable[Lesson | None]]) -> None:
        self._bot, self._lesson = bot, lesson
        self.shown = LessonsShown(bot.store)
        self._due: asyncio.Queue[str] = asyncio.Queue()
        self._look_now = asyncio.Event()
        self._busy: set[str] = set()
        self._archived: dict[str, str] = {}
        """Lessons whose message stands in a thread that was archived, with that thread."""
        self._showing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def changed(self, id: str) -> None:
        """A lesson is not what it was, or somebody pressed what should be no more: its message is written anew."""
        self._archived.pop(id, None)
        self._due.put_nowait(id)

    def look_again(self) -> None:
        """Lessons may have changed, by a measurement say: hold their messages against them."""
        self._look_now.set()

    def awoken(self, thread: str) -> None:
        """A thread that was archived is no more: what could not be edited there can be now."""
        if thread in self._archived.values():
            self._archived = {id: where for id, where in self._archived.items() if where != thread}
            self.look_again()

    async def run(self) -> None:
        """Keep the messages true, until cancelled; first what an earlier process left."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._look(), name="what lessons' messages say")
            while True:
                id = await self._due.get()
                group.create_task(self._follow(id), name=f"lesson {id}")

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
        """Have those written anew that do not say what is so."""
        lessons = self._bot.backstage.lessons
        if lessons is None:
            return
        for id, shown in (await self.shown.all()).items():
            if id in self._busy or id in self._archived:
                continue
            if words_of(await lessons.lesson(shown.guild, id)) != shown.words:
                self._due.put_nowait(id)

    async def _follow(self, id: str) -> None:
        """Bring its message up to date; where Discord does not let us now, again later."""
        self._busy.add(id)
        try:
            for _ in range(TRIES):
                if await self._tried(id):
                    return
        except (StoreError, LessonStoreError) as error:
            log.warning("lesson %s cannot be read: %s", id, error)
        except Exception:  # one lesson must not end the care for all others
            log.exception("a fault of ours: lesson %s keeps its looks", id)
        finally:
            self._busy.discard(id)

    async def _tried(self, id: str) -> bool:
        """Whether nothing more can be done now."""
        row = await self._posted(key_of(id))
        if row is None or self._bot.backstage.lessons is None:
            return True
        if not row.delivered:
            return row.done
        try:
            await self._show(row.item, row.delivered[-1])
        except Held as held:
            log.info("lesson %s is not brought up to date now: %s", id, held.reason)
            if held.code == ARCHIVED:
                self._archived[id] = row.item.thread
                return True
            await asyncio.sleep(min(held.seconds, LONGEST_WAIT))
            return False
        return True

    async def _show(self, item: OutboxItem, message: str) -> None:
        """Write its message anew, from the lesson as it stands when its turn has come."""
        async with _turn(self._showing, item.question):
            session, lesson = await self._bot.store.session(item.thread), await self._lesson(item)
            waits = lesson is not None and lesson.status == "quarantined"
            standing = Standing(way="open" if waits else "decided")
            try:
                await self._bot.desk.show_question(item, message, asked(lesson), standing)
            except (Gone, Unfit) as error:
                log.info("lesson %s keeps its looks: %s", item.question, error or "its message was deleted")
            await self.shown.note(item.question, session.guild if session is not None else "", words_of(lesson))

    async def _posted(self, key: str) -> OutboxRow | None:
        row = await self._bot.store.outbox_row(key)
        for _ in range(LOOKS):
            if row is None or row.done:
                break
            await asyncio.sleep(PAUSE)
            row = await self._bot.store.outbox_row(key)
        return row


def _turn(turns: WeakValueDictionary[str, asyncio.Lock], id: str) -> asyncio.Lock:
    """One after another for each lesson."""
    lock = turns.get(id)
    if lock is None:
        lock = turns[id] = asyncio.Lock()
    return lock
