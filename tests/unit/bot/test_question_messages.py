"""The messages of questions are kept true although what one execution asked cannot be read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import cast

import pytest

from agentic.core.events.execution_events import Envelope
from agentic.ports.errors import StoreCorrupt, StoreError, StoreTooNew, StoreUnavailable
from agentic.stores.sqlite.store import SQLiteStore
from bot.outbound.discord_api import DiscordApi
from bot.outbound.live.question_messages import OPEN, QuestionMessages
from bot.progress.feed import Feed, QuestionChange
from tests.stores import fresh_inline_store
from tests.waiting import eventually, loop_time


@pytest.mark.parametrize("error", [StoreCorrupt, StoreTooNew, StoreUnavailable])
async def test_what_cannot_be_read_of_one_execution_keeps_no_other_waiting(error: type[StoreError]) -> None:
    followed = list[str]()

    class Unreadable(SQLiteStore):
        tried = 0

        async def read(self, execution: str, after: int = 0, up_to: int | None = None) -> AsyncIterator[Envelope]:
            self.tried += execution == "x1"
            raise error("x1 cannot be read")
            yield

        async def swap_fact(self, key: str, before: str | None, after: str) -> bool:
            followed.extend(json.loads(after) if key == OPEN else ())
            return await super().swap_fact(key, before, after)

    store, feed = fresh_inline_store(Unreadable), Feed()

    async def at_once() -> None:
        """Nothing goes on at the start."""

    messages = QuestionMessages(store, cast("DiscordApi", None), feed, at_once)
    async with loop_time(0.05) as time:
        running = asyncio.create_task(messages.run())
        feed.questions.put_nowait(QuestionChange("x1", taken_over=True))
        feed.questions.put_nowait(QuestionChange("x2", "q", asked="x2.3.0"))
        await eventually(lambda: "x2.3.0" in followed, "what another execution asks is followed")
        await eventually(lambda: time.passed > 5)
        assert not running.done()
        running.cancel()
        await asyncio.wait([running])
    assert (store.tried > 1) is (error is StoreUnavailable), "only what may be answered later is asked again"
