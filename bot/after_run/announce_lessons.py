"""What was learned from an execution is said on its card, once, when it is known: a silent edit of the answer.

It stands around what learns (``Reflexion``), which knows nothing of Discord.  That a card does not say what was learned
is no loss: it is in the store, and the next task of the thread gets it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

from agentic.core.events.execution_events import Evaluated, Person, Reflected
from agentic.core.lazy_dataclass import dataclass
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import Store
from bot.messages.lesson_card_lines import learned_lines, with_lines
from bot.outbound.discord_api import (
    Desk,
    Gone,
    Held,
    Unfit,
)
from bot.rendering.discord_text import LIMIT, length
from bot.sessions.after_run import Afterwards, Feedback
from reflexion.errors import ReflexionError
from reflexion.lessons.lesson import Lesson
from reflexion.ports import LessonStore

LOOKED_AT = 20
"""So many of a thread's latest reflections are looked through for one, and so many of the lessons that it left."""
LOOKS, PAUSE = 200, 0.5
"""How often, and how many seconds apart, it is looked whether the answer has been posted: a busy machine posts late."""

log = logging.getLogger(__name__)


class Learner(Afterwards, Feedback, Protocol):
    """What learns, both ways."""


Asking = Callable[[Lesson, str, str], Awaitable[bool]]
"""Asks people about a lesson, where it waits for them: (lesson, thread, execution) -> it is asked about in that thread."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What came of an execution for later ones."""

    thread: str
    insight: str
    lesson: Lesson | None


class Announcing:
    """Learns through another, and says on the card what came of it."""

    def __init__(self, learner: Learner, store: Store, lessons: LessonStore) -> None:
        self._learner, self._store, self._lessons = learner, store, lessons
        self._desk: Desk | None = None
        self._ask: Asking | None = None
        self._learned: Callable[[], None] | None = None

    def through(self, desk: Desk, ask: Asking | None = None, learned: Callable[[], None] | None = None) -> None:
        """Edit by this desk from now on, ask for the approval of lessons that wait for one, and tell whom it concerns
        that lessons may have changed (``learned``).
        """
        self._desk, self._ask, self._learned = desk, ask, learned

    async def after(self, execution: str) -> Evaluated:
        """Score an execution that ended and learn from it."""
        evaluated = await self._learner.after(execution)
        await self._announce(execution)
        return evaluated

    async def feedback(
        self, execution: str, person: Person, vote: Literal["up", "down", "none"], target: str = "", why: str = ""
    ) -> Evaluated:
        """Take in a vote and learn from it."""
        evaluated = await self._learner.feedback(execution, person, vote, target, why)
        await self._announce(execution)
        return evaluated

    async def _announce(self, execution: str) -> None:
        if self._learned is not None:
            self._learned()
        try:
            found = await self._found(execution)
            if found is None or self._desk is None:
                return
            lesson = found.lesson
            here = lesson is not None and self._ask is not None and await self._ask(lesson, found.thread, execution)
            await self._write(self._desk, execution, learned_lines(found.insight, lesson, below=here))
        except (AgenticError, ReflexionError, Held, Gone, Unfit) as error:
            log.info("the card of %s does not say what was learned: %s", execution, error or "it was deleted")

    async def _found(self, execution: str) -> _Found | None:
        """The key insight of the execution's reflection, and the lesson it gave; None where it has no reflection."""
        outcome = await self._store.read_outcome(execution)
        kept = [
            each.event.reflection for each in outcome if isinstance(each.event, Reflected) and each.event.reflection
        ]
        row = await self._store.execution(execution)
        session = await self._store.session(row.thread) if kept and row is not None else None
        if session is None:
            return None
        known = await self._lessons.reflections(session.guild, session.thread, LOOKED_AT)
        insight = next((each.insight.key_insight for each in known if each.id == kept[-1]), "")
        left = await self._lessons.seen_in(session.guild, execution, LOOKED_AT) if insight else ()
        lesson = next((each for each in left if each.scope.kind != "global"), None)
        return _Found(session.thread, insight, lesson) if insight else None

    async def _write(self, desk: Desk, execution: str, lines: list[str]) -> None:
        """All of the lines, or the first alone where the card has no more room."""
        thread, message = await self._card(execution)
        if not message:
            return
        content = await desk.read(thread, message)
        for some in (lines, lines[:1]):
            with_it = with_lines(content, some)
            if with_it is not None and length(with_it) <= LIMIT:
                await desk.edit(thread, message, lambda text=with_it: text)
                return

    async def _card(self, execution: str) -> tuple[str, str]:
        """(thread, last message) of the answer, once it was posted."""
        row = await self._store.execution(execution)
        key = f"{execution}.{row.head}.0" if row is not None else ""
        for _ in range(LOOKS):
            item = await self._store.outbox_row(key) if key else None
            if item is None or item.item.sort != "answer":
                break
            if item.delivered:
                return item.item.thread, item.delivered[-1]
            await asyncio.sleep(PAUSE)
        return "", ""
