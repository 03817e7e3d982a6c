"""Which lessons somebody may see and decide about, and which of these wait for them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from bot.access.permissions import may
from bot.console.access.viewer import Viewer
from bot.console.bot_channel import UNKNOWN, BotSilent
from bot.console.console_context import NO_THREAD, Console
from bot.console.overall.home_lists import VisibleThreads
from bot.console.overall.place_rights import PlaceRights
from reflexion.errors import ReflexionError
from reflexion.lessons.lesson import Lesson

SHOWN = 20
"""Lessons that home names of all that wait; the page of lessons has them all."""
LOOKED_AT = 200
"""So many are counted."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WaitingLessons:
    """Lessons that wait for somebody, the newest first, and how many there are."""

    lessons: tuple[Lesson, ...] = ()
    count: int = 0


class LessonRights:
    """The rights of the chat, asked for once a server.

    ``waits``: of some lessons it is not known now whether they may be seen.
    """

    def __init__(self, console: Console, viewer: Viewer) -> None:
        self._console, self._viewer = console, viewer
        self._places = PlaceRights(console, viewer)
        self.waits = False

    async def visible(self, there: Iterable[Lesson]) -> list[Lesson]:
        """Those that they see: of a conversation whoever sees it, of a server whoever is in it, for all whoever is in any."""
        if self._viewer.everything:
            return list(there)
        lessons, sees, found = list(there), VisibleThreads(self._console, self._viewer), list[Lesson]()
        threads = await sees.of(each.scope.thread for each in lessons if each.scope.kind == "thread")
        self.waits = self.waits or sees.waits
        for each in lessons:
            if each.scope.kind == "thread":
                found += [each] if each.scope.thread in threads else []
                continue
            try:
                found += [each] if await self._may_see_in(_place_of(each)) else []
            except BotSilent:
                self.waits = True
        return found

    async def only(self, lesson: Lesson | None) -> bool:
        """Whether they may see one lesson now; the same is asked where there is none.

        Raises ``BotSilent``, in the same words.
        """
        if self._viewer.everything:
            return lesson is not None
        thread = lesson.scope.thread if lesson is not None and lesson.scope.kind == "thread" else ""
        try:
            if await self._console.sight.sees(self._viewer.person, thread or NO_THREAD) and thread:
                return True
            in_place = await self._may_see_in(_place_of(lesson) if lesson is not None else "")
        except BotSilent:
            raise BotSilent(UNKNOWN) from None
        return lesson is not None and not thread and in_place

    async def may_decide(self, lesson: Lesson) -> bool:
        """As in the chat: an owner of its server; of one for all servers, whoever runs the bot. Raises ``BotSilent``."""
        if self._viewer.everything:
            return True
        level = await self._places.level(lesson.scope.guild) if lesson.scope.kind != "global" else None
        return level is not None and may(level, "lessons")

    async def _may_see_in(self, guild: str) -> bool:
        level = await self._places.level(guild)
        return level is not None and may(level, "see")


def _place_of(lesson: Lesson) -> str:
    """The server in which somebody has to be; '' for any."""
    return lesson.scope.guild if lesson.scope.kind == "guild" else ""


async def waiting_lessons(console: Console, viewer: Viewer, guilds: Iterable[str]) -> WaitingLessons:
    """The lessons that somebody may decide about; of others than who runs the bot, in these servers alone.

    So one who looks does not have Discord asked about every server that there is.
    """
    if console.lessons is None:
        return WaitingLessons()
    rights, mine, found = LessonRights(console, viewer), set(guilds), list[Lesson]()
    try:
        for guild in await console.lessons.guilds_with("quarantined"):
            if (viewer.everything or guild in mine) and len(found) < LOOKED_AT:
                waiting = await console.lessons.of_status(guild, "quarantined", LOOKED_AT - len(found))
                with suppress(BotSilent):  # those of other servers may be known
                    found += [each for each in await rights.visible(waiting) if await rights.may_decide(each)]
    except ReflexionError as error:
        log.warning("which lessons wait for somebody is not known now: %s", error)
    found.sort(key=lambda each: each.created, reverse=True)
    return WaitingLessons(tuple(found[:SHOWN]), len(found))
