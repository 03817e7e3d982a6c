"""A question's message follows the question: what was answered so far, what was decided and by whom; then it is closed.

Its buttons live as long as its wait.  Each time something may have changed, the message is made anew from the log, so it
does not matter who changed it, nor which process sees it: what was open when a process ended is looked at by the next.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable
from typing import cast

from agentic.core.events.execution_events import Asked
from agentic.ports.errors import StoreCorrupt, StoreError
from agentic.ports.runtime import OutboxRow, Store
from bot.messages.question_choices import question_of, standing_of
from bot.outbound.discord_api import (
    Desk,
    Gone,
    Held,
    Unfit,
)
from bot.progress.feed import Change, Feed

LOOKS, PAUSE = 20, 0.5
"""How often, and how many seconds apart, it is looked whether a question that was just asked has been posted."""
TRIES, LONGEST_WAIT = 5, 60.0
RECALL_SECONDS = 4.0
"""So long it waits at most until what was running goes on, for it reads all the logs that those read too."""
OPEN = "questions.open"
"""The fact that names the outbox keys of questions that may be open: {key: [execution, question]}."""

log = logging.getLogger(__name__)


class Closing:
    """Keeps questions up to date for as long as ``run`` runs."""

    def __init__(self, store: Store, desk: Desk, feed: Feed, settled: Callable[[], Awaitable[object]]) -> None:
        self._store, self._desk, self._feed = store, desk, feed
        self._settled = settled
        self._open: dict[str, tuple[str, str]] = {}
        self._turns: dict[str, asyncio.Lock] = {}

    async def run(self) -> None:
        """Follow what changes, until cancelled; what an earlier process left open is read after what goes on at the start."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RECALL_SECONDS):
                await self._settled()
        await self._recall()
        async with asyncio.TaskGroup() as group:
            for key in list(self._open):
                group.create_task(self._follow(key), name=f"question {key}")
            while True:
                change = await self._feed.questions.get()
                for key in await self._concerned(change):
                    group.create_task(self._follow(key), name=f"question {key}")

    async def _concerned(self, change: Change) -> list[str]:
        """Keys of the open questions that a change is about."""
        if change.asked:
            self._open[change.asked] = (change.execution, change.question)
            await self._remember()
            return []
        return [
            key
            for key, (execution, question) in self._open.items()
            if execution == change.execution and change.question in ("", question)
        ]

    async def _follow(self, key: str) -> None:
        """Bring the message up to date; where Discord does not let us now, again later."""
        async with self._turns.setdefault(key, asyncio.Lock()):
            for _ in range(TRIES):
                try:
                    if await self._show(key):
                        await self._forget(key)
                    return
                except Held as held:
                    log.info("question %s is not brought up to date now: %s", key, held.reason)
                    await asyncio.sleep(min(held.seconds, LONGEST_WAIT))
                except (Gone, Unfit) as error:
                    log.info("question %s keeps its looks: %s", key, error or "its message was deleted")
                    await self._forget(key)
                    return
                except StoreError as error:
                    log.warning("question %s cannot be read: %s", key, error)
                    return
                except Exception:  # one question must not end the care for all others
                    log.exception("a fault of ours: question %s keeps its looks", key)
                    return

    async def _show(self, key: str) -> bool:
        """Make the message anew; True once the question is closed for good."""
        if key not in self._open:
            return False
        execution, question = self._open[key]
        standing = await standing_of(self._store, execution, question)
        if standing.way == "open" and not standing.answers:
            return False
        row = await self._posted(key)
        if row is None or not row.delivered:
            return standing.way != "open"
        rendered = await question_of(self._store, row.item, standing)
        content = rendered.parts[-1] if len(rendered.parts) == len(row.delivered) else None
        await self._desk.show_question(row.item, row.delivered[-1], content, standing)
        return standing.way != "open"

    async def _posted(self, key: str) -> OutboxRow | None:
        for _ in range(LOOKS):
            row = await self._store.outbox_row(key)
            if row is None or row.delivered:
                return row
            await asyncio.sleep(PAUSE)
        return None

    async def _recall(self) -> None:
        """What an earlier process left open, and what open executions ask that it could not note any more."""
        try:
            for key, (execution, question) in _pairs(await self._store.fact(OPEN)).items():
                self._open[key] = (execution, question)
            for row in await self._store.executions(open_only=True):
                await self._recall_of(row.execution)
        except StoreError as error:
            log.warning("the open questions cannot be read: %s", error)

    async def _recall_of(self, execution: str) -> None:
        try:
            async for envelope in self._store.read(execution):
                if isinstance(envelope.event, Asked):
                    self._open[f"{execution}.{envelope.seq}.0"] = (execution, envelope.event.question)
        except StoreCorrupt as error:  # that one is told of by itself, and holds up no other
            log.warning("what %s asked cannot be read: %s", execution, error)

    async def _remember(self) -> None:
        try:
            await self._store.set_fact(OPEN, json.dumps(self._open))
        except StoreError as error:
            log.warning("the open questions cannot be noted: %s", error)

    async def _forget(self, key: str) -> None:
        self._turns.pop(key, None)
        if self._open.pop(key, None) is not None:
            await self._remember()


def _pairs(fact: str | None) -> dict[str, tuple[str, str]]:
    kept = cast("dict[str, list[str]]", json.loads(fact or "{}"))
    return {key: (pair[0], pair[1]) for key, pair in kept.items()}
