"""What somebody may see, as the bot says; remembered for a short time, since a page asks about many threads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from time import monotonic

from agentic.core.events.execution_events import Person
from bot.console.bot_channel import AskedTooOften

SECONDS = 20.0
"""So long an answer counts; the channel to the bot keeps it for ten more. Whoever loses a right sees nothing after that."""
ANSWERS = 20_000

Sees = Callable[[Person, str], Awaitable[bool]]


class Sight:
    """Asks who may see a thread."""

    def __init__(self, sees: Sees, clock: Callable[[], float] = monotonic) -> None:
        self._sees, self._clock = sees, clock
        self._known: OrderedDict[tuple[str, str], tuple[float, bool]] = OrderedDict()

    async def sees(self, person: Person, thread: str) -> bool:
        """Whether somebody may see a thread. Raises ``BotSilent``, which is not remembered."""
        key, now = (person.id, thread), self._clock()
        at, answer = self._known.get(key, (now - SECONDS, False))
        if now - at >= SECONDS:
            answer = await self._sees(person, thread)
            self._known[key] = now, answer
            self._known.move_to_end(key)
            while len(self._known) > ANSWERS:
                self._known.popitem(last=False)
        return answer

    async def among(self, person: Person, threads: Iterable[str], seconds: float) -> tuple[set[str], set[str]]:
        """Threads that somebody sees, and those that could not be asked for now, or not within so many seconds."""
        end, seen, left = self._clock() + seconds, set[str](), set[str]()
        for thread in threads:
            known = self._known.get((person.id, thread))
            if (known is None or self._clock() - known[0] >= SECONDS) and self._clock() > end:
                left.add(thread)
                continue
            try:
                if await self.sees(person, thread):
                    seen.add(thread)
            except AskedTooOften:
                left.add(thread)
        return seen, left
