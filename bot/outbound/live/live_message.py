"""Posted messages that are kept true to what they are about: a question, a branch offer, a lesson.

What a message says is read anew each time something may have changed, so it does not matter who changed it, nor in which
process.  What Discord does not take now is tried again later.  A message in an archived thread waits until the thread is
used again: to wake it up for this would be a nuisance.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, cast
from weakref import WeakValueDictionary

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import OutboxRow, Store
from bot.messages.question_text import Standing
from bot.outbound.discord_api import ARCHIVED, Gone, Held, Unfit
from bot.rendering.answer_card import card_fact
from bot.rendering.discord_text import Rendered
from reflexion.errors import ReflexionError

LOOKS, PAUSE = 20, 0.5
"""How often, and how many seconds apart, the store is asked whether a message has been posted."""
FIRST_WAIT, LONGEST_WAIT = 5.0, 300.0
"""Seconds after which a message that could not be read, or of which the store was silent, is tried again, and the longest
pause between two tries: it is tried until it is true."""
READ_WAIT = 15.0
"""The longest pause between two tries to read what an earlier process left."""
MOST_WAITING = 10_000
"""So many messages wait to be tried again; beyond that the one that waits longest is left to the next process."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class View:
    """What a message says now.

    ``content`` is None where only its buttons change; ``final`` where nothing will change it any more.
    """

    content: str | None
    standing: Standing
    final: bool = True
    below: Rendered | None = None
    """Of an answer: the buttons under it."""


class Subject(Protocol):
    """What the messages of one kind are about."""

    async def view(self, row: OutboxRow) -> View | None:
        """Read what a posted message has to say; None where it is true already.  May raise ``AgenticError``."""
        ...

    async def settled(self, item: OutboxItem, view: View) -> None:
        """Take note that a message says this, or never will since it was deleted."""
        ...


class Editor(Protocol):
    """Who edits messages: ``bot.outbound.discord_api.DiscordApi``."""

    async def show_question(self, item: OutboxItem, message: str, content: str | None, standing: Standing) -> None:
        """Replace the text and the buttons of an item's last message.  Raises ``Gone``, ``Held`` and ``Unfit``."""
        ...

    async def show_buttons(
        self, item: OutboxItem, message: str, below: Rendered, *, perhaps_card: bool = False
    ) -> None:
        """Replace the buttons of an answer's last message.  Raises ``Gone``, ``Held`` and ``Unfit``."""
        ...


async def posted(store: Store, key: str, looks: int = LOOKS) -> OutboxRow | None:
    """The row of an outbox item once it is done, or as it stands after ``looks``; None where there is none."""
    row = await store.outbox_row(key)
    for _ in range(looks):
        if row is None or row.done:
            break
        await asyncio.sleep(PAUSE)
        row = await store.outbox_row(key)
    return row


async def until_read(read: Callable[[], Awaitable[None]], what: str) -> None:
    """Read what an earlier process left, however long the store is silent: else nobody would know of it any more."""
    wait = 1.0
    while True:
        try:
            return await read()
        except AgenticError as error:
            log.warning("%s cannot be read now: %s", what, error)
        await asyncio.sleep(min(wait, READ_WAIT))
        wait *= 2


class LiveMessages:
    """Keeps the posted messages of one kind true for as long as ``run`` runs.

    ``fact`` names where the keys of messages that may have to change are kept for the next process; '' keeps none.
    """

    def __init__(self, kind: str, store: Store, subject: Subject, fact: str = "") -> None:
        self._kind, self._store, self._subject, self._fact = kind, store, subject, fact
        self._noting = asyncio.Lock()
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._due: set[str] = set()
        """What stands in the queue or waits for its turn: each message once."""
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tries: Counter[str] = Counter()
        """How often in a row a message could not be made anew."""
        self._later: dict[str, asyncio.TimerHandle] = {}
        """Messages that are tried again after a while."""
        self._archived: dict[str, str] = {}
        """Messages in threads that were archived, with that thread."""

    def changed(self, key: str) -> None:
        """A message may not be true any more: it is made anew."""
        self._archived.pop(key, None)
        if (later := self._later.pop(key, None)) is not None:
            later.cancel()
        if key not in self._due:
            self._due.add(key)
            self._queue.put_nowait(key)

    def awoken(self, thread: str) -> None:
        """A thread that was archived is no more: what could not be edited there can be now."""
        for key in [key for key, where in self._archived.items() if where == thread]:
            self.changed(key)

    def waits(self, key: str) -> bool:
        """Whether a message is about to be made anew, or its thread is archived."""
        return any(key in waiting for waiting in (self._due, self._turns, self._later, self._archived))

    async def expect(self, key: str) -> None:
        """Keep in the store that a message may have to change."""
        await self._note(key, due=True)

    async def run(self, desk: Editor) -> None:
        """Make anew what changes, until cancelled; first what an earlier process left."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(until_read(self._inherit, f"which {self._kind}s have to change"))
                while True:
                    key = await self._queue.get()
                    group.create_task(self._follow(desk, key), name=f"{self._kind} {key}")
        finally:
            for later in self._later.values():
                later.cancel()

    async def _inherit(self) -> None:
        for key in await self._noted():
            self.changed(key)

    async def _follow(self, desk: Editor, key: str) -> None:
        """Bring a message up to date; where Discord does not let us now, again later."""
        turn = self._turns.setdefault(key, asyncio.Lock())
        async with turn:
            self._due.discard(key)
            pause: float | None = None
            try:
                pause = await self._update(desk, key)
            except (AgenticError, ReflexionError) as error:
                log.warning("%s %s cannot be read: %s", self._kind, key, error)
                pause = FIRST_WAIT
            except Exception:  # one message must not end the care for all others
                log.exception("a fault of ours: %s %s keeps its looks", self._kind, key)
            if pause is None:
                self._tries.pop(key, None)
            elif key not in self._due:  # else it changed meanwhile, and is made anew at once
                self._wait(key, pause)

    def _wait(self, key: str, pause: float) -> None:
        """Try again later, and ever later."""
        if len(self._later) >= MOST_WAITING:
            longest = next(iter(self._later))
            self._later.pop(longest).cancel()
            self._tries.pop(longest, None)
            log.warning("too many %ss wait: %s keeps its looks", self._kind, longest)
        seconds = min(max(pause, 1.0) * 2 ** min(self._tries[key], 8), LONGEST_WAIT)
        self._tries[key] += 1
        self._later[key] = asyncio.get_running_loop().call_later(seconds, self.changed, key)

    async def _update(self, desk: Editor, key: str) -> float | None:
        """Seconds after which to try again; None where nothing is left to do now."""
        row = await posted(self._store, key)
        if row is not None and not row.done:  # it is not posted yet, and may be posted with what is no longer true
            return FIRST_WAIT
        if row is None or not row.delivered:
            await self._note(key, due=False)
            return None
        view = await self._subject.view(row)
        if view is None:
            return None
        final = view.final
        try:
            if view.below is not None:
                carded = await self._store.fact(card_fact(row.item.thread)) is not None
                await desk.show_buttons(row.item, row.delivered[-1], view.below, perhaps_card=carded)
            else:
                await desk.show_question(row.item, row.delivered[-1], view.content, view.standing)
        except Held as held:
            log.info("%s %s is not brought up to date now: %s", self._kind, key, held.reason)
            if held.code != ARCHIVED:
                return held.seconds
            self._archived[key] = row.item.thread
            return None
        except (Gone, Unfit) as error:
            log.info("%s %s keeps its looks: %s", self._kind, key, error or "its message was deleted")
            final = True
        if final:
            await self._subject.settled(row.item, view)
            await self._note(key, due=False)
        return None

    async def _noted(self) -> list[str]:
        return sorted(_keys_in(await self._store.fact(self._fact)))

    async def _note(self, key: str, *, due: bool) -> None:
        if not self._fact:
            return
        try:
            async with self._noting:
                noted = False
                while not noted:  # another process may note something in this moment
                    kept = await self._store.fact(self._fact)
                    before = _keys_in(kept)
                    after = before | {key} if due else before - {key}
                    same = after == before
                    noted = same or await self._store.swap_fact(self._fact, kept, json.dumps(sorted(after)))
        except AgenticError as error:
            log.warning("that %s %s has to change cannot be noted: %s", self._kind, key, error)


def _keys_in(kept: str | None) -> set[str]:
    return set(cast("list[str] | dict[str, object]", json.loads(kept or "[]")))
