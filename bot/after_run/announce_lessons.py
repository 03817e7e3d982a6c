"""The step that adds to an answer's card, once and silently, what was learned.

A missing addition is no loss: the lesson is in the store, and the thread's next task gets it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agentic.core.events.execution_events import Reflected
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import Store
from bot.after_run.pipeline import AfterRunStep, JudgedRun
from bot.messages.lesson_card_lines import learned_lines, with_lines
from bot.outbound.discord_api import (
    DiscordApi,
    Gone,
    Held,
    Unfit,
)
from bot.outbound.live.live_message import posted
from bot.rendering.discord_text import LIMIT, length
from reflexion.errors import ReflexionError
from reflexion.lessons.lesson import Lesson
from reflexion.ports import LessonStore

LOOKED_AT = 20
"""Number of a thread's latest reflections, and of their lessons, that are searched."""
LOOKS = 200
"""How often to look whether the answer has been posted: a busy machine posts late."""

log = logging.getLogger(__name__)


Asking = Callable[[Lesson, str, str], Awaitable[bool]]
"""Asks people about a lesson that needs approval: (lesson, thread, execution) -> whether it is asked in that thread."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What was learned from an execution."""

    thread: str
    insight: str
    lesson: Lesson | None


class AnnounceLessons(AfterRunStep):
    """Adds what was learned to the card, and asks people about a lesson that needs approval.

    ``changed`` is called when lessons may have changed.
    """

    def __init__(
        self, store: Store, lessons: LessonStore, desk: DiscordApi, ask: Asking, changed: Callable[[], None]
    ) -> None:
        self._store, self._lessons, self._desk, self._ask, self._changed = store, lessons, desk, ask, changed

    async def after(self, judged: JudgedRun) -> None:
        """Announce what was learned from an execution, if anything was."""
        execution = judged.execution
        self._changed()
        try:
            found = await self._found(execution)
            if found is None:
                return
            lesson = found.lesson
            here = lesson is not None and await self._ask(lesson, found.thread, execution)
            await self._write(execution, learned_lines(found.insight, lesson, below=here))
        except (AgenticError, ReflexionError, Held, Gone, Unfit) as error:
            log.info("the card of %s does not say what was learned: %s", execution, error or "it was deleted")

    async def _found(self, execution: str) -> _Found | None:
        """Return the execution's reflection and its lesson; None where it has no reflection."""
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

    async def _write(self, execution: str, lines: list[str]) -> None:
        """Add all of the lines, or the first alone where the card has no more room."""
        thread, message = await self._card(execution)
        if not message:
            return
        content = await self._desk.read(thread, message)
        for some in (lines, lines[:1]):
            with_it = with_lines(content, some)
            if with_it is not None and length(with_it) <= LIMIT:
                await self._desk.edit(thread, message, lambda text=with_it: text)
                return

    async def _card(self, execution: str) -> tuple[str, str]:
        """Return (thread, last message) of the answer, once it was posted."""
        ended = await self._store.execution(execution)
        key = f"{execution}.{ended.head}.0" if ended is not None else ""
        row = await posted(self._store, key, LOOKS) if key else None
        if row is not None and row.item.sort == "answer" and row.delivered:
            return row.item.thread, row.delivered[-1]
        return "", ""
