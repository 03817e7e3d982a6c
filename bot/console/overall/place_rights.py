"""What somebody may do in a server, as the bot says, for lists of what they may act on."""

from __future__ import annotations

from agentic.core.events.execution_events import Level
from bot.access.permissions import at_least, may_steer
from bot.console.access.viewer import Viewer
from bot.console.bot_channel import BotSilent
from bot.console.console_context import Console
from bot.console.overall.figures.task_summary import TaskSummary


class PlaceRights:
    """Asked for once a server."""

    def __init__(self, console: Console, viewer: Viewer) -> None:
        self._console, self._viewer = console, viewer
        self._levels: dict[str, Level | None] = {}

    async def level(self, guild: str) -> Level | None:
        """Their level in a server, '' for the highest one anywhere; None where they are in none. Raises ``BotSilent``."""
        if self._viewer.everything:
            return "owner"
        if guild not in self._levels:
            place, known = (self._viewer.person.id, guild), self._console.levels
            if (told := known.get(place)) is None:
                told = known.put(place, (await self._console.bot.level(self._viewer.person, guild),))
            self._levels[guild] = told[0]
        return self._levels[guild]

    async def may_answer(self, task: TaskSummary | None) -> bool:
        """Whether they may do what a task waits for, as in the chat; whoever asked for it also where that is not known now.

        That Discord lets them write in its thread is not looked at.
        """
        if task is None:
            return False
        person = self._viewer.person.id
        try:
            level = await self.level(task.guild)
        except BotSilent:
            return person == task.requester.id
        return level is not None and may_steer(level, person, task.requester.id) and at_least(level, task.who_may)
