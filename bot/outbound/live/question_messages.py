"""The messages of questions: what was answered so far, what was decided and by whom; then they are closed.

The buttons of a question live as long as its wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from agentic.core.events.execution_events import Asked, OutboxItem
from agentic.ports.errors import StoreCorrupt, StoreTooNew
from agentic.ports.runtime import OutboxRow, Store
from bot.messages.question_choices import question_of, standing_of
from bot.outbound.discord_api import DiscordApi
from bot.outbound.live.live_message import LiveMessages, View, until_read
from bot.progress.feed import Feed, QuestionChange

RECALL_SECONDS = 4.0
"""How long the questions of an earlier process wait at most for what was running, which reads the same logs."""
OPEN = "questions.open"
"""The fact that names the outbox keys of questions that may be open."""

log = logging.getLogger(__name__)


class QuestionMessages:
    """Keeps the messages of questions true for as long as ``run`` runs."""

    def __init__(self, store: Store, desk: DiscordApi, feed: Feed, settled: Callable[[], Awaitable[object]]) -> None:
        self._store, self._desk, self._feed, self._resumed = store, desk, feed, settled
        self._open: dict[str, tuple[str, str]] = {}
        """The execution and the question by outbox key."""
        self.live = LiveMessages("question", store, self, OPEN)

    async def run(self) -> None:
        """Follow what changes, until cancelled; what an earlier process left open is read after what goes on at the start."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RECALL_SECONDS):
                await self._resumed()
        async with asyncio.TaskGroup() as group:
            group.create_task(until_read(self._recall, "the open questions"), name="questions of an earlier process")
            group.create_task(self.live.run(self._desk), name="messages of questions")
            while True:
                change = await self._feed.questions.get()
                if (
                    change.taken_over
                ):  # the store may be silent for long: the questions of others are kept true meanwhile
                    recall = partial(self._recall_of, change.execution)
                    group.create_task(until_read(recall, f"what {change.execution} asks"))
                else:
                    await self._take(change)

    async def _take(self, change: QuestionChange) -> None:
        if change.asked:
            self._open[change.asked] = (change.execution, change.question)
            await self.live.expect(change.asked)
            return
        for key, (execution, question) in self._open.items():
            if execution == change.execution and change.question in ("", question):
                self.live.changed(key)

    async def view(self, row: OutboxRow) -> View | None:
        """What a question's message says now; None while nothing was answered."""
        standing = await standing_of(self._store, row.item.execution, row.item.question)
        if standing.way == "open" and not standing.answers:
            return None
        rendered = await question_of(self._store, row.item, standing)
        content = rendered.parts[-1] if len(rendered.parts) == len(row.delivered) else None
        return View(content, standing, final=standing.way != "open")

    async def settled(self, item: OutboxItem, view: View) -> None:
        """A question that is closed is followed no more."""
        self._open.pop(item.key, None)

    async def _recall(self) -> None:
        """What open executions ask, which an earlier process perhaps could not note any more."""
        for row in await self._store.open_executions():
            await self._recall_of(row.execution)

    async def _recall_of(self, execution: str) -> None:
        try:
            async for envelope in self._store.read(execution):
                if isinstance(envelope.event, Asked):
                    key = f"{execution}.{envelope.seq}.0"
                    self._open[key] = (execution, envelope.event.question)
                    self.live.changed(key)
        except (StoreCorrupt, StoreTooNew) as error:  # the thread is told of that; those of others are still read
            log.warning("what %s asked cannot be read: %s", execution, error)
