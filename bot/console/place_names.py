"""Names of servers and threads, which the store does not hold: asked of the bot, and remembered for a while.

Only ids that a page shows to somebody anyway are asked for, so nobody learns the name of what they do not see.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from time import monotonic

from bot.console.bot_channel import BotSilent

SECONDS, UNKNOWN_SECONDS = 300.0, 30.0
"""So long a name counts, and so long none is asked for again that the bot does not know or could not tell."""
ASKED, ASKED_SECONDS = 100, 1.0
"""Ids in one question, and how long its answer is waited for."""
REMEMBERED = 5_000

Ask = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]


class PlaceNames:
    """Asks for them; where the bot is away, the names of before go on counting. ``clean`` takes secrets out of a name."""

    def __init__(self, ask: Ask, clean: Callable[[str], str], clock: Callable[[], float] = monotonic) -> None:
        self._ask, self._clean, self._clock = ask, clean, clock
        self._known: dict[str, tuple[str, float]] = {}
        """Names, '' for none, and until when they are not asked for."""

    async def of(self, ids: Iterable[str]) -> dict[str, str]:
        """The names that are known of these ids."""
        wanted = tuple(dict.fromkeys(id for id in ids if id))
        now = self._clock()
        due = [id for id in wanted if id not in self._known or self._known[id][1] <= now][:ASKED]
        if due:  # whoever comes meanwhile does not ask too
            self._keep({id: self._name(id) for id in due}, now + UNKNOWN_SECONDS)
            with suppress(BotSilent, TimeoutError):
                async with asyncio.timeout(ASKED_SECONDS):
                    told = await self._ask(due)
                self._keep(dict.fromkeys(due, ""), now + UNKNOWN_SECONDS)
                self._keep({id: self._clean(told[id]) for id in due if id in told}, now + SECONDS)
        return {id: name for id in wanted if (name := self._name(id))}

    def _name(self, id: str) -> str:
        return self._known.get(id, ("", 0.0))[0]

    def _keep(self, names: Mapping[str, str], until: float) -> None:
        for id, name in names.items():
            self._known.pop(id, None)
            self._known[id] = name, until
        while len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]
