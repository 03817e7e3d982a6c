"""A question's buttons live as long as its wait: once it was decided, in whatever way, they are greyed out."""

from __future__ import annotations

import asyncio
import logging

from agentic.core.events import Asked
from agentic.errors import StoreError
from agentic.ports import OutboxRow, Store
from bot.feed import Decision, Feed
from bot.posting import Desk, Gone, Held, Unfit

LOOKS, PAUSE = 20, 0.5
"""How often, and how many seconds apart, it is looked whether a question that was just asked has been posted."""

log = logging.getLogger(__name__)


class Closing:
    """Closes questions for as long as ``run`` runs."""

    def __init__(self, store: Store, desk: Desk, feed: Feed) -> None:
        self._store, self._desk, self._feed = store, desk, feed

    async def run(self) -> None:
        """Close what is decided, until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                decision = await self._feed.decisions.get()
                group.create_task(self._close(decision), name=f"close question of {decision.execution}")

    async def _close(self, decision: Decision) -> None:
        try:
            row = await self._posted(decision)
            if row is not None:
                chosen = next((o.label for o in row.item.options if o.id == decision.choice), "")
                await self._desk.close_buttons(row.item, row.delivered[-1], chosen)
        except (Held, Gone, Unfit, StoreError) as error:
            log.info("the question of %s keeps its buttons: %s", decision.execution, error or "it was deleted")

    async def _posted(self, decision: Decision) -> OutboxRow | None:
        key = await self._key(decision)
        for _ in range(LOOKS):
            row = await self._store.outbox_row(key) if key else None
            if row is None or row.delivered:
                return row
            await asyncio.sleep(PAUSE)
        return None

    async def _key(self, decision: Decision) -> str:
        """The outbox key of the question: of the one that was decided, or of the last one."""
        key = ""
        async for envelope in self._store.read(decision.execution):
            event = envelope.event
            if isinstance(event, Asked) and decision.question in ("", event.question):
                key = f"{decision.execution}.{envelope.seq}.0"
        return key
