"""Decisions about lessons that people make on the console's pages, with the rights of the chat, each form once."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentic.ports.errors import AgenticError
from agentic.ports.runtime import SessionRow
from bot.access.thread_access import OutOfReach, require
from bot.app.console_link.console_acts import ConsoleActs
from bot.app.console_link.sent_forms import SentForms
from bot.console.bot_channel import Done, LessonDecision
from bot.messages.error_text import Attempted, error_text
from bot.messages.lesson_text import EVERYWHERE, NO_LESSONS, decided, status_word
from bot.rendering.discord_text import one_line
from reflexion.errors import ReflexionError
from reflexion.lessons.changes import approved, retired
from reflexion.lessons.lesson import Lesson

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot

NO_LESSON = "There is no such lesson, or you may not see it."
MEANWHILE = "Lesson {id} was changed meanwhile: {what} Nothing was done. Look at it again, then decide."
ALREADY = "Lesson {id} is {status} already. Nothing was done."
BY_A_TASK = "a task that met it changed it."

log = logging.getLogger(__name__)


class LessonActs:
    """Decides in the name of whoever opened the page; the lesson's message in Discord follows at once."""

    def __init__(self, bot: ThreadwrightBot, acts: ConsoleActs) -> None:
        self._bot, self._acts = bot, acts
        self._forms = SentForms()

    async def decide(self, decision: LessonDecision, person: str, *, everything: bool) -> Done:
        """Do it, once for each state of the lesson that a page showed."""
        key = f"{person} {decision.lesson} {decision.revision} {decision.approves}"
        return await self._forms.once(key, lambda: self._done(decision, person, everything=everything))

    async def _done(self, decision: LessonDecision, person: str, *, everything: bool) -> Done:
        lessons = self._bot.backstage.lessons
        if lessons is None:
            return Done(NO_LESSONS, done=False)
        try:
            lesson = await lessons.lesson(decision.guild, decision.lesson)
            name = await self._name(lesson, person, everything=everything) if lesson is not None else ""
            if lesson is None or not name:
                return Done(NO_LESSON, done=False)
            new = await self._bot.approving.change(
                decision.guild, lesson.id, lambda known: _changed(known, decision, name)
            )
            if new is None:
                return Done(NO_LESSON, done=False)
        except OutOfReach as why:
            return Done(str(why), done=False)
        except (AgenticError, ReflexionError) as error:
            log.warning("a decision about lesson %s on the console: %s", decision.lesson, error)
            return Done(error_text(Attempted.LESSON, error), done=False)
        log.info("lesson %s is %s by %s (%s)", new.id, new.status, name, person)
        return Done(decided(new), done=True)

    async def _name(self, lesson: Lesson, person: str, *, everything: bool) -> str:
        """As who they decide; '' where they may not see the lesson. Raises ``OutOfReach`` where they may not decide."""
        if everything:
            return (await self._acts.owner()).name
        scope = lesson.scope
        if scope.kind == "global":
            raise OutOfReach(EVERYWHERE)
        of_a_thread = scope.kind == "thread"
        row = await self._bot.store.session(scope.thread) if of_a_thread else SessionRow("", "", scope.guild)
        stand = await self._acts.stand(person, row) if row is not None else None
        if row is None or stand is None or (of_a_thread and not await self._bot.reach.sees(stand, row)):
            return ""
        require(stand, "lessons")
        return stand.speaker.name


def _changed(known: Lesson, decision: LessonDecision, name: str) -> Lesson:
    """The lesson as it is decided. Raises ``OutOfReach`` where it is no more what the page showed."""
    status = "active" if decision.approves else "retired"
    if known.status == status and not (decision.approves and known.contradicts):
        raise OutOfReach(ALREADY.format(id=known.id, status=status_word(known.status)))
    if known.revision != decision.revision:
        what = known.history[-1].what if known.history else BY_A_TASK
        raise OutOfReach(MEANWHILE.format(id=known.id, what=one_line(what, 300)))
    return (approved if decision.approves else retired)(known, by=name, at=datetime.now(UTC))
