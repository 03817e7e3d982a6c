"""Which lessons somebody may see and decide about, and which of these wait for them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from agentic.core.events.execution_events import Level
from bot.access.permissions import may
from bot.console.access.viewer import Viewer
from bot.console.bot_channel import BotSilent
from bot.console.console_context import Console
from bot.console.overall.home_lists import VisibleThreads
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
    """The rights of the chat, asked for once a server and thread."""

    def __init__(self, console: Console, viewer: Viewer) -> None:
        self._console, self._viewer = console, viewer
        self._sees = VisibleThreads(console, viewer)
        self._levels: dict[str, Level | None] = {}

    async def visible(self, there: Iterable[Lesson]) -> list[Lesson]:
        """Those that they see: of a conversation whoever sees it, of a server whoever is in it, for all whoever is in any."""
        if self._viewer.everything:
            return list(there)
        return [each for each in there if await self._may_see(each)]

    async def may_decide(self, lesson: Lesson) -> bool:
        """As in the chat: an owner of its server; of one for all servers, whoever runs the bot."""
        if self._viewer.everything:
            return True
        level = await self._level(lesson.scope.guild) if lesson.scope.kind != "global" else None
        return level is not None and may(level, "lessons")

    async def _may_see(self, lesson: Lesson) -> bool:
        scope = lesson.scope
        if scope.kind == "thread":
            return await self._sees(scope.thread)
        level = await self._level(scope.guild if scope.kind == "guild" else "")
        return level is not None and may(level, "see")

    async def _level(self, guild: str) -> Level | None:
        if guild not in self._levels:
            known = self._console.levels.get((self._viewer.person.id, guild))
            level = known[0] if known is not None else await self._console.bot.level(self._viewer.person, guild)
            self._console.levels.put((self._viewer.person.id, guild), (level,))
            self._levels[guild] = level
        return self._levels[guild]


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
                found += [each for each in await rights.visible(waiting) if await rights.may_decide(each)]
    except (ReflexionError, BotSilent) as error:
        log.warning("which lessons wait for somebody is not known now: %s", error)
    found.sort(key=lambda each: each.created, reverse=True)
    return WaitingLessons(tuple(found[:SHOWN]), len(found))
