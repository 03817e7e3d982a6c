"""What the messages about lessons say now, by lesson: a fact of the store, so that the next process knows it too.

A lesson changes in many ways: a person decides, a measurement retires it, a newcomer says the opposite, the operator
brings others in.  None of them has to tell: what a message was made from is compared with the lesson as it stands.
"""

from __future__ import annotations

import asyncio
import json
from typing import NamedTuple, cast

from agentic.core.identity import digest
from agentic.ports import Store
from bot.lesson_message import asked
from reflexion.lessons import Lesson

FACT = "lessons.shown"
MOST = 1_000
"""So many messages are kept up to date, the latest; an older one is brought up to date when somebody presses it."""


class Shown(NamedTuple):
    """Where a lesson belongs, and the words of its message as a digest; '' where they are not known."""

    guild: str
    words: str


def words_of(lesson: Lesson | None) -> str:
    """What its message says, in a few signs."""
    return digest("lesson message", asked(lesson), length=16)


class LessonsShown:
    """Reads and writes the fact.  Raises ``StoreError``."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._writing = asyncio.Lock()

    async def all(self) -> dict[str, Shown]:
        """By the lesson's id, in the order in which they were asked about."""
        known = cast("dict[str, list[str]]", json.loads(await self._store.fact(FACT) or "{}"))
        return {id: Shown(*each) for id, each in known.items()}

    async def note(self, id: str, guild: str, words: str) -> None:
        """Its message says this now."""
        async with self._writing:
            known = await self.all()
            if known.get(id) == (guild, words):
                return
            known[id] = Shown(guild, words)
            kept = dict(list(known.items())[-MOST:])
            await self._store.set_fact(FACT, json.dumps(kept))
