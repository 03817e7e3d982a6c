"""Which threads somebody at the console sees, as in the chat, within bounds on what Discord is asked.

Opening a task asks Discord anew. Lists ask about hundreds of threads at once: for them channels and their rights are at hand,
so that Discord is asked only who somebody is in a server, what kind an archived thread is, and who is in a private one.
What it said of that is kept for minutes, and what is not known yet is told as such.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

import aiohttp
import discord

from agentic.ports.stores import SessionRow
from bot.access.thread_access import Stand
from bot.app.console_link.console_acts import ConsoleActs
from bot.app.console_link.person_bound import PersonBound

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot

LOOKS, QUESTIONS, SECONDS = 30, 10, 10.0
"""So many threads one person opens, and so many questions to Discord their lists cause, within so many seconds."""
PRESENT_SECONDS, ABSENT_SECONDS = 10.0, 300.0
"""So long it counts for lists who somebody is in a server, and that they are not in it. Opening a task takes neither from
longer ago than the first."""
ASKING_SECONDS = 60.0
"""So long a question is waited for before it is asked anew."""
INSIDE_SECONDS = 300.0
"""So long it counts for lists who is in a private thread."""
ARCHIVED_SECONDS = 300.0
"""So long a channel's archived threads are not asked for again."""
LIST_SECONDS = 3.0
"""So long a list's question waits for Discord."""
KEPT, AT_ONCE = 5_000, 50
"""Answers of each kind that are kept; threads that are looked at before others have their turn."""
NOBODY = SessionRow("", "", "")

Asking = Callable[[str, SessionRow], Awaitable[object]]
"""Asks Discord about a person and a thread, or its server."""
K = TypeVar("K")
V = TypeVar("V")

log = logging.getLogger(__name__)


class TooManyLooks(Exception):
    """Somebody has opened as many threads as they may for now: nothing is known, and nothing denied."""


class SeenThreads:
    """Tells it to the console. Raises what discord.py raises where Discord cannot be asked."""

    def __init__(self, bot: ThreadwrightBot, acts: ConsoleActs) -> None:
        self._bot, self._acts = bot, acts
        self._stands: dict[tuple[str, str], tuple[float, asyncio.Task[Stand | None]]] = {}
        self._inside: dict[tuple[str, str], tuple[float, bool]] = {}
        self._archived: dict[str, float] = {}
        """When a channel's archived threads were asked for."""
        self._looks, self._questions = PersonBound(LOOKS, SECONDS), PersonBound(QUESTIONS, SECONDS)

    async def one(self, person: str, thread: str) -> bool:
        """Whether somebody sees a thread now. Raises ``TooManyLooks``.

        A thread that is not there costs a look and a question as well, and fails where Discord does.
        """
        if not self._looks.takes(person):
            raise TooManyLooks
        row, reach = await self._bot.store.session(thread), self._bot.reach
        if row is None or reach.is_foreign(person, row):
            await self._stand(person, NOBODY)
            return False
        stand = await self._stand(person, row)
        if stand is None or (row.guild and not reach.may_see(stand, row)):
            return False
        seen = await reach.may_read(stand, row)
        if reach.known(stand, row) is None:
            self._note_inside(person, row, seen)
        return seen

    async def many(self, person: str, rows: Sequence[SessionRow]) -> list[bool | None]:
        """For each of these whether somebody sees it; None where that is not known now."""
        found = dict[str, bool | None]()
        try:
            async with asyncio.timeout(LIST_SECONDS):
                await self._learn_stands(person, rows)
                found = await self._known(person, rows)
                unknown = [row for row in rows if found[row.thread] is None]
                await self._learn_threads(person, unknown)
                found |= await self._known(person, unknown)
        except TimeoutError:
            log.info("Discord did not say in time what %s may see", person)
            found = await self._known(person, rows)
        return [found[row.thread] for row in rows]

    async def _known(self, person: str, rows: Sequence[SessionRow]) -> dict[str, bool | None]:
        """The same by thread, without asking Discord."""
        found = dict[str, bool | None]()
        for number, row in enumerate(rows, 1):
            found[row.thread] = self._known_of(person, row)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
        return found

    def _known_of(self, person: str, row: SessionRow) -> bool | None:
        reach = self._bot.reach
        if not row.guild:
            return reach.is_theirs(person, row)
        if not self._knows(person, row.guild):
            return None
        stand = self._kept(person, row.guild)
        if stand is None:
            return False
        if (known := reach.known(stand, row)) is not None:
            return known
        at, inside = self._inside.get((person, row.thread), (0.0, False))
        return inside if at and monotonic() - at < INSIDE_SECONDS else None

    async def _learn_stands(self, person: str, rows: Iterable[SessionRow]) -> None:
        """Ask who somebody is in these servers, first in those where they were before."""
        first = {row.guild: row for row in rows if row.guild and not self._knows(person, row.guild)}
        wanted = sorted(first.values(), key=lambda row: self._kept(person, row.guild) is None)
        await self._ask(person, [(row, self._stand) for row in wanted])

    async def _learn_threads(self, person: str, rows: Sequence[SessionRow]) -> None:
        """Ask about these, as far as somebody is in their servers: about archived ones of a channel together."""
        there = [row for row in rows if not row.guild or self._knows(person, row.guild)]
        first, again, now = dict[str, SessionRow](), dict[str, SessionRow](), monotonic()
        for row in there:
            stand = self._kept(person, row.guild)
            if stand is not None and not self._bot.reach.is_placed(stand, row):
                (again if row.channel in first else first)[row.channel] = row
        wanted = [
            row
            for row in again.values()
            if now - self._archived.get(row.channel, -ARCHIVED_SECONDS) >= ARCHIVED_SECONDS
        ]
        await self._ask(person, [(row, self._learn_archived) for row in wanted])
        await self._ask(person, [(row, self._learn) for row in there if self._known_of(person, row) is None])

    async def _ask(self, person: str, wanted: Sequence[tuple[SessionRow, Asking]]) -> None:
        """Ask about these together, as far as the bound lets."""
        bounded = [(row, ask) for row, ask in wanted[:QUESTIONS] if self._questions.takes(person)]
        for answer in await asyncio.gather(*(ask(person, row) for row, ask in bounded), return_exceptions=True):
            if isinstance(answer, discord.HTTPException | discord.InvalidData | aiohttp.ClientError | OSError):
                log.info("what %s may see cannot be asked now: %s", person, answer)
            elif isinstance(answer, BaseException):
                raise answer

    async def _learn(self, person: str, row: SessionRow) -> None:
        reach = self._bot.reach
        if not row.guild:
            await reach.asks_people(row)
        elif (stand := self._kept(person, row.guild)) is not None:
            seen = await reach.may_read(stand, row)
            if reach.known(stand, row) is None:
                self._note_inside(person, row, seen)

    async def _learn_archived(self, person: str, row: SessionRow) -> None:
        _make_room(self._archived)
        self._archived[row.channel] = monotonic()
        if (stand := self._kept(person, row.guild)) is not None:
            await self._bot.reach.asks_archived(stand, row)

    def _note_inside(self, person: str, row: SessionRow, inside: bool) -> None:
        _make_room(self._inside)
        self._inside[person, row.thread] = monotonic(), inside

    async def _stand(self, person: str, row: SessionRow) -> Stand | None:
        """Somebody's rights in a thread's server, not from long ago; asked for once at a time."""
        key = person, row.guild or row.thread
        at, task = self._stands.get(key, (0.0, None))
        if task is None or monotonic() - at >= (PRESENT_SECONDS if task.done() else ASKING_SECONDS):
            self._stands.pop(key, None)
            _make_room(self._stands)
            task = asyncio.create_task(self._asked_stand(person, row))
            self._stands[key] = monotonic(), task
            task.add_done_callback(functools.partial(self._answered, key))
        try:
            return await asyncio.shield(task)
        except Exception:
            self._stands.pop(key, None)
            raise

    def _answered(self, key: tuple[str, str], asked: asyncio.Task[Stand | None]) -> None:
        """An answer counts from when it came, however long Discord took."""
        if self._stands.get(key, (0.0, None))[1] is asked:
            self._stands[key] = monotonic(), asked

    async def _asked_stand(self, person: str, row: SessionRow) -> Stand | None:
        if row is not NOBODY:
            return await self._acts.stand(person, row)
        try:
            if person.isdecimal():
                await self._bot.fetch_user(int(person))
        except discord.NotFound:
            pass
        return None

    def _kept(self, person: str, guild: str) -> Stand | None:
        """Who somebody was in a server, however long ago; None also where that is not known."""
        _, task = self._stands.get((person, guild), (0.0, None))
        return task.result() if task is not None and task.done() and not _failed(task) else None

    def _knows(self, person: str, guild: str) -> bool:
        at, task = self._stands.get((person, guild), (0.0, None))
        if task is None or not task.done() or _failed(task):
            return False
        return monotonic() - at < (ABSENT_SECONDS if task.result() is None else PRESENT_SECONDS)


def _failed(task: asyncio.Task[Stand | None]) -> bool:
    return task.cancelled() or task.exception() is not None


def _make_room(known: dict[K, V]) -> None:
    while len(known) >= KEPT:
        del known[next(iter(known))]
