"""What somebody may see, as the bot says; remembered for a short time, since a page asks about many threads."""

from __future__ import annotations

import asyncio
import functools
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from time import monotonic
from typing import TypeVar

from agentic.core.events.execution_events import Person
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import SessionRow
from bot.console.bot_channel import BotSilent, Place

SECONDS = 20.0
"""So long an answer counts; the channel to the bot keeps it for ten more. Whoever loses a right sees nothing after that."""
NOT_NOW_SECONDS = 1.0
"""So long it counts that the bot does not know something now."""
ANSWERS = 20_000
LISTED = 60_000
"""Answers that are kept for lists, which ask for many; and places of threads."""
AT_ONCE = 500
"""Threads that one question is about."""

Sees = Callable[[Person, str], Awaitable[bool]]
SeesMany = Callable[[Person, Sequence[Place]], Awaitable[list[bool | None]]]
SessionOf = Callable[[str], Awaitable[SessionRow | None]]
K = TypeVar("K")
V = TypeVar("V")


class Sight:
    """Asks who may see a thread."""

    def __init__(
        self, sees: Sees, sees_many: SeesMany, session: SessionOf, clock: Callable[[], float] = monotonic
    ) -> None:
        self._sees, self._sees_many, self._session, self._clock = sees, sees_many, session, clock
        self._known: OrderedDict[tuple[str, str], tuple[float, bool]] = OrderedDict()
        self._listed: OrderedDict[tuple[str, str], tuple[float, bool | None]] = OrderedDict()
        self._places: OrderedDict[str, Place] = OrderedDict()
        self._asking: dict[str, asyncio.Task[dict[str, bool | None]]] = {}
        """Of each person the questions that are under way; there is one of them at a time."""

    async def sees(self, person: Person, thread: str) -> bool:
        """Whether somebody may see a thread. Raises ``BotSilent``, which is not remembered."""
        key, now = (person.id, thread), self._clock()
        at, answer = self._known.get(key, (now - SECONDS, False))
        if now - at >= SECONDS:
            answer = await self._sees(person, thread)
            _keep(self._known, key, (now, answer), ANSWERS)
        return answer

    async def among(self, person: Person, threads: Iterable[str], seconds: float) -> tuple[set[str], bool]:
        """The threads that somebody sees of these, and whether that is known of all of them within so many seconds.

        What is not known in time goes on being asked for, so that it is known the next time.
        """
        wanted = dict.fromkeys(threads)
        answers = self._answers(person.id, wanted)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while missing := [thread for thread in wanted if thread not in answers]:
                    answers |= await asyncio.shield(self._question(person, missing))
        answers = self._answers(person.id, wanted) | answers
        return {thread for thread in wanted if answers.get(thread)}, all(
            answers.get(thread) is not None for thread in wanted
        )

    def _question(self, person: Person, missing: Sequence[str]) -> asyncio.Task[dict[str, bool | None]]:
        """The question of somebody's that is under way, or else one about these threads."""
        asking = self._asking.get(person.id)
        if asking is None or asking.done():  # it is let go of only in the loop's next round
            asking = self._asking[person.id] = asyncio.create_task(self._ask(person, missing))
            asking.add_done_callback(functools.partial(self._let_go, person.id))
        return asking

    def _let_go(self, person: str, asked: asyncio.Task[dict[str, bool | None]]) -> None:
        if self._asking.get(person) is asked:
            del self._asking[person]

    async def close(self) -> None:
        """Ask for nothing more."""
        asking = list(self._asking.values())
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    def _answers(self, person: str, threads: Iterable[str]) -> dict[str, bool | None]:
        """What counts now for lists; the others have to be asked for. What was said as a task was opened comes first."""
        now, found = self._clock(), dict[str, bool | None]()
        for thread in threads:
            known = self._known.get((person, thread))
            if known is None or now - known[0] >= SECONDS:
                known = self._listed.get((person, thread))
            if known is not None and now - known[0] < (NOT_NOW_SECONDS if known[1] is None else SECONDS):
                found[thread] = known[1]
        return found

    async def _ask(self, person: Person, threads: Sequence[str]) -> dict[str, bool | None]:
        """Ask about all of these, many with one question; where there is no answer, they are not known now."""
        found, answers = dict[str, bool | None](), dict[str, bool | None]()
        try:
            for begin in range(0, len(threads), AT_ONCE):
                part = threads[begin : begin + AT_ONCE]
                answers = dict[str, bool | None].fromkeys(threads[begin:])
                places = {thread: await self._place(thread) for thread in part}
                there = [place for place in places.values() if place is not None]
                said = await self._sees_many(person, there) if there else []
                answers = {thread: False for thread, place in places.items() if place is None}
                answers |= {place[0]: sees for place, sees in zip(there, said, strict=True)}
                found |= self._note(person.id, answers)
        except (BotSilent, AgenticError):
            found |= self._note(person.id, answers)
        return found

    def _note(self, person: str, answers: dict[str, bool | None]) -> dict[str, bool | None]:
        now = self._clock()
        for thread, answer in answers.items():
            _keep(self._listed, (person, thread), (now, answer), LISTED)
        return answers

    async def _place(self, thread: str) -> Place | None:
        """Where a thread is; None where there is none. Raises ``StoreError``."""
        if thread not in self._places:
            session = await self._session(thread)
            if session is None:
                return None
            _keep(self._places, thread, (thread, session.channel, session.guild), LISTED)
        return self._places[thread]


def _keep(known: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    """Remember a value as the newest of so many."""
    known[key] = value
    known.move_to_end(key)
    while len(known) > most:
        known.popitem(last=False)
