"""Answers of the bot to its console: who sees what, what is done, how the bot is."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, cast

import aiohttp
import discord
from pydantic import TypeAdapter, ValidationError

from agentic.ports.errors import AgenticError
from bot.access.thread_access import Stand
from bot.app.console_link.console_acts import ConsoleActs
from bot.console.bot_channel import Deed
from bot.telemetry.health_server import HealthCheck
from bot.telemetry.process_state import ProcessState

if TYPE_CHECKING:
    from agentic.ports.runtime import SessionRow
    from bot.app.client import ThreadwrightBot

STAND_SECONDS, STANDS = 10.0, 1_000
"""So long, and for so many people, it is known what they may look at; what they do is looked at each time."""
_DEED = TypeAdapter(Deed)

log = logging.getLogger(__name__)

Answer = Mapping[str, object]


class ConsoleAnswers:
    """One for each question that a console asks; ``longest`` tells for how many seconds all stood still at once."""

    def __init__(
        self, bot: ThreadwrightBot, checks: Sequence[HealthCheck], state: ProcessState, longest: Callable[[], float],
        sandboxes: Callable[[], int],
    ) -> None:  # fmt: skip
        self._bot, self._checks, self._state = bot, checks, state
        self._longest, self._sandboxes = longest, sandboxes
        self._acts = ConsoleActs(bot)
        self._stands: dict[tuple[str, str], tuple[Stand | None, float]] = {}
        self._asked: Mapping[str, Callable[[Mapping[str, object]], Awaitable[Answer]]] = {
            "sees": self._sees, "level": self._level, "owner": self._owner, "act": self._act, "health": self._health,
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
        row = await self._bot.store.session(str(asked["thread"]))
        stand = await self._stand(str(asked["person"]), row) if row is not None else None
        return {"sees": stand is not None and row is not None and await self._bot.reach.sees(stand, row)}

    async def _stand(self, person: str, row: SessionRow) -> Stand | None:
        """What somebody may look at, as of some seconds ago: a page asks for many threads of one server."""
        key, now = (person, row.guild or row.thread), time.monotonic()
        known = self._stands.get(key)
        if known is None or known[1] <= now:
            self._stands.pop(key, None)
            while len(self._stands) >= STANDS:
                del self._stands[next(iter(self._stands))]
            known = self._stands[key] = (await self._acts.stand(person, row), now + STAND_SECONDS)
        return known[0]

    async def _level(self, asked: Mapping[str, object]) -> Answer:
        """What somebody may do in a server, None where they are not in it; asked where they change something there."""
        person = await self._bot.present_person(str(asked["person"]), str(asked["guild"]))
        return {"level": person.level if person is not None else None}

    async def _owner(self, _: Mapping[str, object]) -> Answer:
        return {"person": (await self._acts.owner()).model_dump(mode="json")}

    async def _act(self, asked: Mapping[str, object]) -> Answer:
        deed = _DEED.validate_python(asked["deed"])
        done = await self._acts.act(deed, str(asked["person"]), everything=asked["everything"] is True)
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
