"""Answers of the bot to its console: who sees what, what is done, how the bot is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict
from time import monotonic
from typing import TYPE_CHECKING, cast

import aiohttp
import discord
from discord.abc import PrivateChannel
from pydantic import TypeAdapter, ValidationError

from agentic.core.events.execution_events import Level
from agentic.ports.errors import AgenticError
from agentic.ports.stores import SessionRow
from bot.access.shared_servers import NotAllAsked
from bot.app.console_link.console_acts import ConsoleActs
from bot.app.console_link.lesson_acts import LessonActs
from bot.app.console_link.person_bound import PersonBound
from bot.app.console_link.seen_threads import SeenThreads, TooManyLooks
from bot.console.bot_channel import Deed, Done, LessonDecision
from bot.rendering.discord_text import named
from bot.telemetry.health_server import HealthCheck
from bot.telemetry.process_state import ProcessState

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot

FRESH_SECONDS, FRESH = 10.0, 1_000
"""So long, and for so many people, it is known what they may look at; what they do is looked at each time."""
QUESTIONS, QUESTION_SECONDS = 10, 10.0
"""So many questions to Discord one person causes by looking, within so many seconds; beyond it nothing is known now."""
NEWEST = 3_000
"""Characters of what is being written that are told."""
NAMED, ID_DIGITS = 100, 20
"""Names that are told at once; digits of an id of Discord's, at most."""
_DEED, _DECISION = TypeAdapter(Deed), TypeAdapter(LessonDecision)
_PLACES = TypeAdapter(list[tuple[str, str, str]])

log = logging.getLogger(__name__)

Answer = Mapping[str, object]
TOO_OFTEN: Answer = {"too_often": True}
"""Nothing is known, and nothing denied."""


class _TooManyQuestions(Exception):
    """Somebody has caused as many questions to Discord as they may for now."""


class _Levels:
    """What Discord said a moment ago of what somebody may do in a server; each is asked for once at a time.

    It stops one person from having Discord asked about everything there is.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], tuple[asyncio.Task[Level | None], float]] = {}
        self._questions = PersonBound(QUESTIONS, QUESTION_SECONDS)

    async def get(
        self, person: str, guild: str, ask: Callable[[], Coroutine[None, None, Level | None]]
    ) -> Level | None:
        """The answer, known or asked for. Raises ``_TooManyQuestions``, and what asking raises."""
        key, now = (person, guild), monotonic()
        task, until = self._kept.get(key, (None, 0.0))
        if task is None or until <= now:
            if not self._questions.takes(person):
                raise _TooManyQuestions
            self._kept.pop(key, None)
            while len(self._kept) >= FRESH:
                del self._kept[next(iter(self._kept))]
            task = asyncio.create_task(ask())
            self._kept[key] = task, now + FRESH_SECONDS
        try:
            return await asyncio.shield(task)
        except Exception:
            self._kept.pop(key, None)
            raise


class ConsoleAnswers:
    """One for each question that a console asks; ``longest`` tells for how many seconds all stood still at once."""

    def __init__(
        self, bot: ThreadwrightBot, checks: Sequence[HealthCheck], state: ProcessState, longest: Callable[[], float],
        sandboxes: Callable[[], int],
    ) -> None:  # fmt: skip
        self._bot, self._checks, self._state = bot, checks, state
        self._longest, self._sandboxes = longest, sandboxes
        self._acts = ConsoleActs(bot)
        self._lesson_acts = LessonActs(bot, self._acts)
        self._seen = SeenThreads(bot, self._acts)
        self._levels = _Levels()
        self._asked: Mapping[str, Callable[[Mapping[str, object]], Awaitable[Answer]]] = {
            "sees": self._sees, "sees_many": self._sees_many, "level": self._level, "owner": self._owner, "act": self._act,
            "decide": self._decide, "names": self._names, "newest": self._newest, "health": self._health,
        }  # fmt: skip

    async def answer(self, asked: Mapping[str, object]) -> Answer:
        """The answer to a question; what fails is a refusal, and the log says why."""
        try:
            return await self._asked[str(asked.get("ask"))](asked)
        except (
            AgenticError,
            discord.DiscordException,
            aiohttp.ClientError,
            OSError,
            ValidationError,
            KeyError,
        ) as error:
            log.warning("the console's question %r is not answered: %s", asked.get("ask"), error)
            return {"words": f"That didn't work: {error}. Try again."}

    async def _sees(self, asked: Mapping[str, object]) -> Answer:
        """Whether somebody sees a thread."""
        try:
            return {"sees": await self._seen.one(str(asked["person"]), str(asked["thread"]))}
        except TooManyLooks:
            return TOO_OFTEN

    async def _sees_many(self, asked: Mapping[str, object]) -> Answer:
        """Which of these threads somebody sees; None where that is not known now."""
        rows = [SessionRow(*row) for row in _PLACES.validate_python(asked["threads"])]
        return {"sees": await self._seen.many(str(asked["person"]), rows)}

    async def _level(self, asked: Mapping[str, object]) -> Answer:
        """What somebody may do in a server, or at most in any; None where they are not in it."""
        person, guild = str(asked["person"]), str(asked["guild"])
        try:
            return {"level": await self._levels.get(person, guild, lambda: self._present_level(person, guild))}
        except (_TooManyQuestions, NotAllAsked):
            return TOO_OFTEN

    async def _present_level(self, person: str, guild: str) -> Level | None:
        """The same, asked now. Raises ``NotAllAsked``, and what discord.py raises: neither is a denial."""
        if not person.isdecimal():
            return None
        if not guild:
            return await self._bot.reader.level_anywhere(int(person))
        try:
            server = await self._bot.present_server(int(guild))
            member = await server.fetch_member(int(person)) if server is not None else None
        except (discord.NotFound, discord.Forbidden, ValueError):
            return None
        return self._bot.reader.speaker(member, server).level if member is not None else None

    async def _newest(self, asked: Mapping[str, object]) -> Answer:
        """The end of what is written just now in a task that runs in this process."""
        return {"newest": self._bot.feed.tail(str(asked["execution"]), NEWEST)}

    async def _names(self, asked: Mapping[str, object]) -> Answer:
        """What places are called that the bot sees just now, without asking Discord."""
        ids = [str(each) for each in cast("list[object]", asked["ids"])[:NAMED]]
        return {"names": {id: name for id in ids if (name := self._name(id))}}

    def _name(self, id: str) -> str:
        if not id.isdecimal() or len(id) > ID_DIGITS:
            return ""
        place = self._bot.get_guild(int(id)) or self._bot.get_channel(int(id))
        return "" if place is None or isinstance(place, PrivateChannel) else named(place.name, "")

    async def _owner(self, _: Mapping[str, object]) -> Answer:
        return {"person": (await self._acts.owner()).model_dump(mode="json")}

    async def _act(self, asked: Mapping[str, object]) -> Answer:
        deed = _DEED.validate_python(asked["deed"])
        return self._told(await self._acts.act(deed, str(asked["person"]), everything=asked["everything"] is True))

    async def _decide(self, asked: Mapping[str, object]) -> Answer:
        decision, everything = _DECISION.validate_python(asked["decision"]), asked["everything"] is True
        return self._told(await self._lesson_acts.decide(decision, str(asked["person"]), everything=everything))

    def _told(self, done: Done) -> Answer:
        return {"words": self._bot.desk.discreet_text(done.words), "done": done.done}

    async def _health(self, _: Mapping[str, object]) -> Answer:
        parts = await asyncio.gather(*(check.ask() for check in self._checks))
        await self._state.sample()
        return {
            "parts": [cast("dict[str, object]", asdict(part)) for part in parts],
            "longest_stall_seconds": self._longest(),
            "queues": {
                "messages to post": self._state.waiting,
                "oldest message to post, seconds": round(self._state.outbox_age, 1),
                "requests to Discord": self._bot.sender.traffic.waiting,
            },
            "lost leases": self._state.lease_conflicts,
            "sandboxes": self._sandboxes(),
            "threads": dict(self._state.by_state),
        }
